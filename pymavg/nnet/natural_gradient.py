"""Online natural gradient: vectors times the inverse of a running low-rank Fisher matrix.

The method of Povey, Zhang and Khudanpur (arXiv 1410.7455, appendix), as in Kaldi's OnlinePreconditioner. Rows of
X (N x D) are the vectors; their Fisher matrix is kept as F = R' diag(d) R + rho I with R (r x D) of orthonormal rows,
smoothed to G = F + alpha tr(F)/D I. With beta = rho (1 + alpha) + alpha sum(d)/D and e_i = 1/(beta/d_i + 1), what is
stored is W = E^(1/2) R, because beta G^-1 = I - W'W: preconditioning is X^ = X - (X W') W, and a factor gamma that
restores the Frobenius norm. All matrices of r rows are float64; only products with X are in X's precision.
"""

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.nnet.fisher import DELTA, EPSILON, root_of_e

UPDATES_BEFORE_PERIOD = 10  # so many calls update the estimate each, only then does the period count


class OnlinePreconditioner:
    """Preconditions the rows of one matrix after the other, learning their Fisher matrix on the way.

    Parameters
    ----------
    dim : int
        Length of a row.
    rank : int
        r; cut to D - 1.
    operations : pymavg.nnet.operations.Operations
    dtype : dtype
        Of the matrices.
    alpha : float
        Smoothing with a multiple of the unit matrix.
    num_samples_history : float
        Time constant of the estimate in rows.
    update_period : int
        After the first ten updates the estimate is renewed every so many calls.
    ones : bool
        Rows carry a last element 1 (for the bias) that is not stored: D = dim + 1.
    """

    def __init__(
        self, dim, rank, operations, dtype, alpha=4.0, num_samples_history=2000.0, update_period=1, ones=False
    ):
        self.operations, self.xp, self.dtype = operations, operations.xp, np.dtype(dtype)
        self.dim, self.ones = dim + ones, ones
        self.rank = min(rank, self.dim - 1)
        self.alpha, self.history, self.period = alpha, num_samples_history, update_period
        self.d, self.rho = (self.xp.full(shape, EPSILON, np.float64) for shape in (self.rank, ()))
        self.updates = self.skipped = 0
        self.started = False
        self._set_factor(to_device(self.xp, self._first_factor()))
        self._buffers = {}

    def precondition_(self, x):
        """Replace the rows of x by the preconditioned ones (before gamma).

        Parameters
        ----------
        x : (N, dim)
            Changed in place.

        Returns
        -------
        gamma : float, or 0-d array on the device
            What to multiply with: |X|_F / |X^|_F, 1 when X is all zero.
        squares : (N,) float64
            Squared 2-norm of each new row, the unstored last element included.
        last : (N,) or None
            The last element of each new row, which was 1; None without `ones`.
        """
        total = self.operations.row_squares(x).sum() + (len(x) if self.ones else 0)
        if self.rank > 0:
            if not self.started:
                self._start(x, total)
            x, last = self._apply_(x, total)
        else:
            last = self.xp.ones(len(x), self.dtype) if self.ones else None
        squares = self.operations.row_squares(x)
        if last is not None:
            squares += last.astype(np.float64) ** 2
        after = squares.sum()
        gamma = self.xp.sqrt(self.xp.where(after > 0, total / self.xp.where(after > 0, after, 1.0), 1.0))
        return gamma, squares, last

    def _apply_(self, x, total):
        h = self._project(x)
        due = self.updates < UPDATES_BEFORE_PERIOD or self.skipped >= self.period - 1
        update = self._moments(h, x, total) if due else None
        self.operations.gemm(h, self.weight, x, -1.0, 1.0)
        last = 1 - h @ self.bias if self.ones else None
        if due:
            self._update(*update)
        else:
            self.skipped += 1
        return x, last

    def _start(self, x, total):
        """Three updates on the first minibatch, from a fixed start, before it is preconditioned."""
        self.started = True
        for _ in range(3):
            self._update(*self._moments(self._project(x), x, total))
        self.updates = 0

    def _project(self, x):
        """Return H = X W', (N, r)."""
        h = self._workspace("h", len(x), self.rank)
        self.operations.gemm(x, self.weight, h, trans_b=True)
        if self.ones:
            h += self.bias
        return h

    def _moments(self, h, x, total):
        """Return N, |X|_F^2, and in float64 J = H'X (r x D), K = JJ' and L = H'H (r x r).

        The product is taken of H over a power of two near the size of an element of X: no digit changes, and the
        squares of large inputs do not overflow float32.
        """
        xp = self.xp
        size = xp.log2(xp.where(total > 0, total, 1.0) / (len(x) * self.dim)) / 2
        scale = xp.exp2(xp.clip(xp.rint(size), -120, 120))
        scaled = h * (1 / scale).astype(h.dtype)
        j = self._workspace("j", self.rank, x.shape[1])
        self.operations.gemm(scaled, x, j, trans_a=True)
        j, wide = j.astype(np.float64), scaled.astype(np.float64)
        if self.ones:
            j = xp.concatenate([j, wide.sum(axis=0)[:, None]], axis=1)
        j *= scale
        wide *= scale
        return len(x), total, j, j @ j.T, wide.T @ wide

    def _update(self, n, total, j, k, l):  # noqa: E741 (the paper's letter)
        """Renew d, rho and W from one minibatch: W' = A (J + c diag(q) W), of which A and c diag(q) are small."""
        ops = self.operations
        new = ops.renew_fisher(self.d, self.rho, k, l, total, n, self.dim, self.alpha, self.history)
        factor = new.mix @ (j + new.keep[:, None] * self.factor)
        self._set_factor(ops.reorthonormalise(factor, new.root_e, new.suspect))
        self.d, self.rho = new.d, new.rho
        self.updates += 1
        self.skipped = 0

    def _first_factor(self):
        """Return the start of W: row i of R has entries at columns i, i + r, i + 2r, ..., the first a little larger."""
        r, dim = self.rank, self.dim
        rows = np.zeros((r, dim))
        for i in range(r):
            rows[i, i::r] = 1.0
            rows[i, i] = 1.1
            rows[i] /= np.linalg.norm(rows[i])
        return rows / np.sqrt(2 + self.alpha * (dim + r) / dim)  # = E^(1/2) R for d = rho

    def _set_factor(self, factor):
        self.factor = factor
        self.weight = self.xp.ascontiguousarray(factor[:, : self.dim - self.ones], self.dtype)
        self.bias = self.xp.ascontiguousarray(factor[:, -1], self.dtype) if self.ones else None

    def _workspace(self, name, rows, columns):
        held = self._buffers.get(name)
        if held is None or held.shape[0] < rows:
            held = self._buffers[name] = self.xp.empty((rows, columns), self.dtype)
        return held[:rows]

    def self_test(self):
        """Return the largest deviation of the rows of R from orthonormality; raise where rho or d is out of bounds."""
        d, rho = to_host(self.d), float(self.rho)
        low = min(rho, d.min(initial=np.inf))
        if not (low >= EPSILON and low > 0.9 * DELTA * d.max(initial=0)):
            raise FloatingPointError(f"Fisher estimate out of bounds: rho {rho}, d {d}")
        root = root_of_e(d, rho, self.alpha, self.dim)
        gram = to_host(self.factor @ self.factor.T) / np.outer(root, root)
        return np.abs(gram - np.eye(self.rank)).max(initial=0)

    def state(self):
        """Return the estimate as named host arrays."""
        counts = np.array([self.updates, self.skipped, self.started], np.int64)
        arrays = {"W": self.factor, "d": self.d, "rho": self.rho}
        return {**{name: to_host(a) for name, a in arrays.items()}, "counts": counts}

    def load_state(self, state):
        """Take over what `state` returned."""
        factor, self.d, rho = (to_device(self.xp, np.array(state[name], np.float64)) for name in ("W", "d", "rho"))
        self._set_factor(factor)
        self.rho = rho.reshape(())
        self.updates, self.skipped = int(state["counts"][0]), int(state["counts"][1])
        self.started = bool(state["counts"][2])
