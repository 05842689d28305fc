"""The operations on float32 NumPy arrays, at the speed of the matrix products.

BLAS accumulates into its result in place, so that an update is the product itself and no gradient array exists;
elementwise work is one pass of a compiled loop (host_kernels.py).
"""

import numpy as np
from scipy.linalg import blas

from pymavg.nnet import host_kernels as kernels
from pymavg.nnet.operations import Operations, key_words

NO_WEIGHTS = np.empty(0, np.float32)


class HostOperations(Operations):
    """See `Operations` for what each method does."""

    def __init__(self):
        super().__init__(np)
        self._ones = np.ones(0, np.float32)

    def gemm(self, a, b, out, alpha=1.0, beta=0.0, trans_a=False, trans_b=False):
        """Set out = alpha op(a) op(b) + beta out by one BLAS call, without a copy."""
        # BLAS counts by columns: out' = alpha op(b)' op(a)' + beta out', and x.T of a C-contiguous x is its x'.
        blas.sgemm(float(alpha), b.T, a.T, float(beta), out.T, trans_a=trans_b, trans_b=trans_a, overwrite_c=True)

    def add_rows_(self, vector, matrix, alpha, beta=1.0, weights=None):
        """Set vector = beta vector + alpha matrix' weights by one BLAS call."""
        if weights is None:
            if len(self._ones) < len(matrix):
                self._ones = np.ones(len(matrix), np.float32)
            weights = self._ones[: len(matrix)]
        blas.sgemv(float(alpha), matrix.T, weights, float(beta), vector, overwrite_y=True)

    def scale_add_(self, a, keep, b, factor):
        """Set a = keep a + factor b."""
        kernels.scale_add(np.atleast_2d(a), np.float32(keep), np.atleast_2d(b), np.float32(factor))

    def add_correction_(self, weight, correction, decay, keep=1.0):
        """Set correction = correction - decay weight, then weight = keep weight + correction."""
        kernels.add_correction(weight, correction, np.float32(decay), np.float32(keep))

    def square_distance(self, a, b):
        """Return the sum of (a - b)^2."""
        return kernels.square_distance(a, b)

    def deviation(self, a):
        """Return the standard deviation of all elements."""
        total, squares = kernels.moments(a)
        return np.sqrt(np.maximum(squares / a.size - (total / a.size) ** 2, 0.0))

    def row_squares(self, matrix):
        """Return the squared 2-norm of each row, (N,) float64."""
        out = np.empty(len(matrix))
        kernels.row_squares(matrix, out)
        return out

    def activate_(self, kind, a, bias):
        """Set a = f(a + bias)."""
        loops = {"sigmoid": kernels.sigmoid, "tanh": kernels.tanh, "relu": kernels.relu}
        loops.get(kind, kernels.add_bias)(a, bias)

    def derive_(self, kind, delta, y, y_scale=1.0):
        """Set delta = delta f'(a), the derivative told from the output f(a) = y_scale y."""
        if kind == "sigmoid":
            kernels.derive_sigmoid(delta, y, np.float32(y_scale))
        elif kind == "tanh":
            kernels.derive_tanh(delta, y, np.float32(y_scale))
        elif kind == "relu":
            kernels.derive_relu(delta, y)

    def dropout_(self, y, retention, key):
        """Keep each element with probability `retention`, divided by it; else 0."""
        kernels.dropout(y, np.float32(retention), *key_words(key))

    def sample_hidden(self, a, bias, sample, key):
        """Set a = sigmoid(a + bias) and sample = 1 with that probability, else 0."""
        kernels.sample_hidden(a, bias, sample, *key_words(key))

    def softmax_xent_(self, a, targets, weights, stats):
        """Set a to weights (softmax(a) - target) and add to `stats`; posteriors take the plain formulas."""
        if targets.ndim == 2:
            super().softmax_xent_(a, targets, weights, stats)
            return
        kernels.softmax_xent(a, targets, NO_WEIGHTS if weights is None else weights, stats)

    def gather(self, feats, rows, first, last, offsets, scale, shift, out):
        """Set out[n] = scale (feats at rows[n] + offsets, within first[n] ... last[n]) + shift."""
        if feats.dtype != np.float32:  # float16 in memory, which Numba does not know
            super().gather(feats, rows, first, last, offsets, scale, shift, out)
            return
        kernels.gather(feats, rows, first, last, offsets, scale, shift, out)
