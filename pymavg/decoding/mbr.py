"""Minimum Bayes risk decoding: the words of least expected edit distance, with confidences and times.

Source: Xu, Povey, Mangu and Zhu, "Minimum Bayes Risk decoding and system combination based on a recursion for edit
distance", Computer Speech and Language 25 (2011), with Kaldi's lat/sausages.cc for what it leaves open. Line numbers
in comments are those of the paper's Figure 4.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from pymavg.decoding.paths import _log_forward, best_path

DELTA = 1e-5  # extra cost of leaving a word of the lattice out: settles ties
MAX_ROUNDS = 100


@dataclass
class Sausage:
    """Result of MBR decoding; bins alternate between silence (word 0 the likeliest) and words.

    Attributes
    ----------
    words : list of int
        The hypothesis, without epsilons.
    times : list of (float, float)
        Start and end of each word in frames.
    confidences : list of float
        Posterior probability of each word in its place.
    risk : float
        Expected number of word errors.
    bins : list of list of (int, float)
        Word and posterior in each place, the likeliest first.
    bin_times : list of (float, float)
    """

    words: list
    times: list
    confidences: list
    risk: float
    bins: list
    bin_times: list


@njit(cache=True)
def _loss(a, b, insertion):
    return 0.0 if a == b else 1.0 + DELTA * insertion


@njit(cache=True)
def _arc_distances(before, word, hypothesis, here, way):
    """Fill here[q], the distance after an arc, and way[q]: 1 both advance, 2 the lattice alone, 3 the words."""
    here[0] = before[0] + _loss(word, 0, 1)
    for q in range(1, hypothesis.size + 1):
        both = before[q - 1] + _loss(word, hypothesis[q - 1], 0)
        lattice = before[q] + _loss(word, 0, 1)
        words = here[q - 1] + _loss(0, hypothesis[q - 1], 0)
        if both <= lattice:
            way[q] = 1 if both <= words else 3
        else:
            way[q] = 2 if lattice <= words else 3
        here[q] = min(both, lattice, words)


@njit(cache=True)
def _statistics(source, target, word, share, times, num_states, num_words, hypothesis):
    """Return (risk, gamma, begin, end): posterior and posterior-weighted times of each word at each place (Q+1, V).

    `word` are numbers below num_words, 0 for none; share[a] is the arc's part of its target's forward probability.
    """
    q_end = hypothesis.size
    distance = np.zeros((num_states, q_end + 1))
    here, way = np.empty(q_end + 1), np.zeros(q_end + 1, np.int64)
    for q in range(1, q_end + 1):
        distance[0, q] = distance[0, q - 1] + _loss(0, hypothesis[q - 1], 0)
    for a in range(source.size):
        _arc_distances(distance[source[a]], word[a], hypothesis, here, way)
        for q in range(q_end + 1):
            distance[target[a], q] += share[a] * here[q]  # line 19
    gamma, begin = np.zeros((q_end + 1, num_words)), np.zeros((q_end + 1, num_words))
    end, beta = np.zeros((q_end + 1, num_words)), np.zeros((num_states, q_end + 1))
    beta[num_states - 1, q_end] = 1.0
    arc_beta = np.empty(q_end + 1)
    for a in range(source.size - 1, -1, -1):
        s, t = source[a], target[a]
        _arc_distances(distance[s], word[a], hypothesis, here, way)
        arc_beta[:] = 0
        for q in range(q_end, -1, -1):
            arc_beta[q] += share[a] * beta[t, q]  # line 21
            if q == 0 or way[q] == 2:
                beta[s, q] += arc_beta[q]
                continue
            w = word[a] if way[q] == 1 else 0
            if way[q] == 1:
                beta[s, q - 1] += arc_beta[q]
            else:
                arc_beta[q - 1] += arc_beta[q]
            gamma[q, w] += arc_beta[q]
            begin[q, w] += arc_beta[q] * times[s if way[q] == 1 else t]
            end[q, w] += arc_beta[q] * times[t]
    arc_beta[:] = 0
    for q in range(q_end, 0, -1):  # words before the first arc: at time 0
        arc_beta[q] += beta[0, q]
        arc_beta[q - 1] += arc_beta[q]
        gamma[q, 0] += arc_beta[q]
    return distance[num_states - 1, q_end], gamma[1:], begin[1:], end[1:]


def _with_gaps(words):
    """Return the hypothesis with a place for silence before, between and after its words."""
    gaps = np.zeros(2 * len(words) + 1, np.int64)
    gaps[1::2] = words
    return gaps


def mbr_decode(lattice, cost, choose=True):
    """Decode a determinised lattice.

    Parameters
    ----------
    lattice : Lattice
    cost : ndarray (A,)
        Such as lattice.costs(acoustic_scale=0.1).
    choose : bool
        False keeps the words of the best path and gives only their confidences.

    Returns
    -------
    Sausage
    """
    known, word = np.unique(np.append(lattice.word, 0), return_inverse=True)
    word = word[:-1]
    arrays = lattice.source, lattice.target, cost, lattice.num_states
    alpha = _log_forward(*arrays)
    share = np.exp(alpha[lattice.source] - cost - alpha[lattice.target])
    words = np.searchsorted(known, best_path(lattice, cost).words)
    for _ in range(MAX_ROUNDS):
        hypothesis = _with_gaps(words)
        numbers = lattice.source, lattice.target, word, share, lattice.times, lattice.num_states, len(known)
        risk, gamma, begin, end = _statistics(*numbers, hypothesis)
        if not choose:
            break
        places = np.arange(len(hypothesis))
        better = gamma.argmax(axis=1)
        better = np.where(gamma[places, hypothesis] >= gamma[places, better], hypothesis, better)
        words = better[better > 0]
        if np.array_equal(better, hypothesis):
            break
    return _sausage(known, hypothesis, risk, gamma, begin, end)


def _sausage(known, hypothesis, risk, gamma, begin, end):
    times, confidences, bins = [], [], []
    occupied = np.maximum(gamma, np.finfo(float).tiny)
    for q, w in enumerate(hypothesis):
        order = sorted(np.flatnonzero(gamma[q]), key=lambda v: (-gamma[q, v], v))
        bins.append([(int(known[v]), float(gamma[q, v])) for v in order])
        if w:
            times.append((float(begin[q, w] / occupied[q, w]), float(end[q, w] / occupied[q, w])))
            confidences.append(float(gamma[q, w]))
            _separate(times)
    spans = list(zip(begin.sum(axis=1).tolist(), end.sum(axis=1).tolist(), strict=True))
    words = [int(known[w]) for w in hypothesis if w]
    return Sausage(words, times, confidences, float(risk), bins, _abutting(spans))


def _separate(times):
    """Where the last word begins before the one before it ends, share their time in proportion to their lengths."""
    if len(times) < 2 or times[-2][1] <= times[-1][0]:
        return
    (b1, e1), (b2, e2) = times[-2:]
    floor = times[-3][1] if len(times) > 2 else 0.0
    left, right = max(floor, min(b1, b2)), max(e1, e2)
    middle = left + (right - left) * (e1 - b1) / (e1 - b1 + e2 - b2) if e1 > b1 else left
    times[-2:] = [(left, middle), (middle, right)]


def _abutting(spans):
    """Return the bins' times with overlaps divided in the middle."""
    spans = [list(span) for span in spans]
    for before, here in zip([None, *spans], spans, strict=False):
        if here[0] > here[1]:
            here[0] = here[1] = 0.5 * sum(here)
        if before and before[1] > here[0]:
            before[1] = here[0] = 0.5 * (before[1] + here[0])
    return [tuple(span) for span in spans]
