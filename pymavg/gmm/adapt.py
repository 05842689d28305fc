"""Adaptation of one speaker: what its alignments or lattices say about its frames, turned into a transform."""

from typing import NamedTuple

import numpy as np

from pymavg.gmm.fmllr import FmllrStats, compose, estimate_fmllr
from pymavg.options import log


class Evidence(NamedTuple):
    """What is known of N frames: each entry gives a frame one pdf with a posterior.

    Attributes
    ----------
    feats : float32 (N, D)
    rows, pdf, weight : arrays (E,)
        Frame, pdf and posterior; each pair (frame, pdf) once at most.
    """

    feats: np.ndarray
    rows: np.ndarray
    pdf: np.ndarray
    weight: np.ndarray


def aligned(feats, tids, tid_pdf, tid_weight):
    """Return the Evidence of an utterance's alignment: features (T, D), transition-ids (T,), weights by these."""
    weight = tid_weight[tids]
    rows = np.flatnonzero(weight)
    return Evidence(feats, rows, tid_pdf[tids[rows]], weight[rows])


def joined(pieces):
    """Return the Evidence of several utterances as one."""
    starts = np.cumsum([0] + [len(piece.feats) for piece in pieces])
    rows = [piece.rows + start for piece, start in zip(pieces, starts, strict=False)]
    feats, _, pdf, weight = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Evidence(feats, np.concatenate(rows), pdf, weight)


def speaker_transform(speaker, pieces, gmm, options, judge=None, before=None):
    """Estimate the fMLLR transform of a speaker.

    Parameters
    ----------
    speaker : str
        For the log.
    pieces : list of Evidence
        One for each utterance; none leaves the features as they are.
    gmm : AmDiagGmm
    options : FmllrOptions
    judge : AmDiagGmm, optional
        The model that says which Gaussian a frame belongs to, where the features are not yet adapted (final.alimdl).
    before : array (D, D + 1), optional
        Transform that the features have had; the result holds both.

    Returns
    -------
    float64 (D, D + 1)
    """
    stats = FmllrStats.zeros(gmm.dim)
    if pieces:
        stats.accumulate(gmm, *joined(pieces), judge)
    w, gain = estimate_fmllr(stats, options)
    if gain > 0:
        log(f"fMLLR of speaker {speaker}: gain {gain / stats.frames:.4f} per frame over {stats.frames:.0f} frames")
    else:
        log(f"fMLLR of speaker {speaker}: unchanged, {stats.frames:.0f} frames")
    return w if before is None else compose(w, before, inner_is_affine=True)
