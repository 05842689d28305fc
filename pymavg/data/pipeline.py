"""Features of a data directory as a model wants them: CMVN, then deltas or splicing and final.mat, then fMLLR.

The rules are those of Kaldi's steps (decode.sh, align_fmllr.sh, nnet/decode.sh), by what a model directory holds:
- cmvn_opts, delta_opts, splice_opts: options as in `--norm-means=true --norm-vars=false`; defaults where not there.
  Systems from before 2014 have norm_vars and delta_order instead, each with one value
- final.mat: the features are spliced and transformed by it (LDA, MLLT)
- final.nnet, final.feature_transform, or no *.mdl at all: a neural network, which gets deltas only where delta_opts
  asks for them, and CMVN only where cmvn_opts is there
- else: a GMM on deltas.
"""

import argparse
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from pymavg.data import cmvn
from pymavg.data.transforms import add_deltas, splice, transform
from pymavg.errors import PymavgError, did_you_mean
from pymavg.files import read_lines
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import MatrixScp, read_matrices, read_token_map
from pymavg.options import boolean, whole


@dataclass(frozen=True)
class DeltaOptions:
    """The names and defaults of Kaldi's add-deltas."""

    delta_order: int = 2
    delta_window: int = 2


@dataclass(frozen=True)
class SpliceOptions:
    """The names and defaults of Kaldi's splice-feats."""

    left_context: int = 4
    right_context: int = 4


BEFORE_2014 = {  # options file -> the file with one value that Kaldi's scripts wrote in its place, and what it sets
    "cmvn_opts": ("norm_vars", "norm_vars"),
    "delta_opts": ("delta_order", "delta_order"),
}


def _old_value(path, default):
    text = " ".join(read_lines(path)).strip()
    try:
        return {bool: boolean, int: whole}[type(default)](text)
    except argparse.ArgumentTypeError as error:
        raise PymavgError(f"{path}: {error}") from None


def read_options(path, defaults):
    """Return `defaults` (a dataclass instance) with what the options file `path` sets.

    Raises
    ------
    PymavgError
        For an option that `defaults` does not have, or a value of another type.
    """
    values = dict(vars(defaults))
    parsers = {bool: boolean, int: whole, str: str}
    for word in " ".join(read_lines(path)).split():
        name, _, text = word.removeprefix("--").partition("=")
        field = name.replace("-", "_")
        if not word.startswith("--") or field not in values:
            known = [f.replace("_", "-") for f in values]
            raise PymavgError(f"{path}: option '{word}' is unknown or not supported{did_you_mean(name, known)}")
        try:
            values[field] = parsers[type(values[field])](text)
        except argparse.ArgumentTypeError as error:
            raise PymavgError(f"{path}: --{name} {error}") from None
    return type(defaults)(**values)


class FeaturePipeline:
    """Utterances of a data directory with the features that a model wants.

    Parameters
    ----------
    data : str or Path
        Data directory with feats.scp, utt2spk and, where means are normalised, cmvn.scp.
    model : str or Path, optional
        Model directory; without it the features are given as they are in feats.scp.
    transforms : str or Path, optional
        Directory with trans.JOB or trans.ark, the fMLLR transforms of the speakers.
    root : str, optional
        Directory that relative paths in feats.scp and cmvn.scp start from; without it, as in Kaldi, the current one.
    gmm : bool
        Take `model` for a GMM's directory even if it holds no *.mdl yet.
    only_cmvn : bool
        No more than CMVN, as it is before a GMM's features are spliced.

    Attributes
    ----------
    utts : list of str
        Utterances of feats.scp, in its order. Iteration gives (utterance, float32 array (T, dim)).
    """

    def __init__(self, data, model=None, transforms=None, root=None, gmm=False, only_cmvn=False):
        self._data = str(data)
        self._feats = MatrixScp(_needed(data, "feats.scp", "run steps/make_mfcc.sh or make_fbank.sh on it"), root=root)
        self.utts = list(self._feats)
        self._dim = None
        self._steps = self._rules(model, root, gmm or only_cmvn, only_cmvn)
        if transforms:
            table = read_transforms(transforms)
            self._steps.append(lambda m, utt: transform(m, self.of_speaker(table, utt, transforms), utt))

    def _rules(self, model, root, gmm, only_cmvn):
        """Return the list of functions (features, utterance) -> features for a model directory."""
        if model is None:
            return []
        if not Path(model).is_dir():
            raise PymavgError(f"{model}: no such directory; a model directory expected")
        present = {path.name for path in Path(model).iterdir()}
        network = (
            not gmm
            and "final.mat" not in present
            and bool(
                {"final.nnet", "final.feature_transform"} & present
                or not any(name.endswith(".mdl") for name in present)
            )
        )

        def options(name, defaults):
            """Return the options, or None where a network does without."""
            said = Path(model, name)
            old, meaning = BEFORE_2014.get(name, ("", ""))
            if name not in present and old in present:
                return replace(defaults, **{meaning: _old_value(Path(model, old), getattr(defaults, meaning))})
            if name not in present:
                return None if network else defaults
            return None if network and not "".join(read_lines(said)).strip() else read_options(said, defaults)

        steps = [self._cmvn_step(options("cmvn_opts", cmvn.CmvnOptions()), root)]
        if only_cmvn:
            pass
        elif "final.mat" in present:
            context = options("splice_opts", SpliceOptions())
            matrix = open_reader(Path(model, "final.mat")).matrix()
            steps.append(lambda m, utt: splice(m, context.left_context, context.right_context))
            steps.append(lambda m, utt: transform(m, matrix, Path(model, "final.mat")))
        elif deltas := options("delta_opts", DeltaOptions()):
            steps.append(lambda m, utt: add_deltas(m, deltas.delta_order, deltas.delta_window))
        return [step for step in steps if step]

    def _cmvn_step(self, options, root):
        if options is None or not options.norm_means:
            return None
        path = _needed(self._data, "cmvn.scp", f"run steps/compute_cmvn_stats.sh {self._data}")
        table = {}
        stats = MatrixScp(path, np.float64, root)

        def step(features, utt):
            speaker = self.utt2spk.get(utt)
            if speaker not in table:
                table[speaker] = self.of_speaker(stats, utt, path)
            return cmvn.apply(features, table[speaker], options, f"{path}: speaker {speaker}")

        return step

    @cached_property
    def utt2spk(self):
        """The dict utterance -> speaker."""
        return read_token_map(_needed(self._data, "utt2spk", "run utils/fix_data_dir.sh on it"))

    def speaker(self, utt):
        """Return the speaker of an utterance of feats.scp."""
        if utt not in self.utt2spk:
            raise PymavgError(f"{self._data}/utt2spk: utterance {utt} of feats.scp is not there")
        return self.utt2spk[utt]

    def by_speaker(self):
        """Return the dict speaker -> list of utterances, in the order of feats.scp."""
        groups = {}
        for utt in self.utts:
            groups.setdefault(self.speaker(utt), []).append(utt)
        return groups

    def of_speaker(self, table, utt, where):
        """Return what a table of speakers, read from `where`, holds for the speaker of an utterance."""
        speaker = self.speaker(utt)
        if speaker not in table:
            remedy = "run steps/compute_cmvn_stats.sh" if str(where).endswith("cmvn.scp") else "estimate it"
            raise PymavgError(f"{where}: nothing for speaker {speaker} of utterance {utt}; {remedy} on {self._data}")
        return table[speaker]

    def get(self, utt):
        """Return the features (T, dim) of an utterance, float32.

        Raises
        ------
        PymavgError
            For an unknown utterance, damaged data, missing statistics, or values that are not finite.
        """
        if utt not in self._feats:
            raise PymavgError(f"{self._data}/feats.scp: no utterance {utt}")
        features = self._feats[utt]
        if not np.isfinite(features).all():
            raise PymavgError(f"{self._data}/feats.scp: utterance {utt} holds values that are not finite; make it anew")
        for step in self._steps:
            features = step(features, utt)
        return np.ascontiguousarray(features, np.float32)

    def get_alike(self, utt):
        """Return what `get` does; raise PymavgError where its dimension is not that of the first utterance."""
        features = self.get(utt)
        if features.shape[1] != self.dim:
            raise PymavgError(
                f"{self._data}: utterance {utt} has features of dimension {features.shape[1]}, the first {self.dim}; "
                "compute the features again"
            )
        return features

    @property
    def dim(self):
        """Numbers per frame."""
        if self._dim is None:
            self._dim = self.get(self.utts[0]).shape[1]
        return self._dim

    def __len__(self):
        return len(self.utts)

    def __iter__(self):
        """Yield (utterance, features (T, dim)) in the order of feats.scp."""
        for utt in self.utts:
            yield utt, self.get_alike(utt)


def read_transforms(directory):
    """Return the dict speaker -> matrix of the files trans.JOB, or of trans.ark, in a directory."""
    paths = sorted(p for p in Path(directory).glob("trans.*") if p.suffix[1:].isdigit()) or [
        Path(directory, "trans.ark")
    ]
    if not paths[0].exists():
        raise PymavgError(f"{directory}: neither trans.1 nor trans.ark is there; a directory with fMLLR expected")
    return {speaker: matrix for path in paths for speaker, matrix in read_matrices(f"ark:{path}")}


def _needed(directory, name, remedy):
    path = Path(directory, name)
    if not path.exists():
        raise PymavgError(f"{path}: no such file; {remedy}")
    return path
