"""What is learnt from: alignments or posteriors, and frame weights, checked against the features before training."""

import zlib
from dataclasses import dataclass

import numpy as np

from pymavg.data.datadir import DataDir
from pymavg.data.labels import check_outputs, match_lengths, pdf_labels, read_transition_ids
from pymavg.data.posteriors import read_posteriors
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import read_vectors
from pymavg.kaldi.transitions import read_transition_model
from pymavg.training import frontend


@dataclass
class Targets:
    """Labels of one data directory.

    Attributes
    ----------
    labels : dict utterance -> int32 (T,) or posteriors.Posteriors; None for none (pretraining)
    lengths : dict utterance -> frames to use
    weights : dict utterance -> float32 (T,), or None for 1 everywhere
    num_classes : int
    """

    labels: dict | None
    lengths: dict
    weights: dict | None = None
    num_classes: int = 0

    def checksum(self):
        """Return a number: equal data, equal number."""
        total = 0
        for utterance in sorted(self.lengths):
            total = zlib.crc32(f"{utterance} {self.lengths[utterance]}\n".encode(), total)
            for table in (self.labels, self.weights):
                total = total if table is None else zlib.crc32(table[utterance].tobytes(), total)
        return total


def read_targets(data, alignments, options, say):
    """Read the targets of training and cross-validation.

    Parameters
    ----------
    data, alignments : (str, str)
        Directories for training and for cross-validation.
    options : settings.TrainOptions
        With `labels` both parts come from that archive of posteriors, not from the alignments.
    say : function of one line of text

    Returns
    -------
    (Targets, Targets), number of classes

    Raises
    ------
    PymavgError
        When alignments, posteriors or weights are missing, do not fit the features, or are of two models.
    """
    read = _read_posteriors(alignments, options) if options.labels else _read_alignments(alignments)
    given = dict(read_vectors(options.frame_weights)) if options.frame_weights else None
    targets = []
    for data_dir, ali_dir, (labels, weights, num_classes) in zip(data, alignments, read, strict=True):
        labels, weights = _weighted(labels, weights, given, options, say)
        frames = frontend.frame_counts(data_dir)
        lengths = match_lengths(frames, labels, data_dir, options.length_tolerance, options.max_missing, say)
        labels = {u: labels[u] for u in lengths}
        targets.append(Targets(labels, lengths, weights and {u: weights[u] for u in lengths}, num_classes))
        names = (options.labels, "--num-tgt") if options.labels else (ali_dir, f"{ali_dir}/final.mdl")
        check_outputs(labels, num_classes, *names)
        if weights and not any(weights[u][:n].any() for u, n in lengths.items()):
            raise PymavgError(f"{data_dir}: every frame has weight 0; check --frame-weights and --labels")
    _warn_of_overlap(data, targets, say)
    return tuple(targets), targets[0].num_classes


def _read_alignments(alignments):
    """Return [(labels, None, number of pdfs)] of both directories."""
    read = {ali_dir: read_transition_ids(ali_dir) for ali_dir in dict.fromkeys(alignments)}
    models = [read[ali_dir][1] for ali_dir in alignments]
    num_pdfs = [model.num_pdfs for model in models]
    if num_pdfs[0] != num_pdfs[1]:
        told = " and ".join(f"{a}/final.mdl has {n} pdfs" for a, n in zip(alignments, num_pdfs, strict=True))
        raise PymavgError(f"{told}; align both with the same model")
    if not np.array_equal(models[0].tuples, models[1].tuples):  # as many pdfs, but they stand for something else
        raise PymavgError(
            f"{alignments[0]}/final.mdl and {alignments[1]}/final.mdl are of different trees, though both have "
            f"{num_pdfs[0]} pdfs; align both with the same model"
        )
    labels = {ali_dir: pdf_labels(*found) for ali_dir, found in read.items()}
    return [(labels[ali_dir], None, num_pdfs[0]) for ali_dir in alignments]


def _read_posteriors(alignments, options):
    """Return [(labels, weights, number of classes)] twice: one archive for both parts."""
    num_classes = options.num_tgt or read_transition_model(f"{alignments[0]}/final.mdl").num_pdfs
    labels, weights = read_posteriors(options.labels)
    if all((w == 1).all() for w in weights.values()):
        weights = None
    return [(labels, weights, num_classes)] * 2


def _weighted(labels, weights, given, options, say):
    """Return labels and weights (or None) after `given` frame weights; utterances without are left out and told."""
    if given is None:
        return labels, weights
    known, combined = {}, {}
    for utterance, own in labels.items():
        frames = given.get(utterance, ())
        if abs(len(frames) - len(own)) <= options.length_tolerance:
            n = min(len(frames), len(own))
            known[utterance] = own.cut(n) if hasattr(own, "cut") else own[:n]
            combined[utterance] = frames[:n] if weights is None else frames[:n] * weights[utterance][:n]
            if not (combined[utterance] >= 0).all():
                raise PymavgError(f"{options.frame_weights}: utterance {utterance} has a weight that is not 0 or more")
    lost = len(labels) - len(known)
    if lost:
        first = next(u for u in labels if u not in known)
        say(f"WARNING: {options.frame_weights}: none, or another number, for {lost} utterances (first: {first})")
    return known, combined


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
