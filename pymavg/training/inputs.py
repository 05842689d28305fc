"""What supervised training reads and hands on: targets with their checks, and the files that decoding needs."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from pymavg.data.datadir import DataDir
from pymavg.data.labels import check_outputs, match_lengths, pdf_counts, read_pdf_labels, write_counts
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.training import frontend

COUNTS = "ali_train_pdf.counts"
FROM_ALIGNMENT = ("final.mdl", "tree", "phones.txt")


@dataclass
class Targets:
    """Labels of one data directory.

    Attributes
    ----------
    labels : dict utterance -> int32 (T,)
    lengths : dict utterance -> frames to use
    """

    labels: dict
    lengths: dict


def read_targets(data, alignments, options, say):
    """Read the targets of training and cross-validation.

    Parameters
    ----------
    data, alignments : (str, str)
        Directories for training and for cross-validation.
    options : settings.TrainOptions
    say : function of one line of text

    Returns
    -------
    (Targets, Targets), number of pdfs

    Raises
    ------
    PymavgError
        When alignments are missing, do not fit the features, or are of two models.
    """
    read = {ali_dir: read_pdf_labels(ali_dir) for ali_dir in dict.fromkeys(alignments)}
    num_pdfs = [read[ali_dir][1] for ali_dir in alignments]
    if num_pdfs[0] != num_pdfs[1]:
        told = " and ".join(f"{a}/final.mdl has {n} pdfs" for a, n in zip(alignments, num_pdfs, strict=True))
        raise PymavgError(f"{told}; align both with the same model")
    targets = []
    for data_dir, ali_dir in zip(data, alignments, strict=True):
        labels, frames = read[ali_dir][0], frontend.frame_counts(data_dir)
        lengths = match_lengths(frames, labels, data_dir, options.length_tolerance, options.max_missing, say)
        targets.append(Targets({u: labels[u] for u in lengths}, lengths))
        check_outputs(targets[-1].labels, num_pdfs[0], ali_dir, f"{ali_dir}/final.mdl")
    _warn_of_overlap(data, targets, say)
    return tuple(targets), num_pdfs[0]


def _warn_of_overlap(data, targets, say):
    """Tell when cross-validation will look too good."""
    shared = set(targets[0].lengths) & set(targets[1].lengths)
    if shared:
        say(
            f"WARNING: {len(shared)} utterances are in both {data[0]} and {data[1]} (first: {min(shared)}); "
            "cross-validation will look too good"
        )
        return
    train, cv = ({DataDir(d).utt2spk[u] for u in t.lengths} for d, t in zip(data, targets, strict=True))
    if train & cv:
        say(f"{len(train & cv)} of {len(cv)} speakers of {data[1]} are in {data[0]} too")


def write_inputs(exp, options, data, ali_dir, targets, num_pdfs):
    """Write into `exp` what decoding needs beside the network: feature transform, priors, transition model, tree.

    Parameters
    ----------
    exp : Path
    options : settings.TrainOptions
    data, ali_dir : str
        Of the training data.
    targets : Targets
    num_pdfs : int
    """
    given = Path(options.feature_transform) if options.feature_transform else None
    beside = given.parent if given else Path(options.dbn).parent if options.dbn else None
    frontend.describe_features(exp, options.cmvn_opts, options.delta_opts, beside)
    if not given and beside and (beside / frontend.TRANSFORM).exists():
        given = beside / frontend.TRANSFORM
    source = frontend.FeaturePipeline(data, exp)
    frontend.prepare_transform(exp, given, source, sorted(targets.lengths), options.splice)
    write_counts(exp / COUNTS, pdf_counts(targets.labels, num_pdfs))
    for name in FROM_ALIGNMENT:
        origin = Path(ali_dir, name)
        if origin.exists() and origin.resolve() != (exp / name).resolve():
            with atomic_open(exp / name, "wb") as stream, open(origin, "rb") as original:
                shutil.copyfileobj(original, stream)
