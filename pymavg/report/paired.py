"""Differences between trainings, paired over seeds and utterances, with a bootstrap interval.

A contrast is Σ_k s_k · rate_k, s_k = ±1 and rate_k the errors in percent of a training: a loss by averaging is
(16 workers) − (1 worker), a difference of two losses has four terms. Utterances and seeds are drawn with replacement,
the same ones for all terms (Bisani and Ney 2004, bootstrap of differences on the same test set).
"""

import functools
from typing import NamedTuple

import numpy as np

DRAWS = 4000
LEVEL = 95  # percent


class Estimate(NamedTuple):
    """A difference in percent points: its value, the bounds of its 95 % interval, the number of seeds."""

    mean: float
    low: float
    high: float
    seeds: int

    def __str__(self):
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def contrast(terms, draws=DRAWS, seed=0):
    """Return the Estimate of a contrast, or None where its terms have no seed in common.

    Parameters
    ----------
    terms : list of (sign, dict seed -> dict utterance -> (errors, total))
        The totals (frames, words) of an utterance are the same in all.
    """
    seeds = sorted(set.intersection(*(set(term) for _, term in terms)))
    if not seeds:
        return None
    first = terms[0][1][seeds[0]]
    utterances = sorted(first)
    totals = np.array([first[u][1] for u in utterances], dtype=np.float64)
    errors = np.zeros((len(seeds), len(utterances)))
    for sign, term in terms:
        errors += sign * np.array([[term[s][u][0] for u in utterances] for s in seeds])
    drawn, chosen = _drawn(len(utterances), len(seeds), draws, seed)
    rates = 100 * (drawn @ errors.T) / (drawn @ totals)[:, np.newaxis]
    means = np.take_along_axis(rates, chosen, axis=1).mean(axis=1)
    low, high = np.percentile(means, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Estimate(100 * errors.mean(axis=0).sum() / totals.sum(), low, high, len(seeds))


@functools.lru_cache(maxsize=4)
def _drawn(utterances, seeds, draws, seed):
    """Return how often each utterance is drawn (draws, utterances), and which seeds (draws, seeds).

    Kept, as it takes most of the time, and the systems of a report are scored on the same few sets.
    """
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(utterances, np.full(utterances, 1 / utterances), size=draws).astype(np.float64)
    return counts, rng.integers(seeds, size=(draws, seeds))
