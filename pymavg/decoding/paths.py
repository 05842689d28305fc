"""Paths through lattices: best path, n best, forward and backward scores, pruning, posteriors, oracle.

Sources: Kaldi's lat/lattice-functions.cc and fstext (shortest path); all costs are in nats.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit

INF = np.inf


class Path(NamedTuple):
    """One path through a lattice."""

    arcs: np.ndarray  # arc numbers in order
    words: np.ndarray  # int32, without epsilons
    tids: np.ndarray  # int32 (T,) alignment
    graph_cost: float  # unscaled
    acoustic_cost: float  # unscaled


@njit(cache=True)
def _best_backward(source, target, cost, num_states):
    """Return (cost of the best way from each state to the end, the arc it begins with)."""
    best, arc = np.full(num_states, np.inf), np.full(num_states, -1, np.int64)
    best[num_states - 1] = 0.0
    for a in range(source.size - 1, -1, -1):
        total = cost[a] + best[target[a]]
        if total < best[source[a]]:
            best[source[a]], arc[source[a]] = total, a
    return best, arc


@njit(cache=True)
def _best_forward(source, target, cost, num_states):
    best = np.full(num_states, np.inf)
    best[0] = 0.0
    for a in range(source.size):
        best[target[a]] = min(best[target[a]], best[source[a]] + cost[a])
    return best


@njit(cache=True)
def _log_add(x, y):
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@njit(cache=True)
def _log_forward(source, target, cost, num_states):
    alpha = np.full(num_states, -np.inf)
    alpha[0] = 0.0
    for a in range(source.size):
        alpha[target[a]] = _log_add(alpha[target[a]], alpha[source[a]] - cost[a])
    return alpha


@njit(cache=True)
def _log_backward(source, target, cost, num_states):
    beta = np.full(num_states, -np.inf)
    beta[num_states - 1] = 0.0
    for a in range(source.size - 1, -1, -1):
        beta[source[a]] = _log_add(beta[source[a]], beta[target[a]] - cost[a])
    return beta


def path_of(lattice, arcs):
    """Return the Path along these arc numbers."""
    arcs = np.asarray(arcs, np.int64)
    words = lattice.word[arcs]
    pieces = [lattice.tids[lattice.offset[a] : lattice.offset[a + 1]] for a in arcs]
    tids = np.concatenate([np.zeros(0, np.int32), *pieces])
    costs = float(lattice.graph_cost[arcs].sum()), float(lattice.acoustic_cost[arcs].sum())
    return Path(arcs, words[words > 0], tids, *costs)


def best_path(lattice, cost):
    """Return the Path of the lowest summed `cost` (A,), such as lattice.costs(acoustic_scale=0.1)."""
    _, arc = _best_backward(lattice.source, lattice.target, cost, lattice.num_states)
    arcs, state = [], 0
    while state != lattice.num_states - 1:
        arcs.append(arc[state])
        state = lattice.target[arcs[-1]]
    return path_of(lattice, arcs)


@njit(cache=True)
def _best_paths(source, target, word, graph_cost, acoustic_cost, num_states, scales, penalties):
    found, ends = np.empty(num_states * scales.size, np.int64), np.zeros(scales.size + 1, np.int64)
    n = 0
    for k in range(scales.size):
        cost = graph_cost + scales[k] * acoustic_cost + penalties[k] * (word > 0)
        _, arc = _best_backward(source, target, cost, num_states)
        state = 0
        while state != num_states - 1:
            found[n] = arc[state]
            state = target[arc[state]]
            n += 1
        ends[k + 1] = n
    return found[:n], ends


def best_paths(lattice, acoustic_scales, penalties):
    """Return the arc numbers of the best path for each pair of acoustic scale and word insertion penalty."""
    scales, penalties = np.asarray(acoustic_scales, float), np.asarray(penalties, float)
    costs = lattice.graph_cost, lattice.acoustic_cost
    found, ends = _best_paths(
        lattice.source, lattice.target, lattice.word, *costs, lattice.num_states, scales, penalties
    )
    return np.split(found, ends[1:-1])


def n_best(lattice, cost, n):
    """Return the n Paths of lowest `cost`, best first; fewer when the lattice holds fewer.

    A* search with the exact rest cost. In a determinised lattice the paths have different words.
    """
    rest, _ = _best_backward(lattice.source, lattice.target, cost, lattice.num_states)
    first = np.searchsorted(lattice.source, np.arange(lattice.num_states + 1))
    heap, paths, serial = [(rest[0], 0, 0, 0.0, None)], [], 0
    while heap and len(paths) < n:
        _, _, state, so_far, trail = heapq.heappop(heap)
        if state == lattice.num_states - 1:
            arcs = []
            while trail is not None:
                arcs.append(trail[0])
                trail = trail[1]
            paths.append(path_of(lattice, arcs[::-1]))
            continue
        for a in range(first[state], first[state + 1]):
            serial += 1  # settles ties by age
            total = so_far + cost[a]
            entry = (total + rest[lattice.target[a]], serial, int(lattice.target[a]), total, (a, trail))
            heapq.heappush(heap, entry)
    return paths


def prune(lattice, cost, beam):
    """Return the lattice without the arcs on no path within `beam` of the best one (lattice-prune)."""
    arrays = lattice.source, lattice.target, cost, lattice.num_states
    forward, backward = _best_forward(*arrays), _best_backward(*arrays)[0]
    through = forward[lattice.source] + cost + backward[lattice.target]
    return lattice.select(through <= forward[-1] + beam)


def posteriors(lattice, cost):
    """Return (posterior probability of each arc (A,), total log-likelihood) by forward and backward sums."""
    arrays = lattice.source, lattice.target, cost, lattice.num_states
    alpha, beta = _log_forward(*arrays), _log_backward(*arrays)
    return np.exp(alpha[lattice.source] - cost + beta[lattice.target] - alpha[-1]), float(alpha[-1])


def depth(lattice):
    """Return the average number of arcs that cross a frame (lattice-depth)."""
    return int(lattice.offset[-1]) / max(1, lattice.num_frames)


@njit(cache=True)
def _oracle(source, target, word, cost, reference, num_states):
    """Return (fewest errors, lowest cost with these) of the ways from each state and place in the reference (S, Q+1).

    The third array tells the first step of such a way: 2 * arc, + 1 if it uses up a word of the reference; -1: that a
    word of the reference is left out.
    """
    shape = num_states, reference.size + 1
    errors, costs = np.full(shape, np.int32(2**30)), np.full(shape, np.inf)
    step = np.full(shape, -1)
    errors[num_states - 1] = reference.size - np.arange(reference.size + 1)
    costs[num_states - 1] = 0.0
    for a in range(source.size - 1, -1, -1):
        s, t = source[a], target[a]
        for q in range(reference.size, -1, -1):
            for advance in range(1 + (word[a] > 0 and q < reference.size)):
                wrong = word[a] != reference[q] if advance else word[a] > 0
                here, price = errors[t, q + advance] + wrong, costs[t, q + advance] + cost[a]
                if here < errors[s, q] or (here == errors[s, q] and price < costs[s, q]):
                    errors[s, q], costs[s, q], step[s, q] = here, price, 2 * a + advance
        if a == 0 or source[a - 1] != s:  # all arcs of the state are done: what leaving out words gives
            for q in range(reference.size - 1, -1, -1):
                here, price = errors[s, q + 1] + 1, costs[s, q + 1]
                if here < errors[s, q] or (here == errors[s, q] and price < costs[s, q]):
                    errors[s, q], costs[s, q], step[s, q] = here, price, -1
    return errors, costs, step


def oracle(lattice, reference, cost):
    """Return (fewest word errors of any path against `reference` (word ids), the Path of lowest `cost` with these)."""
    reference = np.asarray(reference, np.int32)
    arrays = lattice.source, lattice.target, lattice.word, cost, reference, lattice.num_states
    errors, _, steps = _oracle(*arrays)
    state, q, arcs = 0, 0, []
    while state != lattice.num_states - 1:
        step = steps[state, q]
        if step < 0:
            q += 1
            continue
        arcs.append(step >> 1)
        state, q = int(lattice.target[step >> 1]), q + (step & 1)
    return int(errors[0, 0]), path_of(lattice, arcs)
