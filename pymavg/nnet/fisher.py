"""The small part of the online natural gradient: the new eigenvalues and the r x r matrix that makes the new W.

Everything is r x r with r of 30 to 80, in float64 on the host.
"""

from typing import NamedTuple

import numpy as np

EPSILON = 1e-10  # least value of rho and d
DELTA = 5e-4  # least value of rho and d beside the largest
CONDITION = 1e6  # of the eigenvalues: beyond it W is checked for orthogonality
NOT_ORTHONORMAL = 1e-3  # largest error that is let pass


class Renewal(NamedTuple):
    """The new estimate; W' = mix (J + diag(keep) W)."""

    mix: np.ndarray  # (r, r)
    keep: np.ndarray  # (r,)
    d: np.ndarray  # (r,)
    rho: np.ndarray  # ()
    root_e: np.ndarray  # (r,) square roots of the new e
    suspect: bool  # W' may have lost its orthogonality


def renew(d, rho, k, l, total, n, dim, alpha, history):  # noqa: E741 (the paper's letters)
    """Return the Fisher estimate after a minibatch.

    The target is T = eta/N X'X + (1 - eta) F; its r leading eigenvectors are approximated within one step of the power
    method, Y = R T, whose Y Y' = Z is eigendecomposed here (arXiv 1410.7455, appendix; Kaldi's
    OnlinePreconditioner::PreconditionDirectionsInternal).

    Parameters
    ----------
    d, rho : (r,) float64 and float
        F = R' diag(d) R + rho I.
    k, l : (r, r) float64
        J J' and H'H with H = X W', J = H'X.
    total : float
        |X|_F^2.
    n, dim : int
        Rows and columns of X.
    alpha, history : float
        Smoothing, and time constant in rows: eta = min(0.9, 1 - exp(-N / history)).

    Returns
    -------
    Renewal
    """
    r = len(d)
    eta = forgetting(n, history)
    w, stay, q = eta / n, 1 - eta, d + rho
    inverse = 1 / root_of_e(d, rho, alpha, dim)  # the diagonal of E^(-1/2)
    k, l = k * np.outer(inverse, inverse), l * np.outer(inverse, inverse)  # noqa: E741
    z = w * w * k + w * stay * (l * q + q[:, None] * l)
    z[np.diag_indices(r)] += stay * stay * q * q
    if not np.all(np.isfinite(z)):  # a diverged model goes on as NaN, to be found by whoever watches the loss
        return Renewal(np.full((r, r), np.nan), q, d, np.array(rho), inverse, False)
    size = max(1.0, np.trace(z))
    c, u = np.linalg.eigh((z + z.T) / (2 * size))
    c, u = c[::-1] * size, u[:, ::-1]
    floor = (rho * stay) ** 2
    suspect = bool(c[0] > CONDITION * c[-1] or c[-1] < floor)
    s = np.sqrt(np.maximum(c, floor))
    rho = (w * total + stay * (dim * rho + d.sum()) - s.sum()) / (dim - r)
    d = s - rho
    least = max(EPSILON, DELTA * s[0])
    rho, d = max(rho, least), np.maximum(d, least)
    root_e = root_of_e(d, rho, alpha, dim)
    mix = w * (root_e / s)[:, None] * u.T * inverse
    return Renewal(mix, stay / w * q, d, np.array(rho), root_e, suspect)


def forgetting(n, history):
    """Return eta = min(0.9, 1 - exp(-N / history)), the weight of a new minibatch of N rows."""
    return min(0.9, -np.expm1(-n / history))


def root_of_e(d, rho, alpha, dim):
    """Return sqrt(e), e_i = 1 / (beta / d_i + 1) with beta = rho (1 + alpha) + alpha sum(d) / D."""
    beta = rho * (1 + alpha) + alpha * d.sum() / dim
    return 1 / np.sqrt(beta / d + 1)


def reorthonormalise(factor, root_e):
    """Return W with the rows of E^(-1/2) W made orthonormal again: by Cholesky, or by QR where that fails.

    Parameters
    ----------
    factor : (r, D) float64
        W.
    root_e : (r,) float64
        The diagonal of E^(1/2).
    """
    gram = factor @ factor.T / np.outer(root_e, root_e)
    if np.abs(gram - np.eye(len(gram))).max() <= NOT_ORTHONORMAL:
        return factor
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(gram))
        if inverse.max() < 100:
            return (root_e[:, None] * inverse / root_e) @ factor
    except np.linalg.LinAlgError:
        pass  # too few directions left: QR fills them up
    return root_e[:, None] * np.linalg.qr((factor / root_e[:, None]).T)[0].T
