"""The operations on float32 CuPy arrays: cuBLAS that accumulates in place, and fused kernels.

Nothing here waits for the device. Factors (learning rates, momenta, scales) may be numbers or 0-d arrays on the device.
"""

import numpy as np

from pymavg.nnet.cuda_fisher import FISHER, LARGEST_RANK
from pymavg.nnet.cuda_kernels import ELEMENTWISE, PREAMBLE, ROW_KERNELS, ROWS, THREADS
from pymavg.nnet.fisher import Renewal, forgetting
from pymavg.nnet.operations import Operations, key_words
from pymavg.nnet.workspaces import Workspaces

KINDS = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}  # CUDA_R_32F, CUDA_R_64F
COMPUTE = {"float32": 68, "bf16": 75, "tf32": 77}  # CUBLAS_COMPUTE_32F, _32F_FAST_16BF, _32F_FAST_TF32
COMPUTE_DOUBLE = 70  # CUBLAS_COMPUTE_64F


class CudaOperations(Operations):
    """See `Operations` for what each method does.

    Parameters
    ----------
    xp : module
        `cupy`.
    cublas : pymavg.nnet.cublas.Cublas
    precision : {"float32", "tf32", "bf16"}
        In which products are computed; operands and results are float32 in memory, sums are accumulated in float32.
    """

    def __init__(self, xp, cublas, precision="float32"):
        super().__init__(xp)
        self._cublas, self._compute = cublas, COMPUTE[precision]
        self._kernels = {
            name: xp.ElementwiseKernel(inputs, outputs, body, f"pymavg_{name}", preamble=PREAMBLE)
            for name, (inputs, outputs, body) in ELEMENTWISE.items()
        }
        rows = xp.RawModule(code=ROWS, options=("--std=c++14",))
        self._row_kernels = {name: rows.get_function(name) for name in ROW_KERNELS}
        small = xp.RawModule(code=FISHER, options=("--std=c++14",))
        self._renew, self._orthonormalise = (small.get_function(name) for name in ("renew", "orthonormalise"))
        self._constants, self._ones, self._streams = {}, xp.ones(0, np.float32), []

    def gemm(self, a, b, out, alpha=1.0, beta=0.0, trans_a=False, trans_b=False):
        """Set out = alpha op(a) op(b) + beta out by one cuBLAS call."""
        # cuBLAS counts by columns: out' = alpha op(b)' op(a)' + beta out', and a C-contiguous x in memory is its x'.
        (rows, columns), inner = out.shape, a.shape[0] if trans_a else a.shape[1]
        on_device = isinstance(alpha, self.xp.ndarray) or isinstance(beta, self.xp.ndarray)
        factors = [self._factor(x, on_device, out.dtype) for x in (alpha, beta)]
        at = [x.data.ptr if on_device else x.ctypes.data for x in factors]
        compute = self._compute if out.dtype == np.float32 else COMPUTE_DOUBLE
        matrices = at[0], b.data.ptr, a.data.ptr, at[1], out.data.ptr, KINDS[out.dtype]
        strides = b.shape[1], a.shape[1], columns
        self._cublas.gemm_ex(int(trans_b), int(trans_a), columns, rows, inner, *matrices, strides, compute, on_device)

    def _factor(self, value, on_device, dtype):
        """Return a factor as a scalar array, on the side where cuBLAS is to look for it."""
        if isinstance(value, self.xp.ndarray):
            return value.astype(dtype)
        if not on_device:
            return np.array(value, dtype)
        if (value, dtype) not in self._constants:
            self._constants[value, dtype] = self.xp.full((), value, dtype)
        return self._constants[value, dtype]

    def product(self, a, b):
        """Return a b; either may be the transpose of an array in C order."""
        wide = b if b.ndim == 2 else b[:, None]
        (left, trans_a), (right, trans_b) = (_in_order(x) for x in (a, wide))
        out = self.xp.empty((a.shape[0], wide.shape[1]), a.dtype)
        self.gemm(left, right, out, trans_a=trans_a, trans_b=trans_b)
        return out if b.ndim == 2 else out[:, 0]

    def concurrently(self, works):
        """Call functions, each on a stream of its own; the current stream waits for all of them."""
        cuda = self.xp.cuda
        self._streams += [cuda.Stream(non_blocking=True) for _ in works[len(self._streams) :]]
        current, ends = cuda.get_current_stream(), []
        begun = current.record()
        for stream, work in zip(self._streams, works, strict=False):
            stream.wait_event(begun)
            with stream:
                work()
                ends.append(stream.record())
        for end in ends:
            current.wait_event(end)

    def add_rows_(self, vector, matrix, alpha, beta=1.0, weights=None):
        """Set vector = beta vector + alpha matrix' weights, as a product of matrices."""
        if weights is None:
            if len(self._ones) < len(matrix):
                self._ones = self.xp.ones(len(matrix), np.float32)
                Workspaces.replaced += 1
            weights = self._ones[: len(matrix)]
        self.gemm(weights[None], matrix, vector[None], alpha, beta)

    def scale_add_(self, a, keep, b, factor):
        """Set a = keep a + factor b."""
        self._kernels["scale_add"](self._number(keep), b, self._number(factor), a)

    def add_correction_(self, weight, correction, decay, keep=1.0):
        """Set correction = correction - decay weight, then weight = keep weight + correction."""
        self._kernels["add_correction"](self._number(decay), self._number(keep), correction, weight)

    def _number(self, value):
        """Return a factor as kernels take it: a number, or a float32 0-d array."""
        return value.astype(np.float32) if isinstance(value, self.xp.ndarray) else value

    def row_squares(self, matrix):
        """Return the squared 2-norm of each row, (N,) float64."""
        out = self.xp.empty(len(matrix), np.float64)
        self._row_kernels["row_squares"]((len(matrix),), (THREADS,), (matrix, np.int32(matrix.shape[1]), out))
        return out

    def activate_(self, kind, a, bias):
        """Set a = f(a + bias)."""
        self._kernels["linear" if kind == "softmax" else kind](bias, a)

    def derive_(self, kind, delta, y, y_scale=1.0):
        """Set delta = delta f'(a), the derivative told from the output f(a) = y_scale y."""
        if kind in ("sigmoid", "tanh", "relu"):
            self._kernels[f"derive_{kind}"](y, y_scale, delta)

    def dropout_(self, y, retention, key):
        """Keep each element with probability `retention`, divided by it; else 0."""
        self._kernels["dropout"](retention, *self._key_words(key), y)

    def sample_hidden(self, a, bias, sample, key):
        """Set a = sigmoid(a + bias) and sample = 1 with that probability, else 0."""
        self._kernels["sample_hidden"](bias, *self._key_words(key), a, sample)

    def _key_words(self, key):
        """Return operations.key_words(key); of a key on the device, uint64 (1,), there."""
        if not isinstance(key, self.xp.ndarray):
            return key_words(key)
        low, high = (self.xp.empty(1, np.uint32) for _ in range(2))
        self._kernels["key_words"](key, low, high)
        return low, high

    def softmax_xent_(self, a, targets, weights, stats):
        """Set a to weights (softmax(a) - target) and add to `stats`; posteriors take the plain formulas."""
        if targets.ndim == 2:
            super().softmax_xent_(a, targets, weights, stats)
            return
        n, columns = a.shape
        targets = targets.astype(np.int32, copy=False)
        weights = None if weights is None else weights.astype(np.float32, copy=False)
        measures = self.xp.empty((n, 3), np.float64)
        given = measures if weights is None else weights  # any pointer where there are no weights
        arguments = a, np.int32(columns), targets, given, np.int32(weights is not None), measures
        self._row_kernels["softmax_xent"]((n,), (THREADS,), arguments)
        stats += measures.sum(axis=0)

    def gather(self, feats, rows, first, last, offsets, scale, shift, out):
        """Set out[n] = scale (feats at rows[n] + offsets, within first[n] ... last[n]) + shift."""
        if feats.dtype != np.float32:  # float16 in memory
            super().gather(feats, rows, first, last, offsets, scale, shift, out)
            return
        rows, first, last = (x.astype(np.int32, copy=False) for x in (rows, first, last))
        sizes = np.int32(feats.shape[1]), np.int32(len(offsets)), np.int32(len(scale) > 1)
        arguments = feats, sizes[0], rows, first, last, offsets, sizes[1], scale, shift, sizes[2], out
        self._row_kernels["gather"]((len(rows),), (THREADS,), arguments)

    def renew_fisher(self, d, rho, k, l, total, n, dim, alpha, history):  # noqa: E741
        """Return the fisher.Renewal; d and rho are changed in place."""
        xp, r = self.xp, len(d)
        if r > LARGEST_RANK:
            return super().renew_fisher(d, rho, k, l, total, n, dim, alpha, history)
        mix, z, u = (xp.empty((r, r), np.float64) for _ in range(3))
        keep, root_e = (xp.empty(r, np.float64) for _ in range(2))
        suspect = xp.empty((), np.int32)
        sizes = np.int32(r), np.float64(forgetting(n, history)), np.int32(n), np.int32(dim), np.float64(alpha)
        arrays = k, l, total, d, rho, mix, keep, root_e, suspect, z, u
        self._renew((1,), (THREADS,), (*sizes, *arrays))
        return Renewal(mix, keep, d, rho, root_e, suspect)

    def reorthonormalise(self, factor, root_e, suspect):
        """Return fisher.reorthonormalise(factor, root_e) where `suspect`, else factor."""
        if len(root_e) > LARGEST_RANK:
            return super().reorthonormalise(factor, root_e, suspect)
        turn = self.xp.empty((len(root_e), len(root_e)), np.float64)
        arguments = np.int32(len(root_e)), self.product(factor, factor.T), root_e, suspect, turn
        self._orthonormalise((1,), (THREADS,), arguments)
        return self.product(turn, factor)


def _in_order(matrix):
    """Return (matrix in C order, whether it is to be transposed)."""
    if matrix.flags.c_contiguous:
        return matrix, False
    return matrix.T, True
