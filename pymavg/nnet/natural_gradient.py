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
from pymavg.nnet.workspaces import Workspaces

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
        self.updates = self.skipped = self._rows = 0
        self.started = False
        self.factor = self.xp.zeros((self.rank, self.dim), np.float64)
        self.weight = self.xp.zeros((self.rank, dim), self.dtype)
        self.bias = self.xp.zeros(self.rank, self.dtype) if ones else None
        self._set_factor(to_device(self.xp, self._first_factor()))
        shapes = {"j": self.factor.shape, "k": (self.rank, self.rank), "l": (self.rank, self.rank), "total": ()}
        self._moments = {name: self.xp.zeros(shape, np.float64) for name, shape in shapes.items()}
        self._workspace = Workspaces(self.xp, self.dtype)

    @property
    def due(self):
        """Return whether the estimate is renewed with the present minibatch."""
        return self.updates < UPDATES_BEFORE_PERIOD or self.skipped >= self.period - 1

    def precondition_(self, x):
        """Do `apply_`, and renew the estimate where that is due; results as of `apply_`."""
        result = self.apply_(x)
        if self.due:
            self.renew()
        self.count()
        return result

    def apply_(self, x):
        """Replace the rows of x by the preconditioned ones (before gamma); keep what a due renewal needs.

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
            last = self._project_out_(x, total)
        else:
            last = self.xp.ones(len(x), self.dtype) if self.ones else None
        squares = self.operations.row_squares(x)
        if last is not None:
            squares += last.astype(np.float64) ** 2
        after = squares.sum()
        gamma = self.xp.sqrt(self.xp.where(after > 0, total / self.xp.where(after > 0, after, 1.0), 1.0))
        return gamma, squares, last

    def _project_out_(self, x, total):
        """Set X = X - (X W') W; return its unstored last column."""
        h = self._project(x)
        if self.due:
            self._keep_moments(h, x, total)
        self.operations.gemm(h, self.weight, x, -1.0, 1.0)
        return 1 - self.operations.product(h, self.bias) if self.ones else None

    def count(self):
        """Count a call, its renewal included; for work that is replayed elsewhere, all that is done here."""
        if self.rank == 0:
            return
        if self.due:
            self.updates, self.skipped = self.updates + 1, 0
        else:
            self.skipped += 1

    def _start(self, x, total):
        """Three updates on the first minibatch, from a fixed start, before it is preconditioned."""
        self.started = True
        for _ in range(3):
            self._keep_moments(self._project(x), x, total)
            self.renew()

    def _project(self, x):
        """Return H = X W', (N, r)."""
        h = self._workspace("h", len(x), self.rank)
        self.operations.gemm(x, self.weight, h, trans_b=True)
        if self.ones:
            h += self.bias
        return h

    def _keep_moments(self, h, x, total):
        """Keep N, |X|_F^2, and in float64 J = H'X (r x D), K = JJ' and L = H'H (r x r), each always in the same place.

        The product is taken of H over a power of two near the size of an element of X: no digit changes, and the
        squares of large inputs do not overflow float32.
        """
        xp, ops = self.xp, self.operations
        size = xp.log2(xp.where(total > 0, total, 1.0) / (len(x) * self.dim)) / 2
        scale = xp.exp2(xp.clip(xp.rint(size), -120, 120))
        scaled = h * (1 / scale).astype(h.dtype)
        j = self._workspace("j", self.rank, x.shape[1])
        ops.gemm(scaled, x, j, trans_a=True)
        wide = scaled.astype(np.float64)
        kept = self._moments
        kept["j"][:, : x.shape[1]] = j
        if self.ones:
            kept["j"][:, -1] = wide.sum(axis=0)
        kept["j"] *= scale
        wide *= scale
        kept["k"][...] = ops.product(kept["j"], kept["j"].T)
        kept["l"][...] = ops.product(wide.T, wide)
        kept["total"][...] = total
        self._rows = len(x)

    def renew(self):
        """Renew d, rho and W from the moments kept: W' = A (J + c diag(q) W), of which A and c diag(q) are small."""
        if self.rank == 0:
            return
        ops, kept = self.operations, self._moments
        moments = kept["k"], kept["l"], kept["total"], self._rows
        new = ops.renew_fisher(self.d, self.rho, *moments, self.dim, self.alpha, self.history)
        factor = ops.product(new.mix, kept["j"] + new.keep[:, None] * self.factor)
        self._set_factor(ops.reorthonormalise(factor, new.root_e, new.suspect))
        if new.d is not self.d:  # a device changes them where they are
            self.d[...], self.rho[...] = new.d, new.rho

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
        self.factor[...] = factor
        self.weight[...] = factor[:, : self.weight.shape[1]]
        if self.ones:
            self.bias[...] = factor[:, -1]

    def self_test(self):
        """Return the largest deviation of the rows of R from orthonormality; raise where rho or d is out of bounds."""
        d, rho = to_host(self.d), float(self.rho)
        low = min(rho, d.min(initial=np.inf))
        if not (low >= EPSILON and low > 0.9 * DELTA * d.max(initial=0)):
            raise FloatingPointError(f"Fisher estimate out of bounds: rho {rho}, d {d}")
        root = root_of_e(d, rho, self.alpha, self.dim)
        gram = to_host(self.operations.product(self.factor, self.factor.T)) / np.outer(root, root)
        return np.abs(gram - np.eye(self.rank)).max(initial=0)

    def state(self):
        """Return the estimate as named host arrays."""
        counts = np.array([self.updates, self.skipped, self.started], np.int64)
        arrays = {"W": self.factor, "d": self.d, "rho": self.rho}
        return {**{name: np.array(to_host(a)) for name, a in arrays.items()}, "counts": counts}

    def load_state(self, state):
        """Take over what `state` returned."""
        factor, d, rho = (to_device(self.xp, np.array(state[name], np.float64)) for name in ("W", "d", "rho"))
        self._set_factor(factor)
        self.d[...], self.rho[...] = d, rho.reshape(())
        self.updates, self.skipped = int(state["counts"][0]), int(state["counts"][1])
        self.started = bool(state["counts"][2])
