"""From a data directory to what the network sees: the features, and the fixed transform in front of it.

The experiment directory says how features are made (cmvn_opts, delta_opts, as Kaldi's steps leave them) and holds
final.feature_transform, so that decoding needs no further options.
"""

import shutil
from pathlib import Path

import numpy as np

from pymavg.data.datadir import DataDir
from pymavg.data.pipeline import FeaturePipeline
from pymavg.data.shards import check_values
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi import nnet1
from pymavg.nnet.features import FeatureTransform
from pymavg.options import log, warn

VARIANCE_FLOOR = 1e-10
MOST_UTTERANCES = 10_000  # the transform is estimated on at most so many
TRANSFORM = "final.feature_transform"
DESCRIPTION = ("cmvn_opts", "delta_opts")


def describe_features(exp, cmvn_opts, delta_opts, source=None):
    """Write cmvn_opts and delta_opts into `exp`, or copy those beside a given transform or DBN.

    Parameters
    ----------
    exp : Path
    cmvn_opts, delta_opts : str
        Such as "--norm-means=true --norm-vars=false" and "--delta-order=2"; "" for none of a kind.
    source : Path or None
        Directory of a model whose features must be the same; it wins over empty strings.

    Raises
    ------
    PymavgError
        When a given string contradicts that of the source.
    """
    exp.mkdir(parents=True, exist_ok=True)
    for name, text in zip(DESCRIPTION, (cmvn_opts, delta_opts), strict=True):
        held = source / name if source else None
        inherited = held.read_text().strip() if held and held.exists() else ""
        if text and inherited and text != inherited:
            raise PymavgError(
                f"--{name.replace('_', '-')} '{text}', but {held} says '{inherited}'; leave the option out"
            )
        if text or inherited or name == "cmvn_opts":
            with atomic_open(exp / name) as stream:
                stream.write((text or inherited) + "\n")


def frame_counts(data_dir):
    """Return {utterance: frames} of a data directory, from utt2num_frames where that is complete."""
    data = DataDir(data_dir)
    if data.has("utt2num_frames"):
        counts = data.utt2num_frames
    else:
        counts = {utterance: len(matrix) for utterance, matrix in data.feats.items()}
    missing = [u for u in data.feats if u not in counts]
    if missing:
        raise PymavgError(
            f"{data_dir}/utt2num_frames has {len(counts)} utterances, feats.scp {len(data.feats)} (first missing: "
            f"{missing[0]}); run utils/fix_data_dir.sh {data_dir}"
        )
    return {u: int(counts[u]) for u in data.feats}


def estimate_transform(source, utterances, splice):
    """Estimate Splice, AddShift, Rescale: outputs of mean 0 and variance 1 over some utterances.

    Parameters
    ----------
    source : FeaturePipeline
    utterances : list of str
        At most 10,000 of them are read, evenly spread.
    splice : int
        Context frames on either side.

    Returns
    -------
    components : list of pymavg.kaldi.nnet1 components
    """
    offsets = nnet1.Splice(np.arange(-splice, splice + 1, dtype=np.int32), source.dim)
    window = FeatureTransform([offsets])
    step = max(1, -(-len(utterances) // MOST_UTTERANCES))
    count, total, squares = 0, 0.0, 0.0
    for utterance in utterances[::step]:
        spliced = window.apply(check_values(utterance, source.get_alike(utterance)))
        count += len(spliced)
        total = total + spliced.sum(axis=0, dtype=np.float64)
        squares = squares + np.einsum("td,td->d", spliced, spliced, dtype=np.float64)
    mean = total / count
    variance = squares / count - mean**2
    constant = int((variance < VARIANCE_FLOOR).sum())
    if constant:
        warn(f"{constant} of {len(variance)} feature dimensions never change: variance floored at {VARIANCE_FLOOR}")
    scale = 1.0 / np.sqrt(np.maximum(variance, VARIANCE_FLOOR))
    log(f"feature transform: {len(mean)} inputs (splice ±{splice}), estimated on {count} frames")
    shift = nnet1.AddShift((-mean).astype(np.float32))
    return [offsets, shift, nnet1.Rescale(scale.astype(np.float32))]


def prepare_transform(exp, given, source, utterances, splice, anew=False):
    """Put final.feature_transform into `exp`: a copy of the given one, the one there unless `anew`, or an estimate.

    Raises
    ------
    PymavgError
        When the one there, with which a training is continued, has another context than `splice` asks for.
    """
    target = exp / TRANSFORM
    if given:
        nnet1.read_nnet(given)  # a file that is no network stops here
        with atomic_open(target, "wb") as stream, open(given, "rb") as original:
            shutil.copyfileobj(original, stream)
    elif anew or not target.exists():
        nnet1.write_nnet(target, estimate_transform(source, utterances, splice))
    else:
        window = nnet1.read_nnet(target)[0]
        if isinstance(window, nnet1.Splice) and not np.array_equal(window.offsets, np.arange(-splice, splice + 1)):
            raise PymavgError(
                f"{target} splices {window.offsets.min()} to {window.offsets.max()} frames, --splice is {splice}; give "
                "the old value, or --restart true to begin anew"
            )


def open_frontend(exp, data_dir, xp):
    """Return (features of `data_dir`, transform on the device) as the experiment directory describes them.

    Raises
    ------
    PymavgError
        When the transform was made for features of another dimension.
    """
    source = FeaturePipeline(data_dir, exp)
    components = nnet1.read_nnet(exp / TRANSFORM)
    transform = FeatureTransform(components, xp)
    expected = components[0].dims[1]
    if source.dim != expected:
        raise PymavgError(
            f"{data_dir}: features of dimension {source.dim}, but {Path(exp, TRANSFORM)} takes {expected}; use the "
            "features (and cmvn_opts, delta_opts) that it was estimated on"
        )
    return source, transform
