"""Online natural gradient: vectors times the inverse of a running low-rank Fisher matrix.

The method of Povey, Zhang and Khudanpur (arXiv 1410.7455, appendix), as in Kaldi's OnlinePreconditioner. Rows of
X (N x D) are the vectors; their Fisher matrix is kept as F = R' diag(d) R + rho I with R (r x D) of orthonormal rows,
smoothed to G = F + alpha tr(F)/D I. With beta = rho (1 + alpha) + alpha sum(d)/D and e_i = 1/(beta/d_i + 1), what is
stored is W = E^(1/2) R, because beta G^-1 = I - W'W: preconditioning is X^ = X - (X W') W, and a factor gamma that
restores the Frobenius norm. All matrices of r rows are float64; only products with X are in X's precision.
"""

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.nnet.fisher import DELTA, EPSILON, renew, root_of_e

UPDATES_BEFORE_PERIOD = 10  # so many calls update the estimate each, only then does the period count
NOT_ORTHONORMAL = 1e-3


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
        self.rho, self.d = EPSILON, np.full(self.rank, EPSILON)
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
        """Return N, |X|_F^2, a scale s, and in float64 J = H'X/s^2 (r x D), K = JJ' and L = H'H/s^2 (r x r).

        The scale, a power of two near the size of an element of X, keeps float32 from overflow: it changes no digit.
        """
        xp = self.xp
        size = xp.log2(xp.where(total > 0, total, 1.0) / (len(x) * self.dim)) / 2
        scale = xp.exp2(xp.clip(xp.rint(size), -120, 120))
        scaled = h * (1 / scale).astype(h.dtype)
        j = self._workspace("j", self.rank, x.shape[1])
        self.operations.gemm(scaled, x, j, trans_a=True)
        j = j.astype(np.float64) / scale
        wide = scaled.astype(np.float64)
        if self.ones:
            j = xp.concatenate([j, wide.sum(axis=0)[:, None] / scale], axis=1)
        return len(x), total, scale, j, j @ j.T, wide.T @ wide

    def _update(self, n, total, scale, j, k, l):  # noqa: E741 (the paper's letter)
        """Renew d, rho and W from one minibatch."""
        squared = float(scale) ** 2
        k, l = to_host(k) * squared**2, to_host(l) * squared  # noqa: E741
        new = renew(self.d, self.rho, k, l, float(total), n, self.dim, self.alpha, self.history)
        # W' = A (J + c diag(q) W), of which A and c diag(q) are small
        mix, keep = to_device(self.xp, new.mix), to_device(self.xp, new.keep)
        factor = mix @ (j * squared + keep[:, None] * self.factor)
        if new.suspect:
            factor = self._reorthogonalised(factor, new.root_e)
        self.d, self.rho = new.d, new.rho
        self._set_factor(factor)
        self.updates += 1
        self.skipped = 0

    def _reorthogonalised(self, factor, root_e):
        """Return W with the rows of E^(-1/2) W made orthonormal again: by Cholesky, or by QR where that fails."""
        gram = to_host(factor @ factor.T) / np.outer(root_e, root_e)
        if np.abs(gram - np.eye(self.rank)).max() <= NOT_ORTHONORMAL:
            return factor
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(gram))
            if inverse.max() < 100:
                return to_device(self.xp, root_e[:, None] * inverse / root_e) @ factor
        except np.linalg.LinAlgError:
            pass
        basis = np.linalg.qr((to_host(factor) / root_e[:, None]).T)[0].T
        return to_device(self.xp, root_e[:, None] * basis)

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
        low = min(self.rho, self.d.min(initial=np.inf))
        if not (low >= EPSILON and low > 0.9 * DELTA * self.d.max(initial=0)):
            raise FloatingPointError(f"Fisher estimate out of bounds: rho {self.rho}, d {self.d}")
        root = root_of_e(self.d, self.rho, self.alpha, self.dim)
        gram = to_host(self.factor @ self.factor.T) / np.outer(root, root)
        return np.abs(gram - np.eye(self.rank)).max(initial=0)

    def state(self):
        """Return the estimate as named host arrays."""
        counts = np.array([self.updates, self.skipped, self.started], np.int64)
        return {"W": to_host(self.factor), "d": self.d, "rho": np.array(self.rho), "counts": counts}

    def load_state(self, state):
        """Take over what `state` returned."""
        self._set_factor(to_device(self.xp, np.array(state["W"], np.float64)))
        self.d, self.rho = np.array(state["d"], np.float64), float(state["rho"])
        self.updates, self.skipped = int(state["counts"][0]), int(state["counts"][1])
        self.started = bool(state["counts"][2])
