"""Weight pushing that makes every state's probabilities sum to one common value (Kaldi's fstext/push-special.cc).

Ordinary pushing towards a sum of 1 may fail or blow up on LG, whose sums are not 1 (back-off counts some mass twice).
Here the weights become p'(s→t) = p(s→t) v(t) / v(s), where v is the first eigenvector of the matrix P of the p(s→t), in
which being final leads back to the start: each state's sum is then its eigenvalue λ.
"""

import numpy as np
from scipy.sparse import csr_array

from pymavg.kaldi.fst import Fst
from pymavg.options import warn

TOLERANCE = 1.0 / 1024  # by which the sums may differ
MOST_ITERATIONS = 200
TEST_EVERY = 5
INERTIA = 0.1  # iterating with P + 0.1 I damps the oscillation of periodic graphs


def push_special(fst):
    """Return an equivalent FST whose states' probabilities all sum to about the same value.

    Every path keeps its cost, even where the sums (see `TOLERANCE`) have not converged, of which a warning tells.

    Parameters
    ----------
    fst : Fst
        Trimmed: a state without a way to the end has no place in the eigenvector.
    """
    matrix = _matrix(fst)
    v = np.ones(fst.num_states)
    for iteration in range(MOST_ITERATIONS):
        v = matrix @ v + INERTIA * v
        v /= v.max()
        if iteration and iteration % TEST_EVERY == 0:
            sums = matrix @ v / v
            if sums.max() <= sums.min() * (1 + TOLERANCE):
                break
    else:
        warn(f"pushing weights did not converge: the states' sums are {sums.min():.3g} to {sums.max():.3g}")
    cost = -np.log(v)
    weight = fst.weight + cost[fst.target] - cost[fst.source]
    final = fst.final + cost[fst.start] - cost
    columns = fst.offset, fst.ilabel, fst.olabel, weight.astype(np.float32), fst.target
    return Fst(fst.start, final.astype(np.float32), *columns)


def _matrix(fst):
    ends = np.flatnonzero(np.isfinite(fst.final))
    row = np.concatenate([fst.source, ends])
    column = np.concatenate([fst.target, np.full(len(ends), fst.start)])
    value = np.exp(-np.concatenate([fst.weight, fst.final[ends]]).astype(np.float64))
    return csr_array((value, (row, column)), shape=(fst.num_states, fst.num_states))
