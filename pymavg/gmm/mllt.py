"""MLLT: the square transform of the features under which diagonal covariances fit best.

Gales, "Semi-tied covariance matrices for hidden Markov models", IEEE Trans. SAP 1999; Kaldi's transform/mllt.cc.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.arrays import load_arrays, save_arrays
from pymavg.gmm.second_order import explain, unpack, weighted_squares
from pymavg.kaldi.gmm import AmDiagGmm

SWEEPS = 200
FRAMES = 1 << 15  # taken at once
GAUSSIANS = 1 << 12


@dataclass
class MlltStats:
    """Statistics in D dimensions.

    Attributes
    ----------
    frames : float
        β, the sum of all posteriors.
    second : float64 (D, D, D)
        G_i = Σ_tk γ_tk / σ²_ki (x_t − μ_k)(x_t − μ_k)ᵀ.
    """

    frames: float
    second: np.ndarray

    def add(self, other, name):
        """Add other statistics, which messages call `name`."""
        if other.second.shape != self.second.shape:
            raise PymavgError(f"{name}: MLLT statistics of another dimension; remove it and accumulate again")
        self.frames, self.second = self.frames + other.frames, self.second + other.second

    def save(self, path):
        """Write to an .npz file."""
        save_arrays(path, **vars(self))


def load_mllt_stats(path):
    """Read what `MlltStats.save` wrote."""
    return MlltStats(*load_arrays(path, MlltStats.__dataclass_fields__, "MLLT statistics"))


def accumulate_mllt(gmm, feats, rows, pdf, weight):
    """Return the MlltStats of frames: row in `feats` (N, D), pdf and weight of each, (T,).

    Multiplied out, the sum over frames does not hold the means: Σ_t b_ti x_t x_tᵀ minus, for each Gaussian,
    (m μᵀ + μ mᵀ − n μ μᵀ) / σ²_i with n = Σ γ and m = Σ γ x.
    """
    occupancy, first = np.zeros(gmm.num_gauss), np.zeros((gmm.num_gauss, gmm.dim))
    second = np.zeros((gmm.dim, gmm.dim, gmm.dim))

    def add(of_pdf, gamma, x):
        occupancy[of_pdf] += gamma.sum(0)
        first[of_pdf] += gamma.T @ x

    for begin in range(0, len(rows), FRAMES):
        part = slice(begin, begin + FRAMES)
        x = np.asarray(feats[rows[part]])
        _, precision = explain(gmm, x, np.arange(len(x)), pdf[part], weight[part], on_pdf=add)
        second += weighted_squares(x, precision)
    low, high = np.tril_indices(gmm.dim)
    packed, means = np.zeros((gmm.dim, len(low))), gmm.means()
    for begin in range(0, gmm.num_gauss, GAUSSIANS):
        part = slice(begin, begin + GAUSSIANS)
        m, mu, n = first[part], means[part], occupancy[part, None]
        packed += gmm.inv_vars[part].T @ (m[:, low] * mu[:, high] + mu[:, low] * (m - n * mu)[:, high])
    return MlltStats(float(occupancy.sum()), second - unpack(packed, gmm.dim))


def estimate_mllt(stats):
    """Return (M (D, D), gain of log-likelihood per frame).

    Row by row, m_i = G_i⁻¹ c √(β / cᵀ G_i⁻¹ c), c the i-th column of M⁻¹ (Gales, equation 22).

    Raises
    ------
    PymavgError
        When there are too few frames.
    """
    beta, dim = stats.frames, len(stats.second)
    if beta <= dim or np.linalg.matrix_rank(stats.second).min() < dim:
        raise PymavgError(f"MLLT in {dim} dimensions has {beta:.0f} frames; more speech outside silence is needed")
    inverse = np.linalg.inv(stats.second)
    m = np.eye(dim)
    start = _objective(m, stats)
    for _ in range(SWEEPS):
        for i in range(dim):
            cofactors = np.linalg.inv(m)[:, i]
            m[i] = inverse[i] @ cofactors
            m[i] *= np.sqrt(beta / (m[i] @ cofactors))
    return m, (_objective(m, stats) - start) / beta


def _objective(m, stats):
    return stats.frames * np.linalg.slogdet(m)[1] - 0.5 * np.einsum("id,ide,ie->", m, stats.second, m)


def transform_means(gmm, matrix):
    """Return the model with means M μ and the variances as they are (Kaldi's gmm-transform-means)."""
    means = gmm.means() @ np.asarray(matrix, np.float64).T
    return AmDiagGmm.from_moments(gmm.offset, gmm.weights, means, gmm.variances())
