"""Log-likelihoods of Gaussian mixtures as matrix products.

log N(x; μ, σ²) = gconst + Σ_d (μ/σ²)_d x_d − ½ Σ_d (1/σ²)_d x_d² is linear in [x, x²], so all Gaussians of all frames
come from one product; a grouped log-sum-exp then makes one value for each pdf (gmm/diag-gmm.cc, LogLikelihoods).
"""

import math

import numpy as np
from numba import njit

from pymavg.errors import PymavgError

BLOCK = 1 << 22  # log-likelihoods of Gaussians held at once (16 MB)
NEVER = np.float32(-1e30)  # stands for log 0, which the compiler's fast arithmetic must not meet
LOG2_E = np.float32(np.log2(np.e))
E0, E1, E2, E3, E4, E5, E6 = (np.float32(np.log(2) ** i / math.factorial(i)) for i in range(7))  # series of 2^f


class GmmScorer:
    """Computes log-likelihoods of an acoustic model.

    Parameters
    ----------
    gmm : AmDiagGmm
    """

    def __init__(self, gmm):
        self.gmm = gmm
        self._linear = np.concatenate([gmm.means_invvars, -0.5 * gmm.inv_vars], axis=1)  # (G, 2D)
        self._constant = np.maximum(gmm.gconsts, NEVER)

    def loglikes(self, feats, pdfs=None):
        """Return log p(x_t | pdf), float32 (T, number of pdfs).

        Parameters
        ----------
        feats : float32 (T, D)
        pdfs : int array, optional
            The pdfs wanted, in the order of the columns; by default all.

        Raises
        ------
        PymavgError
            When the features have another dimension than the model.
        """
        offset, linear, constant = self.gmm.offset, self._linear, self._constant
        if feats.shape[1] != self.gmm.dim:
            raise PymavgError(
                f"features have {feats.shape[1]} dimensions, the model {self.gmm.dim}; "
                "were other delta or splice options used?"
            )
        if pdfs is not None:
            sizes = np.diff(offset)[pdfs]
            rows = np.concatenate([np.arange(offset[p], offset[p + 1]) for p in pdfs])
            offset = np.concatenate([[0], np.cumsum(sizes)])
            linear, constant = linear[rows], constant[rows]
        result = np.empty((len(feats), len(offset) - 1), np.float32)
        step = max(16, BLOCK // len(linear))
        for first in range(0, len(feats), step):
            x = feats[first : first + step].T
            gaussians = linear @ np.concatenate([x, x * x])  # (G, frames)
            _log_sum_exp(gaussians, constant, offset, result[first : first + step])
        return result


@njit(cache=True, fastmath=True)
def _log_sum_exp(gaussians, constant, offset, result):
    """Fill result (T, P) with log Σ_k exp(gaussians[k, t] + constant[k]), k from offset[p] to offset[p + 1]."""
    frames = gaussians.shape[1]
    largest, total = np.empty(frames, np.float32), np.empty(frames, np.float32)
    bits, mantissa = np.empty(frames, np.int32), np.empty(frames, np.float32)
    for p in range(len(offset) - 1):
        largest[:] = NEVER
        total[:] = 0
        for k in range(offset[p], offset[p + 1]):
            for t in range(frames):
                gaussians[k, t] += constant[k]
                largest[t] = max(largest[t], gaussians[k, t])
        for k in range(offset[p], offset[p + 1]):
            _add_exp(gaussians[k], largest, total, bits, mantissa)
        for t in range(frames):
            result[t, p] = largest[t] + np.log(total[t])


@njit(cache=True, fastmath=True)
def _add_exp(x, largest, total, bits, mantissa):
    """Add exp(x − largest), all ≤ 1, to `total`; four times as fast as np.exp, which the compiler cannot vectorise.

    exp(x) = 2ⁿ 2^f with n = round(x log₂e): 2ⁿ is put together from the bits of a float, 2^f is a polynomial that is
    right to the last digit or two for |f| ≤ ½. `bits` and `mantissa` are work space of the same length.
    """
    for t in range(len(x)):
        y = max((x[t] - largest[t]) * LOG2_E, np.float32(-126.0))
        n = np.int32(y - np.float32(0.5))
        f = y - np.float32(n)
        bits[t] = (n + np.int32(127)) << np.int32(23)
        mantissa[t] = E0 + f * (E1 + f * (E2 + f * (E3 + f * (E4 + f * (E5 + f * E6)))))
    power = bits.view(np.float32)
    for t in range(len(x)):
        total[t] += mantissa[t] * power[t]
