"""Linear discriminant analysis: the projection that tells classes of frames apart best.

Within-class covariance becomes the identity, and the directions are those of the largest between-class variance
(Haeb-Umbach and Ney, ICASSP 1992; Kaldi's transform/lda-estimate.cc).
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.arrays import load_arrays, save_arrays

BLOCK = 1 << 15  # frames multiplied at once


@dataclass
class LdaStats:
    """Statistics of P classes in D dimensions.

    Attributes
    ----------
    count : float64 (P,)
        Frames of each class.
    first : float64 (P, D)
        Σ x of each class.
    second : float64 (D, D)
        Σ x xᵀ of all frames.
    """

    count: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def zeros(cls, num_classes, dim):
        """Return empty statistics."""
        return cls(np.zeros(num_classes), np.zeros((num_classes, dim)), np.zeros((dim, dim)))

    def accumulate(self, feats, classes):
        """Add frames x, the rows of `feats` (T, D), with the number of their class (T,)."""
        for first in range(0, len(feats), BLOCK):
            x, c = feats[first : first + BLOCK].astype(np.float64), classes[first : first + BLOCK]
            order = np.argsort(c, kind="stable")
            present, starts = np.unique(c[order], return_index=True)
            self.count += np.bincount(c, minlength=len(self.count))
            self.first[present] += np.add.reduceat(x[order], starts, axis=0)
            self.second += x.T @ x

    def add(self, other, name):
        """Add other statistics, which messages call `name`."""
        if other.first.shape != self.first.shape:
            raise PymavgError(
                f"{name}: statistics of {other.first.shape[0]} classes in {other.first.shape[1]} dimensions, expected "
                f"{self.first.shape[0]} in {self.first.shape[1]}; remove it and accumulate again"
            )
        for field, value in vars(other).items():
            setattr(self, field, getattr(self, field) + value)

    def save(self, path):
        """Write to an .npz file."""
        save_arrays(path, **vars(self))


def load_lda_stats(path):
    """Read what `LdaStats.save` wrote."""
    return LdaStats(*load_arrays(path, LdaStats.__dataclass_fields__, "LDA statistics"))


def estimate_lda(stats):
    """Return the whole transform, best direction first.

    With the total covariance T, the between-class covariance B and within = T − B = L Lᵀ, the rows are Uᵀ L⁻¹, U the
    eigenvectors of L⁻¹ B L⁻ᵀ. Classes without frames play no part.

    Parameters
    ----------
    stats : LdaStats

    Returns
    -------
    (float64 (D, D), float64 (D,))
        The transform, whose first K rows are the LDA to K dimensions; between-class variance along each row.

    Raises
    ------
    PymavgError
        When there are too few frames for a covariance, or a dimension is constant.
    """
    frames, dim = stats.count.sum(), len(stats.second)
    if frames <= dim:
        raise PymavgError(f"LDA in {dim} dimensions has {frames:.0f} frames; more speech outside silence is needed")
    mean = stats.first.sum(0) / frames
    total = stats.second / frames - np.outer(mean, mean)
    seen = stats.count > 0
    scaled = stats.first[seen] / np.sqrt(stats.count[seen] * frames)[:, None]
    between = scaled.T @ scaled - np.outer(mean, mean)
    try:
        root = np.linalg.cholesky(total - between)
    except np.linalg.LinAlgError:
        raise PymavgError(
            f"LDA: the within-class covariance of {frames:.0f} frames in {dim} dimensions is singular; are feature "
            "dimensions constant, or equal to each other?"
        ) from None
    whiten = np.linalg.inv(root)
    variance, directions = np.linalg.eigh(whiten @ between @ whiten.T)
    return directions[:, ::-1].T @ whiten, variance[::-1]
