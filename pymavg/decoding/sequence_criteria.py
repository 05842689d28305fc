"""The criteria of sequence training and their derivatives: sMBR, MPFE and MMI over denominator lattices.

The sources are Kaldi's LatticeForwardBackwardMpeVariants and LatticeForwardBackward (lat/lattice-functions.cc), with
nnet-train-mpe-sequential and nnet-train-mmi-sequential around them; K. Vesely et al., "Sequence-discriminative training
of deep neural networks", Interspeech 2013, equations 3 to 10.

An arc of a lattice may carry many frames: its acoustic score and its accuracy are sums over them, and what is found for
the arc holds for each of its frames. So nothing is expanded, and every pass is one loop over arcs.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pymavg.decoding.paths import _log_backward, _log_forward
from pymavg.errors import PymavgError

CRITERIA = ("smbr", "mpfe", "mmi")


class Statistics(NamedTuple):
    """What one utterance contributes.

    Attributes
    ----------
    derivative : float32 (T, P)
        Of the loss by the network's outputs before the softmax; not multiplied by the acoustic scale, as in Kaldi.
    loss : float
        To be minimised, a sum over frames: frames less the expected number of right ones, or minus the MMI objective.
    right : float
        Expected number of right frames (MMI: the reference's share of the denominator), at most T.
    dropped : int
        Frames left out because the lattice does not hold the reference there.
    """

    derivative: np.ndarray
    loss: float
    right: float
    dropped: int = 0


@njit(cache=True)
def _acoustic(offset, tids, start, loglikes, tid_pdf):
    """Return the sum of log-likelihoods over the frames of each arc, float64 (A,)."""
    total = np.zeros(start.size)
    for a in range(start.size):
        for k in range(offset[a], offset[a + 1]):
            total[a] += loglikes[start[a] + k - offset[a], tid_pdf[tids[k]]]
    return total


@njit(cache=True)
def _right_frames(offset, tids, start, label, silent, reference, one_class):
    """Return how many frames of each arc agree with the reference, float64 (A,).

    `label` and `silent` (num_tids + 1,) tell what of a transition-id is compared, and whether it is silence. With
    `one_class` all silences are the same, without it none is ever right.
    """
    total = np.zeros(start.size)
    for a in range(start.size):
        for k in range(offset[a], offset[a + 1]):
            tid, other = tids[k], reference[start[a] + k - offset[a]]
            if one_class:
                total[a] += label[tid] == label[other] or (silent[tid] and silent[other])
            else:
                total[a] += label[tid] == label[other] and not silent[tid]
    return total


@njit(cache=True)
def _mean_before(source, target, cost, value, alpha):
    """Return the expected value of the ways from the start to each state, float64 (S,)."""
    mean = np.zeros(alpha.size)
    for a in range(source.size):
        s, t = source[a], target[a]
        mean[t] += np.exp(alpha[s] - cost[a] - alpha[t]) * (mean[s] + value[a])
    return mean


@njit(cache=True)
def _mean_behind(source, target, cost, value, beta):
    """Return the expected value of the ways from each state to the end, float64 (S,)."""
    mean = np.zeros(beta.size)
    for a in range(source.size - 1, -1, -1):
        s, t = source[a], target[a]
        mean[s] += np.exp(beta[t] - cost[a] - beta[s]) * (mean[t] + value[a])
    return mean


@njit(cache=True)
def _spread(offset, tids, start, tid_pdf, weight, out):
    """Add each arc's weight to `out` (T, P) at its frames and pdfs."""
    for a in range(start.size):
        for k in range(offset[a], offset[a + 1]):
            out[start[a] + k - offset[a], tid_pdf[tids[k]]] += weight[a]


@njit(cache=True)
def _mark(offset, tids, start, tid_pdf, reference, found):
    """Set `found` (T,) where some arc has the reference's pdf."""
    for a in range(start.size):
        for k in range(offset[a], offset[a + 1]):
            t = start[a] + k - offset[a]
            found[t] |= tid_pdf[tids[k]] == tid_pdf[reference[t]]


class Criterion:
    """A criterion for the utterances of one model.

    Parameters
    ----------
    model : TransitionModel
    kind : {"smbr", "mpfe", "mmi"}
        Expected frame accuracy by pdfs (sMBR) or by phones (MPFE), or the reference's log-posterior (MMI).
    acwt, lmwt : float
        Scales of log-likelihoods and graph costs.
    silence : iterable of int
        Silence phones; they matter to smbr and mpfe.
    one_silence_class : bool
        True: all silences count as the same; False: none ever counts as right.
    drop_frames : bool
        MMI: leave out frames at which the lattice does not hold the reference.

    Raises
    ------
    PymavgError
        For an unknown criterion.
    """

    def __init__(self, model, kind, acwt=0.1, lmwt=1.0, silence=(), one_silence_class=True, drop_frames=True):
        if kind not in CRITERIA:
            raise PymavgError(f"--criterion {kind}: expected one of {', '.join(CRITERIA)}")
        self.kind, self.acwt, self.lmwt = kind, acwt, lmwt
        self.one_class, self.drop_frames = one_silence_class, drop_frames
        self.tid_pdf = model.tid_pdf
        self.label = model.tid_phone if kind == "mpfe" else model.tid_pdf
        self.silent = np.isin(model.tid_phone, list(silence))

    def derive(self, lattice, loglikes, reference):
        """Return the Statistics of one utterance.

        Parameters
        ----------
        lattice : Lattice
            Raw or compact; its old acoustic costs are not looked at.
        loglikes : float32 (T, P)
        reference : int32 (T,)
            Transition-ids.
        """
        spans = lattice.offset, lattice.tids, lattice.times[lattice.source]
        cost = self.lmwt * lattice.graph_cost - self.acwt * _acoustic(*spans, loglikes, self.tid_pdf)
        arrays = lattice.source, lattice.target, cost, lattice.num_states
        alpha, beta = _log_forward(*arrays), _log_backward(*arrays)
        derivative = np.zeros(loglikes.shape, np.float32)
        if not np.isfinite(alpha[-1]):
            return Statistics(derivative, np.nan, np.nan)
        posterior = np.exp(np.minimum(alpha[lattice.source] - cost + beta[lattice.target] - alpha[-1], 0.0))
        if self.kind == "mmi":
            _spread(*spans, self.tid_pdf, posterior, derivative)
            return self._mmi(spans, derivative, loglikes, reference, alpha[-1])
        value = _right_frames(*spans, self.label, self.silent, reference, self.one_class)
        before = _mean_before(*arrays[:3], value, alpha)
        behind = _mean_behind(*arrays[:3], value, beta)
        gain = posterior * (before[lattice.source] + value + behind[lattice.target] - before[-1])
        _spread(*spans, self.tid_pdf, -gain, derivative)
        return Statistics(derivative, len(loglikes) - before[-1], before[-1])

    def _mmi(self, spans, posteriors, loglikes, reference, total):
        """Return the Statistics of MMI, given the denominator's posteriors (T, P) and its log-likelihood."""
        frames, pdfs = np.arange(len(loglikes)), self.tid_pdf[reference]
        objective = self.acwt * float(loglikes[frames, pdfs].sum(dtype=np.float64)) - total
        share = float(posteriors[frames, pdfs].sum(dtype=np.float64))
        posteriors[frames, pdfs] -= 1
        found = np.zeros(len(loglikes), np.bool_)
        if self.drop_frames:
            _mark(*spans, self.tid_pdf, reference, found)
            posteriors[~found] = 0
        return Statistics(posteriors, -objective, share, int((~found).sum()) if self.drop_frames else 0)
