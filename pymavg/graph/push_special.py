"""Weight pushing that makes every state's probabilities sum to one common value (Kaldi's fstext/push-special.cc).

Ordinary pushing towards a sum of 1 may fail or blow up on LG, whose sums are not 1 (back-off counts some mass twice).
Here the weights become p'(s→t) = p(s→t) v(t) / v(s), where v is the first eigenvector of the matrix P of the p(s→t), in
which being final leads back to the start: each state's sum is then its eigenvalue λ.
"""

import numpy as np
from scipy.sparse import csr_array

from pymavg.errors import PymavgError
from pymavg.kaldi.fst import Fst

TOLERANCE = 1e-4  # by which the sums may differ
MOST_ITERATIONS = 2000
INERTIA = 0.1  # iterating with P + 0.1 I damps the oscillation of periodic graphs


def push_special(fst):
    """Return an equivalent, trimmed FST whose states' probabilities all sum to about the same value.

    Every path keeps its cost. Sums agree to a factor of 1.0001.

    Raises
    ------
    PymavgError
        When the iteration does not converge, which a trimmed graph does not do.
    """
    matrix = _matrix(fst)
    v = np.full(fst.num_states, 1.0)
    for _ in range(MOST_ITERATIONS):
        product = matrix @ v
        sums = product / v
        if sums.max() <= sums.min() * (1 + TOLERANCE):
            break
        v = product + INERTIA * v
        v /= v.max()
    else:
        raise PymavgError(f"pushing weights did not converge: sums from {sums.min():.3g} to {sums.max():.3g}")
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
