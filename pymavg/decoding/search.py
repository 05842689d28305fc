"""The inner loops of the decoder: beam search over a graph, keeping every link within the lattice beam.

The rules are those of Kaldi's LatticeFasterDecoder (decoder/lattice-faster-decoder.cc): histogram pruning by beam,
max-active and min-active; tokens joined by links; a link stays while its best complete path is within the lattice beam
of the best one. The layout differs: a frame's tokens are flat arrays, one for each graph state reached, and the history
holds links only. A link keeps its slack, the cost by which the way through it is worse than the best way into the same
token. Slack is final as soon as its frame is, so most links are dropped at once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pymavg.decoding.links import Links, grown, prune, settle


class Graph(NamedTuple):
    """A decoding graph as arrays: arcs sorted by state, in each state those with a transition-id first."""

    first: np.ndarray  # (S+1,) int64: arcs of state s are first[s] .. first[s+1]
    middle: np.ndarray  # (S,) int64: arcs from here on are epsilon arcs
    target: np.ndarray  # (A,) int32
    weight: np.ndarray  # (A,) float32 graph costs
    pdf: np.ndarray  # (A,) int32, column of the log-likelihood matrix
    final: np.ndarray  # (S,) float32, inf where not final


class Pruning(NamedTuple):
    """The numbers that bound the search, in Kaldi's meaning."""

    beam: float
    lattice_beam: float
    max_active: int
    min_active: int
    beam_delta: float
    prune_interval: int


@njit(cache=True)
def _smallest(values, k):
    """Return the value that has `k` before it when sorted: Hoare's selection (np.partition takes 10 s to compile)."""
    values = values.copy()
    low, high = 0, values.size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@njit(cache=True)
def _cutoff(cost, pruning):
    """Return (cost limit of the tokens to go on from, beam for the next frame)."""
    best = cost.min()
    by_beam = best + pruning.beam
    if cost.size > pruning.max_active:
        by_count = _smallest(cost, pruning.max_active)
        if by_count < by_beam:
            return by_count, by_count - best + pruning.beam_delta
    by_count = np.inf  # fewer than min-active tokens: all go on
    if cost.size > pruning.min_active:
        by_count = _smallest(cost, pruning.min_active) if pruning.min_active > 0 else best
    if by_count > by_beam:
        return by_count, by_count - best + pruning.beam_delta
    return by_beam, pruning.beam


@njit(cache=True)
def _count_arcs(start, stop, state, cost, limit):
    """Return how many arcs lie in start[s]..stop[s] over the tokens within `limit`."""
    total = 0
    for i in range(state.size):
        if cost[i] <= limit:
            total += stop[state[i]] - start[state[i]]
    return total


@njit(cache=True)
def _emit(graph, frame, scale, state, cost, cutoff, beam, new_state, new_cost, slot, links, used):
    """Extend tokens over one frame; return (number of new tokens, links used, cost limit of the new tokens).

    Links get token numbers within their frames; their slack field holds the cost of the way through them for now.
    """
    limit = np.inf
    best = np.argmin(cost)
    for a in range(graph.first[state[best]], graph.middle[state[best]]):
        limit = min(limit, cost[best] + graph.weight[a] - scale * frame[graph.pdf[a]] + beam)
    n = 0
    for i in range(state.size):
        if cost[i] > cutoff:
            continue
        for a in range(graph.first[state[i]], graph.middle[state[i]]):
            total = cost[i] + graph.weight[a] - scale * frame[graph.pdf[a]]
            if total >= limit:
                continue
            limit = min(limit, total + beam)
            s = graph.target[a]
            j = slot[s]
            if j < 0:
                j = slot[s] = n
                new_state[n], new_cost[n] = s, total
                n += 1
            elif total < new_cost[j]:
                new_cost[j] = total
            links.source[used], links.target[used], links.arc[used], links.slack[used] = i, j, a, total
            used += 1
    return n, used, limit


@njit(cache=True)
def _close(graph, state, cost, n, limit, slot, stack, waiting):
    """Follow epsilon arcs until no token within `limit` gets cheaper; return the number of tokens."""
    depth = 0
    for i in range(n):
        if graph.first[state[i] + 1] > graph.middle[state[i]]:
            stack[depth] = i
            waiting[i] = True
            depth += 1
    while depth > 0:
        depth -= 1
        i = stack[depth]
        waiting[i] = False
        if cost[i] >= limit:
            continue
        for a in range(graph.middle[state[i]], graph.first[state[i] + 1]):
            total = cost[i] + graph.weight[a]
            s = graph.target[a]
            j = slot[s]
            if total >= limit or (j >= 0 and total >= cost[j]):
                continue
            if j < 0:
                j = slot[s] = n
                state[n] = s
                waiting[n] = False
                n += 1
            cost[j] = total
            if graph.first[s + 1] > graph.middle[s] and not waiting[j]:
                stack[depth] = j
                waiting[j] = True
                depth += 1
    return n


@njit(cache=True)
def _link_epsilons(graph, state, cost, limit, slot, links, used):
    """Write the links over epsilon arcs of one closed frame; return the number of links used."""
    for i in range(state.size):
        if cost[i] >= limit:
            continue
        for a in range(graph.middle[state[i]], graph.first[state[i] + 1]):
            total = cost[i] + graph.weight[a]
            if total < limit:
                links.source[used], links.target[used] = i, slot[graph.target[a]]
                links.arc[used], links.slack[used] = a, total
                used += 1
    return used


@njit(cache=True)
def _final_costs(graph, state):
    """Return (final cost of each token, True), or (zeros, False) where none is in a final state."""
    final = np.empty(state.size, np.float64)
    for j in range(state.size):
        final[j] = graph.final[state[j]]
    reached = final.size > 0 and final.min() < np.inf
    return (final if reached else np.zeros(state.size)), reached


@njit(cache=True)
def _extra(num_tokens, last_ones, beam):
    """Return the extra costs to begin pruning with: those of the last frame's tokens relative to the best of them."""
    extra = np.full(num_tokens, np.inf)
    if last_ones.size > 0:
        best = last_ones.min()
        for j in range(last_ones.size):
            if last_ones[j] - best <= beam:
                extra[num_tokens - last_ones.size + j] = last_ones[j] - best
    return extra


@njit(cache=True)
def search(graph, start, loglikes, scale, pruning):
    """Decode one utterance.

    Parameters
    ----------
    graph : Graph
        With `start` as its start state.
    start : int
        State number.
    loglikes : ndarray (T, P) float32
        Acoustic log-likelihoods.
    scale : float
        Multiplies them.
    pruning : Pruning
        Bounds of the search.

    Returns
    -------
    links : Links
        Those within the lattice beam.
    tokens : ndarray (T+2,) int64
        Tokens of frame f are tokens[f] .. tokens[f+1]; frame 0 is before the first feature vector, token 0 the start.
    ends : ndarray (T+2,) int64
        Links into frame f are ends[f] .. ends[f+1].
    final : ndarray float64
        Final cost of each token of the last frame, inf where it is not final; all 0 if no final state was reached.
    reached_final : bool
    """
    num_frames, num_states, lattice_beam = loglikes.shape[0], graph.final.size, pruning.lattice_beam
    slot = np.full(num_states, -1, np.int32)
    state, new_state = np.empty(num_states, np.int32), np.empty(num_states, np.int32)
    cost, new_cost = np.empty(num_states, np.float64), np.empty(num_states, np.float64)
    stack, waiting = np.empty(num_states, np.int32), np.zeros(num_states, np.bool_)
    tokens, emitting = np.zeros(num_frames + 2, np.int64), np.zeros(num_frames + 2, np.int64)
    ends = np.zeros(num_frames + 2, np.int64)
    links = Links(np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024))
    n, used, limit = np.int64(1), np.int64(0), pruning.beam
    new_state[0], new_cost[0], slot[start] = start, 0.0, 0
    for f in range(num_frames + 1):
        if f > 0:  # frame 0 has the start token only
            cutoff, beam = _cutoff(cost[:n], pruning)
            links = grown(links, used, _count_arcs(graph.first, graph.middle, state[:n], cost[:n], cutoff))
            n, used, limit = _emit(
                graph, loglikes[f - 1], scale, state[:n], cost[:n], cutoff, beam, new_state, new_cost, slot, links, used
            )
        middle = used
        n = _close(graph, new_state, new_cost, n, limit, slot, stack, waiting)
        links = grown(links, used, _count_arcs(graph.middle, graph.first[1:], new_state[:n], new_cost[:n], limit))
        used = _link_epsilons(graph, new_state[:n], new_cost[:n], limit, slot, links, used)
        source_base = tokens[f - 1] if f > 0 else 0
        emitting[f + 1] = settle(links, ends[f], middle, ends[f], new_cost, lattice_beam, source_base, tokens[f])
        used = settle(links, middle, used, emitting[f + 1], new_cost, lattice_beam, tokens[f], tokens[f])
        tokens[f + 1], ends[f + 1] = tokens[f] + n, used
        for j in range(n):
            slot[new_state[j]] = -1
        state, new_state, cost, new_cost = new_state, state, new_cost, cost
        if n == 0:
            break
        if f % pruning.prune_interval == 0 and 0 < f < num_frames:
            extra = _extra(tokens[f + 1], np.zeros(n), np.inf)
            prune(links, tokens, emitting, ends, f, extra, lattice_beam)
            used = ends[f + 1]
    final, reached = _final_costs(graph, state[:n])
    extra = _extra(tokens[num_frames + 1], cost[:n] + final, lattice_beam)
    if n > 0:
        prune(links, tokens, emitting, ends, num_frames, extra, lattice_beam)
        final = final[extra[extra.size - n :] < np.inf]
    return links, tokens, ends, final, reached
