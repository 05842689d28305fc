"""The older natural gradient: each minibatch is its own Fisher matrix, smoothed, each row's own part taken out."""

TRACE_FLOOR = 1e-20


class SimplePreconditioner:
    """Kaldi's PreconditionDirectionsAlphaRescaled (nnet2/nnet-precondition.cc); it has no memory.

    Parameters
    ----------
    xp : module
        `numpy` or `cupy`.
    alpha : float
        Smoothing with a multiple of the unit matrix.
    ones : bool
        Rows carry a last element 1 (for the bias) that is not stored.
    """

    def __init__(self, xp, alpha=4.0, ones=False):
        self.xp, self.alpha, self.ones = xp, alpha, ones

    def apply_(self, x):
        """Replace the rows of x by the preconditioned ones; results as of OnlinePreconditioner, with gamma 1."""
        xp = self.xp
        wide = x.astype(xp.float64)
        if self.ones:
            wide = xp.concatenate([wide, xp.ones((len(x), 1))], axis=1)
        q = precondition(xp, wide, self.alpha)
        norm, after = (wide**2).sum(), (q**2).sum()
        q *= xp.sqrt(xp.where(after > 0, norm / xp.where(after > 0, after, 1.0), 1.0))
        x[...] = q[:, : x.shape[1]]
        return 1.0, (q**2).sum(axis=1), q[:, -1].astype(x.dtype) if self.ones else None

    def renew(self):
        """Renew nothing."""

    def count(self):
        """Count nothing."""

    def state(self):
        """Return no state."""
        return {}

    def load_state(self, state):
        """Take over nothing."""


def precondition(xp, x, alpha):
    """Return q_i = G_i^-1 x_i, G_i = lambda I + (sum of x_j x_j' over j != i) / (N - 1), not rescaled.

    Parameters
    ----------
    xp : module
        `numpy` or `cupy`.
    x : (N, D) float64
        Rows; a single one is returned unchanged.
    alpha : float
        lambda = alpha / (N D) tr(X X'), the trace floored at 1e-20.

    Returns
    -------
    (N, D) float64
    """
    n, dim = x.shape
    if n == 1:
        return x.copy()
    smooth = alpha / (n * dim) * xp.maximum((x**2).sum(), TRACE_FLOOR)
    if n < dim:
        q = xp.linalg.solve(smooth * xp.eye(n) + x @ x.T / (n - 1), x)
    else:
        q = xp.linalg.solve(smooth * xp.eye(dim) + x.T @ x / (n - 1), x.T).T.copy()
    own = (x * q).sum(axis=1)  # the row's part in the common matrix, taken out by the Sherman-Morrison formula
    q *= (1 + own / (n - 1 - own))[:, None]
    return q
