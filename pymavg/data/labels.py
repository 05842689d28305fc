"""Alignments as training targets: one pdf-id for each frame, checked before anything is trained on them."""

import math
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.tables import read_int_vectors
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import log


def read_pdf_labels(ali_dir):
    """Read ali.*.gz of an alignment directory as pdf-ids.

    Returns
    -------
    labels : dict utterance -> int32 (T,)
    num_pdfs : int
        Of final.mdl.

    Raises
    ------
    PymavgError
        As `read_transition_ids`.
    """
    alignments, model = read_transition_ids(ali_dir)
    return pdf_labels(alignments, model), model.num_pdfs


def pdf_labels(alignments, model):
    """Return the pdf-ids (dict utterance -> int32 (T,)) of what `read_transition_ids` returns."""
    return {u: model.tid_pdf[tids].astype(np.int32) for u, tids in alignments.items()}


def read_transition_ids(ali_dir):
    """Read ali.*.gz of an alignment directory.

    Parameters
    ----------
    ali_dir : str or Path
        With final.mdl and ali.1.gz, ali.2.gz, …

    Returns
    -------
    alignments : dict utterance -> int32 (T,)
    model : TransitionModel
        Of final.mdl.

    Raises
    ------
    PymavgError
        When a file is missing, holds a transition-id that final.mdl does not have, or an utterance of another file.
    """
    ali_dir = Path(ali_dir)
    files = sorted(ali_dir.glob("ali.*.gz"), key=lambda p: (len(p.name), p.name))
    if not files:
        raise PymavgError(f"{ali_dir}: no ali.*.gz; make them with steps/align_si.sh or steps/nnet/align.sh")
    model = read_transition_model(ali_dir / "final.mdl")
    alignments, origin = {}, {}
    for path in files:
        for utterance, tids in read_int_vectors(f"ark:{path}"):
            low, high = (int(tids.min()), int(tids.max())) if len(tids) else (1, 1)
            if low < 1 or high > model.num_tids:
                found = low if low < 1 else high
                raise PymavgError(
                    f"{path}: utterance {utterance} has transition-id {found}, {ali_dir}/final.mdl has 1 to "
                    f"{model.num_tids}; the alignment was made with another model, align again"
                )
            if utterance in alignments:  # as where an earlier run with more jobs left its last files
                raise PymavgError(
                    f"{path}: utterance {utterance} is in {origin[utterance]}, too; remove the one that is out of "
                    "date, or align into an empty directory"
                )
            alignments[utterance], origin[utterance] = tids, path.name
    return alignments, model


def check_outputs(labels, num_outputs, ali_dir, network):
    """Raise PymavgError where a label is not an output of the network.

    Parameters
    ----------
    labels : dict utterance -> int32 (T,)
    num_outputs : int
    ali_dir, network : str
        Where labels and network come from, for the message.
    """
    for utterance, pdfs in labels.items():
        if len(pdfs) and pdfs.max() >= num_outputs:
            raise PymavgError(
                f"{ali_dir}: utterance {utterance} has pdf {pdfs.max()}, but {network} has {num_outputs} outputs (0 to "
                f"{num_outputs - 1}); alignment and network must be of the same tree"
            )


def match_lengths(frames, labels, name, tolerance=5, max_missing=0.1, say=log):
    """Return how many frames of each utterance can be used.

    Parameters
    ----------
    frames : dict utterance -> int
        Frames of the features.
    labels : dict utterance -> int32 (T,)
    name : str
        The data directory, for messages.
    tolerance : int
        A difference up to this is cut at the end; beyond, the utterance is left out by name.
    max_missing : float
        Largest share of utterances that may be without usable alignment.
    say : function of one line of text
        Told what is left out.

    Returns
    -------
    lengths : dict utterance -> int

    Raises
    ------
    PymavgError
        When more is missing, or when features and alignments have another frame shift.
    """
    both = {u: (n, len(labels[u])) for u, n in frames.items() if u in labels}
    _check_frame_shift(both, name, tolerance)
    lengths = {u: min(pair) for u, pair in both.items() if abs(pair[0] - pair[1]) <= tolerance and min(pair) > 0}
    off = [f"{u} ({a} labels for {n} frames)" for u, (n, a) in both.items() if u not in lengths]
    absent = [u for u in frames if u not in labels]
    if off:
        more = f" and {len(off) - 5} more" if len(off) > 5 else ""
        say(f"WARNING: {name}: left out for the length of their alignment: {', '.join(off[:5])}{more}")
    missing = len(frames) - len(lengths)
    if frames and not lengths:
        raise PymavgError(
            f"{name}: none of its {len(frames)} utterances has a usable alignment (first: {next(iter(frames))}; first "
            f"aligned: {next(iter(labels), 'none')}); give the alignment of this data directory"
        )
    if missing:
        first = absent[0] if absent else off[0]
        text = (
            f"{name}: {len(lengths)} of {len(frames)} utterances aligned ({missing / len(frames):.1%} without; first: "
        )
        if missing > max_missing * len(frames):
            raise PymavgError(
                f"{text}{first}); align the rest, or allow it with --max-missing "
                f"{math.ceil(100 * missing / len(frames)) / 100:.2f}"
            )
        say(f"{text}{first})")
    if not lengths:
        raise PymavgError(f"{name}: no utterance; the data directory is empty")
    return lengths


def _check_frame_shift(both, name, tolerance):
    """Raise when most alignments are about half or twice as long as the features."""
    ratio = np.array([a / n for n, a in both.values() if n > 4 * tolerance])
    for factor in (0.5, 2.0):
        if len(ratio) and np.mean(np.abs(ratio / factor - 1) < 0.1) > 0.5:
            utterance, (n, a) = next(iter(both.items()))
            raise PymavgError(
                f"{name}: most alignments have {factor} × the frames of the features (first: {utterance}, {a} labels "
                f"for {n} frames); frame shift of alignments and features differ? set the same --frame-shift in both"
            )


def pdf_counts(labels, num_pdfs, weights=None):
    """Return the frames of each pdf plus 0.5, so that none is zero (Kaldi's analyze-counts), float64 (num_pdfs,).

    Parameters
    ----------
    labels : dict utterance -> int32 (T,) or posteriors.Posteriors
    num_pdfs : int
    weights : dict utterance -> float32 (T,) or None
        What each frame counts.
    """
    counts = np.full(num_pdfs, 0.5)
    for utterance, pdfs in labels.items():
        each = np.ones(len(pdfs)) if weights is None else weights[utterance][: len(pdfs)]
        counts += pdfs.counts(num_pdfs, each) if hasattr(pdfs, "counts") else np.bincount(pdfs, each, num_pdfs)
    return counts


def write_counts(path, counts):
    """Write a vector of counts as text, as `ali_train_pdf.counts` is in Kaldi."""
    with atomic_open(path) as stream:
        stream.write(" [ " + " ".join(f"{c:g}" if c < 1e5 else f"{c:.1f}" for c in counts) + " ]\n")
