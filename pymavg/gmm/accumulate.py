"""Statistics of one EM pass: what each Gaussian explains of the frames aligned to its pdf.

With γ_tk the posterior of Gaussian k of the pdf at frame t, the statistics are Σ γ_tk, Σ γ_tk x_t and Σ γ_tk x_t²
(Kaldi's gmm/mle-am-diag-gmm.cc). The frames are sorted by pdf, so each pdf costs two small matrix products.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.arrays import load_arrays, save_arrays

CHUNK = 8192  # frames of one pdf taken at once


@dataclass
class GmmStats:
    """Statistics for one update; the sum of two is what their data together would have given.

    Attributes
    ----------
    occupancy : float64 (G,)
        Σ γ
    first, second : float64 (G, D)
        Σ γ x and Σ γ x²
    transitions : float64 (num_tids + 1,)
        Frames of each transition-id.
    loglike, frames : float
        Sum over frames of log p(x | pdf), and their number.
    """

    occupancy: np.ndarray
    first: np.ndarray
    second: np.ndarray
    transitions: np.ndarray
    loglike: float = 0.0
    frames: float = 0.0

    @classmethod
    def zeros(cls, gmm, num_tids):
        """Return empty statistics for a model."""
        shape = (gmm.num_gauss, gmm.dim)
        return cls(np.zeros(shape[0]), np.zeros(shape), np.zeros(shape), np.zeros(num_tids + 1))

    def add(self, other, name):
        """Add other statistics, which messages call `name`."""
        other.check(self.first.shape, len(self.transitions), name)
        for field, value in vars(other).items():
            setattr(self, field, getattr(self, field) + value)

    def check(self, shape, num_transitions, name):
        """Raise PymavgError unless the statistics have G × D = `shape` and as many transition-ids (with entry 0)."""
        if self.first.shape != tuple(shape) or len(self.transitions) != num_transitions:
            raise PymavgError(
                f"{name}: statistics of {self.first.shape[0]} Gaussians × {self.first.shape[1]} and "
                f"{len(self.transitions) - 1} transition-ids, expected {shape[0]} × {shape[1]} and "
                f"{num_transitions - 1}; it belongs to another model: remove it and run the pass again"
            )

    def save(self, path):
        """Write to an .npz file."""
        save_arrays(path, **vars(self))


def load_stats(path):
    """Read what `GmmStats.save` wrote."""
    return GmmStats(*load_arrays(path, GmmStats.__dataclass_fields__, "statistics of a pass"))


def accumulate(stats, gmm, tid_pdf, feats, tids, rows=None, moments_of=None):
    """Add the frames of one or many utterances to `stats`.

    Parameters
    ----------
    stats : GmmStats
    gmm : AmDiagGmm
    tid_pdf : int32 (num_tids + 1,)
    feats : float32 (N, D)
    tids : int32 (T,)
        Transition-id of each frame.
    rows : int array (T,), optional
        The frames' rows in `feats`; by default all of them in order.
    moments_of : float32 (N, D), optional
        Other features of the same frames, whose sums are taken instead, while `feats` decides on the posteriors
        (Kaldi's gmm-acc-stats-twofeats).
    """
    stats.transitions += np.bincount(tids, minlength=len(stats.transitions))
    stats.frames += len(tids)
    for p, frames in frames_by_pdf(tid_pdf[tids], gmm.num_pdfs):
        of_pdf = slice(gmm.offset[p], gmm.offset[p + 1])
        frames = frames if rows is None else rows[frames]
        x = feats[frames].astype(np.float64)
        posterior, loglike = posteriors(gmm, of_pdf, x)
        x = x if moments_of is None else moments_of[frames].astype(np.float64)
        stats.occupancy[of_pdf] += posterior.sum(0)
        stats.first[of_pdf] += posterior.T @ x
        stats.second[of_pdf] += posterior.T @ (x * x)
        stats.loglike += float(loglike.sum())


def frames_by_pdf(pdf, num_pdfs):
    """Yield (pdf, positions in `pdf` that hold it), at most CHUNK positions at once."""
    order = np.argsort(pdf, kind="stable")
    bounds = np.searchsorted(pdf[order], np.arange(num_pdfs + 1))
    for p in np.flatnonzero(np.diff(bounds)):
        for first in range(bounds[p], bounds[p + 1], CHUNK):
            yield p, order[first : min(first + CHUNK, bounds[p + 1])]


def posteriors(gmm, of_pdf, x):
    """Return (γ (T, K), log p(x | pdf) (T,)) of the Gaussians `of_pdf`, a slice of K, for frames x, float64 (T, D)."""
    likes = x @ gmm.means_invvars[of_pdf].T - 0.5 * (x * x) @ gmm.inv_vars[of_pdf].T + gmm.gconsts[of_pdf]
    largest = likes.max(1, keepdims=True)
    posterior = np.exp(likes - largest)
    total = posterior.sum(1, keepdims=True)
    posterior /= total
    return posterior, (largest + np.log(total))[:, 0]
