"""Phonetic questions found in the data: sets of phones that sound alike.

The phone sets are split in two by k-means, the halves again, and so on down to single sets; every cluster met on the
way is a question. Source: AutomaticallyObtainQuestions of Kaldi's tree/build-tree-questions.cc, TreeCluster and
ClusterKMeans of tree/cluster-utils.cc.

K-means starts from "random" partitions, and sets without frames stay where these put them. So that our questions equal
Kaldi's to the last phone, its random numbers (the C library's, never seeded) and its single precision are reproduced.
"""

import heapq
from math import gcd

import numpy as np
from numba import njit

from pymavg.gmm.c_random import c_random
from pymavg.gmm.tree_stats import VARIANCE_FLOOR
from pymavg.kaldi.gmm import LOG_2PI

TRIES = 10  # starting partitions of a cluster, of which the best result counts
ROUNDS, SWEEPS = 20, 100  # limits of one try; rounding errors can keep points moving


def find_questions(stats, phone_sets, central, pdf_class=1):
    """Cluster phone sets and return the clusters as questions.

    Parameters
    ----------
    stats : pymavg.gmm.tree_stats.TreeStats
    phone_sets : list of lists of int
        Phones that are never told apart (lang/phones/sets.int).
    central : int
        Position of the phone in the window.
    pdf_class : int
        The pdf class whose statistics are compared: the middle state.

    Returns
    -------
    list of sorted lists of int
        Larger clusters first, in Kaldi's order; the sets themselves are all among them.
    """
    rows = stats.keys[:, -1] == pdf_class
    phones, sums = stats.keys[rows, central], stats.sums[rows]
    points = np.stack([sums[np.isin(phones, members)].sum(0) for members in phone_sets])
    questions = {}  # its keys: sets in order, each once
    for cluster in cluster_tree(points) + [[i] for i in range(len(points))]:
        questions[tuple(sorted(phone for i in cluster for phone in phone_sets[i]))] = None
    return [list(question) for question in questions]


def cluster_tree(points):
    """Split points top-down in two, most profitable split first, as long as that gains likelihood.

    Parameters
    ----------
    points : float64 (n, 1 + 2 D)
        Frames, Σ x and Σ x² of each.

    Returns
    -------
    list of lists of int
        All clusters but the whole: those that were split, in the order of their splits, then the remaining ones.
    """
    leaves, split, queue = [list(range(len(points)))], [], []
    draws = c_random()

    def enter(number):
        if len(leaves[number]) > 1:
            gain, halves = _best_halves(points[leaves[number]], draws)
            if gain > 0:
                heapq.heappush(queue, (-gain, number, halves))

    enter(0)
    while queue:
        _, number, halves = heapq.heappop(queue)
        members = leaves[number]
        split.append(members)
        leaves[number] = [m for m, half in zip(members, halves, strict=True) if half == 0]
        leaves.append([m for m, half in zip(members, halves, strict=True) if half == 1])
        enter(number)
        enter(len(leaves) - 1)
    return split[1:] + leaves[::-1]


def _best_halves(points, draws):
    """Return (gain of log-likelihood, list of 0 and 1 by point) of the best split found in ten tries."""
    n = len(points)
    best = (np.float32(-np.inf), None)
    for _ in range(TRIES):
        halves = np.empty(n, np.int64)
        halves[np.arange(n) * _coprime_step(n, next(draws)) % n] = np.arange(n) % 2
        gain = _refine(points, halves)
        if gain > best[0]:
            best = (gain, halves.tolist())
    return best


def _coprime_step(n, draw):
    """Return a step from 1 to n - 1 that visits all of n points, chosen by a random number."""
    step = 1 + draw % (n - 1)
    while gcd(step, n) != 1:
        step = step % (n - 1) + 1
    return step


@njit(cache=True)
def _refine(points, halves):
    """Move single points to the other half while that helps; return the gain over one whole."""
    sums = np.zeros((2, points.shape[1]))
    for i in range(len(points)):
        sums[halves[i]] += points[i]
    loglike = np.array([_loglike(sums[0]), _loglike(sums[1])])
    gain = loglike[0] + loglike[1] - _loglike(sums[0] + sums[1])
    for _ in range(ROUNDS):
        loglike[0], loglike[1] = _loglike(sums[0]), _loglike(sums[1])
        gained = np.float32(0)
        for _ in range(SWEEPS):
            change = _sweep(points, halves, sums, loglike)
            gained += change
            if change == 0:
                break
        gain += gained
        if gained == 0:
            break
    return gain


@njit(cache=True)
def _sweep(points, halves, sums, loglike):
    """Try each point once; return the gain of all moves."""
    gained = np.float32(0)
    for i in range(len(points)):
        own, other = halves[i], 1 - halves[i]
        without, with_it = sums[own] - points[i], sums[other] + points[i]
        minus, plus = _loglike(without), _loglike(with_it)
        change = plus + minus - loglike[other] - loglike[own]
        if change > 0:
            sums[own], sums[other] = without, with_it
            loglike[own], loglike[other] = minus, plus
            halves[i] = other
            gained += change
    return gained


@njit(cache=True)
def _loglike(sums):
    """Return pymavg.gmm.tree_stats.gaussian_loglike of one row, in single precision."""
    n, dim = sums[0], (len(sums) - 1) // 2
    if n <= 0:
        return np.float32(0)
    total = LOG_2PI * dim
    for d in range(1, 1 + dim):
        mean = sums[d] / n
        v = sums[d + dim] / n - mean * mean
        floored = max(v, VARIANCE_FLOOR)
        total += np.log(floored) + v / floored
    return np.float32(-0.5 * n * total)
