"""Merging of clusters that sound alike, the closest two first (ClusterBottomUp in Kaldi's tree/cluster-utils.cc)."""

import numpy as np

from pymavg.gmm.tree_stats import gaussian_loglike


class LeafMerger:
    """Merges the two closest of some clusters, again and again.

    Parameters
    ----------
    points : float64 (n, 1 + 2 D)
        Frames, Σ x and Σ x² of each.

    Attributes
    ----------
    alive : bool (n,)
        Which clusters are left.
    cheapest : float
        Loss of log-likelihood by the next merge; infinite when one cluster is left.
    """

    def __init__(self, points):
        self._points, self._loglike = points.copy(), gaussian_loglike(points)
        self.alive = np.ones(len(points), bool)
        self._member_of = np.arange(len(points))
        self._cost = np.full((len(points), len(points)), np.inf)  # below the diagonal
        for i in range(len(points)):
            self._update(i)
        self._find_cheapest()

    def merge(self):
        """Do the cheapest merge; the higher number remains."""
        kept, gone = self._pair
        self._points[kept] += self._points[gone]
        self._loglike[kept] = gaussian_loglike(self._points[kept])
        self._member_of[self._member_of == gone] = kept
        self.alive[gone] = False
        self._cost[gone], self._cost[:, gone] = np.inf, np.inf
        self._update(kept)
        self._find_cheapest()

    def groups(self):
        """Return the cluster of each point, numbered from 0."""
        return np.unique(self._member_of, return_inverse=True)[1].tolist()

    def _update(self, i):
        cost = self._loglike[i] + self._loglike - gaussian_loglike(self._points + self._points[i])
        cost[~self.alive] = np.inf
        self._cost[i, :i], self._cost[i + 1 :, i] = cost[:i], cost[i + 1 :]

    def _find_cheapest(self):
        self._pair = np.unravel_index(np.argmin(self._cost), self._cost.shape)
        self.cheapest = self._cost[self._pair]
