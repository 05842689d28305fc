"""The few array operations that training consists of, written once in plain formulas for any array module.

`Operations` is the definition, in the words of NumPy's interface, which CuPy shares; it runs on both and in every
precision. Its subclasses are the same at the speed of the matrix products (host_operations.py). All arrays are
C-contiguous; shapes are (N, D) for N frames.
"""

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.nnet import fisher


class Operations:
    """Plain formulas; see each method. Names ending in `_` change their first argument in place."""

    def __init__(self, xp):
        self.xp = xp

    def gemm(self, a, b, out, alpha=1.0, beta=0.0, trans_a=False, trans_b=False):
        """Set out = alpha op(a) op(b) + beta out. `alpha` may be a number on the device (0-d array)."""
        product = (a.T if trans_a else a) @ (b.T if trans_b else b)
        product *= alpha
        if isinstance(beta, float) and beta == 0.0:  # what was in out may be NaN
            out[...] = product
            return
        out *= beta
        out += product

    def product(self, a, b):
        """Return a b, of matrices, or of a matrix and a vector."""
        return a @ b

    def concurrently(self, works):
        """Call functions that do not depend on each other; a device may do them at the same time."""
        for work in works:
            work()

    def add_rows_(self, vector, matrix, alpha, beta=1.0, weights=None):
        """Set vector = beta vector + alpha (sum of the rows of matrix, each times its weight)."""
        total = matrix.sum(axis=0) if weights is None else weights @ matrix
        vector *= beta
        vector += alpha * total

    def scale_add_(self, a, keep, b, factor):
        """Set a = keep a + factor b."""
        a *= keep
        a += factor * b

    def square_distance(self, a, b):
        """Return the sum of (a - b)^2, float64."""
        return ((a - b).astype(self.xp.float64) ** 2).sum()

    def deviation(self, a):
        """Return the standard deviation of all elements, float64."""
        return a.astype(self.xp.float64).std()

    def row_squares(self, matrix):
        """Return the squared 2-norm of each row, (N,) float64."""
        return (matrix.astype(self.xp.float64) ** 2).sum(axis=1)

    def activate_(self, kind, a, bias):
        """Set a = f(a + bias), f one of linear, sigmoid, tanh, relu."""
        xp = self.xp
        a += bias
        if kind == "sigmoid":
            xp.exp(-xp.abs(a), out=(small := xp.empty_like(a)))  # exp of a non-positive number: no overflow
            a[...] = xp.where(a >= 0, 1 / (1 + small), small / (1 + small))
        elif kind == "tanh":
            xp.tanh(a, out=a)
        elif kind == "relu":
            xp.maximum(a, 0, out=a)

    def derive_(self, kind, delta, y, y_scale=1.0):
        """Set delta = delta f'(a), the derivative told from the output f(a) = y_scale y."""
        if y_scale != 1.0:
            y = y * y_scale
        if kind == "sigmoid":
            delta *= y * (1 - y)
        elif kind == "tanh":
            delta *= 1 - y * y
        elif kind == "relu":
            delta *= y > 0

    def uniform(self, shape, key):
        """Return float32 numbers in [0, 1), a pure function of `key` (int) and the position."""
        xp = self.xp
        index = xp.arange(int(np.prod(shape)), dtype=xp.uint32)
        low, high = key_words(key)
        bits = _mix(_mix(index ^ low) + high) >> np.uint32(8)
        return (bits.astype(xp.float32) * np.float32(2.0**-24)).reshape(shape)

    def dropout_(self, y, retention, key):
        """Keep each element with probability `retention`, divided by it; else 0."""
        y *= (self.uniform(y.shape, key) < retention) * y.dtype.type(1 / retention)

    def sample_hidden(self, a, bias, sample, key):
        """Set a = sigmoid(a + bias) and sample = 1 with that probability, else 0."""
        self.activate_("sigmoid", a, bias)
        sample[...] = self.uniform(a.shape, key) < a

    def softmax_(self, a):
        """Set each row of a to its softmax."""
        a -= a.max(axis=1, keepdims=True)
        self.xp.exp(a, out=a)
        a /= a.sum(axis=1, keepdims=True)

    def softmax_xent_(self, a, targets, weights, stats):
        """Set a to the derivative weights (softmax(a) - target) of the cross-entropy and add to `stats`.

        `targets` is int32 (N,) or posteriors (N, D); `stats` float64 (3,): the loss (cross-entropy less the entropy
        of the targets), the correct frames and the frames, each weighted.
        """
        xp = self.xp
        winner = a.argmax(axis=1)
        top = a.max(axis=1, keepdims=True)
        log_sum = xp.log(xp.exp(a - top).sum(axis=1, keepdims=True)) + top
        if targets.ndim == 1:
            rows = xp.arange(len(targets))
            loss = log_sum[:, 0] - a[rows, targets]
            correct = winner == targets
        else:
            surprise = log_sum - a + xp.log(xp.maximum(targets, 1e-20))
            loss = (targets * surprise).sum(axis=1)
            correct = winner == targets.argmax(axis=1)
        a -= log_sum
        xp.exp(a, out=a)
        if targets.ndim == 1:
            a[rows, targets] -= 1
        else:
            a -= targets
        self._weigh(a, weights, loss, correct, stats)

    def square_error_(self, a, targets, weights, stats):
        """Set a to weights (a - target), the derivative of half the squared error, and add to `stats` as above."""
        xp = self.xp
        winner = a.argmax(axis=1)
        if targets.ndim == 1:
            correct = winner == targets
            a[xp.arange(len(targets)), targets] -= 1
        else:
            correct = winner == targets.argmax(axis=1)
            a -= targets
        self._weigh(a, weights, 0.5 * self.row_squares(a), correct, stats)

    def _weigh(self, delta, weights, loss, correct, stats):
        if weights is None:
            stats[0] += loss.sum(dtype=self.xp.float64)
            stats[1] += correct.sum()
            stats[2] += len(delta)
            return
        delta *= weights[:, None]
        stats[0] += (loss * weights).sum(dtype=self.xp.float64)
        stats[1] += (correct * weights).sum(dtype=self.xp.float64)
        stats[2] += weights.sum(dtype=self.xp.float64)

    def add_correction_(self, weight, correction, decay, keep=1.0):
        """Set correction = correction - decay weight, then weight = keep weight + correction."""
        correction -= decay * weight
        weight *= keep
        weight += correction

    def shrink_l1_(self, weight, gradient, l1, learn_rate):
        """Move each weight toward 0 by `l1`, stopping there: nnet1's rule (cu-math, RegularizeL1).

        A weight of exactly 0 is left alone; one that gradient and penalty together would carry across 0 is set to 0
        and its gradient cleared.
        """
        xp = self.xp
        penalty = l1 * xp.sign(weight)
        after = weight - learn_rate * gradient - penalty
        crossed = ((after > 0) != (weight > 0)) & (weight != 0)
        gradient *= ~crossed
        weight -= penalty
        weight *= ~crossed

    def limit_rows_(self, weight, max_norm):
        """Scale each row of weight whose 2-norm is above `max_norm` down to it."""
        norm = self.xp.sqrt(self.row_squares(weight))
        scale = max_norm / self.xp.maximum(norm, max_norm)
        weight *= scale[:, None].astype(weight.dtype)

    def gather(self, feats, rows, first, last, offsets, scale, shift, out):
        """Set out[n] = scale (feats at rows[n] + offsets, within first[n] ... last[n]) + shift.

        `feats` is (F, D), `out` (N, D offsets); `scale` and `shift` are of out's length or of length 1.
        """
        xp = self.xp
        window = xp.minimum(xp.maximum(rows[:, None] + offsets, first[:, None]), last[:, None])
        out[...] = feats[window].reshape(out.shape)
        out *= scale
        out += shift

    def renew_fisher(self, d, rho, k, l, total, n, dim, alpha, history):  # noqa: E741
        """Return the fisher.Renewal of arrays on the device: computed on the host, which waits for the device."""
        small = (to_host(a) for a in (d, rho, k, l, total))
        new = fisher.renew(*small, n, dim, alpha, history)
        arrays = {name: to_device(self.xp, getattr(new, name)) for name in ("mix", "keep", "d", "root_e")}
        return new._replace(**arrays, rho=self.xp.full((), float(new.rho), np.float64))

    def reorthonormalise(self, factor, root_e, suspect):
        """Return fisher.reorthonormalise(factor, root_e) where `suspect`, else factor."""
        if not suspect:
            return factor
        return to_device(self.xp, fisher.reorthonormalise(to_host(factor), to_host(root_e)))


def key_words(key):
    """Return two well-mixed 32-bit words of a key (splitmix64), so that successive keys share nothing."""
    z = (key + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    z ^= z >> 31
    return np.uint32(z & 0xFFFFFFFF), np.uint32(z >> 32)


def _mix(x):
    """Scatter 32-bit words: two rounds of multiply and shift (constants found by C. Wellons' search, public domain)."""
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))
