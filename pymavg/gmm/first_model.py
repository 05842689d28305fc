"""First models: one Gaussian for each pdf, from all frames or from a tree's statistics; alignments for a new tree."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.tree_stats import VARIANCE_FLOOR, distinct_rows, frame_windows, tid_pdf_class
from pymavg.kaldi.gmm import AmDiagGmm


def monophone_model(num_pdfs, feats):
    """Return a model with one Gaussian for each pdf, all with mean and variance of the frames (Kaldi's gmm-init-mono).

    Parameters
    ----------
    num_pdfs : int
    feats : float32 (T, D)
        A few utterances.
    """
    feats = np.asarray(feats, np.float64)
    variance = feats.var(0)
    if not np.all(variance > 0):
        raise PymavgError(
            f"feature dimension {int(np.argmin(variance))} is constant over {len(feats)} frames, variance above 0 "
            "expected; look at the features"
        )
    shape = (num_pdfs, feats.shape[1])
    means, variances = np.broadcast_to(feats.mean(0), shape), np.broadcast_to(variance, shape)
    return AmDiagGmm.from_moments(np.arange(num_pdfs + 1), np.ones(num_pdfs), means, variances)


def tree_model(tree, stats):
    """Return a model with one Gaussian for each leaf of a tree (Kaldi's gmm-init-model).

    Parameters
    ----------
    tree : ContextDependency
    stats : pymavg.gmm.tree_stats.TreeStats

    Returns
    -------
    (AmDiagGmm, float64 (P,), list of int)
        The model; the frames of each pdf; the pdfs without statistics, which get the average of all frames.
    """
    sums = np.zeros((tree.num_pdfs, stats.sums.shape[1]))
    for rows, pdf in tree.root.answers(stats.events(), np.arange(len(stats.keys))):
        sums[pdf] += stats.sums[rows].sum(0)
    unseen = np.flatnonzero(sums[:, 0] == 0)
    occupancy = sums[:, 0].copy()
    sums[unseen] = sums.sum(0)
    dim = (sums.shape[1] - 1) // 2
    means = sums[:, 1 : 1 + dim] / sums[:, :1]
    variances = np.maximum(sums[:, 1 + dim :] / sums[:, :1] - means**2, VARIANCE_FLOOR)
    model = AmDiagGmm.from_moments(np.arange(len(sums) + 1), np.ones(len(sums)), means, variances)
    return model, occupancy, unseen.tolist()


class AlignmentConverter:
    """Rewrites alignments of one model for another one with the same topology (ConvertAlignment, hmm/hmm-utils.cc).

    Phones, HMM states and arcs stay; the transition-ids become those of the new model's pdfs.

    Parameters
    ----------
    old, new : TransitionModel
    tree : ContextDependency
        The new model's tree.
    """

    def __init__(self, old, new, tree):
        if old.topology != new.topology:
            raise PymavgError("the two models have different topologies; align again instead of converting")
        self._old, self._new, self._tree = old, new, tree
        self._pdf_class = tid_pdf_class(old)
        self._arc = np.arange(old.num_tids + 1) - old.first_tid[old.tid_tstate]

    def convert(self, alignments):
        """Return the list of alignments, int32 (T,) each, for the new model."""
        old, tree, tids = self._old, self._tree, np.concatenate(alignments)
        windows = frame_windows(old, alignments, tree.width, tree.central)
        states = np.column_stack([windows, old.tid_hmm_state[tids], self._pdf_class[tids]])
        distinct, group = distinct_rows(states)
        pdfs = tree.pdfs(distinct[:, : tree.width], distinct[:, -1])
        keys = zip(distinct[:, tree.central].tolist(), distinct[:, -2].tolist(), pdfs.tolist(), strict=True)
        tstates = np.array([self._tstate((phone, state, pdf, pdf)) for phone, state, pdf in keys])
        converted = (self._new.first_tid[tstates[group]] + self._arc[tids]).astype(np.int32)
        return np.split(converted, np.cumsum([len(a) for a in alignments])[:-1])

    def _tstate(self, key):
        if key not in self._new.tstate_of:
            raise PymavgError(f"the new model has no state {key[1]} of phone {key[0]} with pdf {key[2]}; wrong tree?")
        return self._new.tstate_of[key]
