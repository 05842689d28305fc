"""Forced alignment: the best path through the graph of an utterance.

A Viterbi search with a beam, token by token as Kaldi's decoder/faster-decoder.cc does it: at least 20 states stay alive
whatever the beam, and a search that does not reach a final state is run again with a wider one
(decoder/decoder-wrappers.cc, AlignUtteranceWrapper, without its `careful` mode).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from pymavg.errors import PymavgError

MIN_ACTIVE = 20
BEAM_DELTA = 0.5  # slack added where MIN_ACTIVE, not the beam, decides


class Alignment(NamedTuple):
    """An alignment of T frames.

    Attributes
    ----------
    tids : int32 (T,)
        Transition-ids.
    score : float
        Log-likelihood of the path: graph plus scaled acoustic part.
    retried : bool
        Whether the wider beam was needed.
    """

    tids: np.ndarray
    score: float
    retried: bool


def align(graph, loglikes, tid_pdf, acoustic_scale=0.1, beam=10.0, retry_beam=40.0):
    """Find the best path of T frames from the start of `graph` to a final state.

    Parameters
    ----------
    graph : pymavg.kaldi.fst.Fst
        Input labels are transition-ids, 0 consumes no frame; costs hold the scaled transition log-probabilities.
    loglikes : float32 (T, P)
        Acoustic log-likelihoods.
    tid_pdf : int32 (num_tids + 1,)
        Column of `loglikes` for each transition-id.
    acoustic_scale : float
        Factor of the log-likelihoods.
    beam, retry_beam : float
        Costs above the best one that a path may have; the second is used after a failure, if it is larger.

    Returns
    -------
    Alignment, or None when no path within the beams reaches the end.

    Raises
    ------
    PymavgError
        When graph and model do not belong together.
    """
    column = _columns(graph, loglikes.shape[1], tid_pdf)
    arcs = (graph.start, graph.offset, graph.ilabel, column, graph.weight, graph.target)
    for width in (beam, retry_beam) if retry_beam > beam else (beam,):
        tids, cost = _search(arcs, graph.final, graph.source, loglikes, np.float32(acoustic_scale), float(width))
        if np.isfinite(cost):
            return Alignment(tids, -cost, width != beam)
    return None


def _columns(graph, num_columns, tid_pdf):
    """Return the column of the log-likelihoods that each arc reads."""
    highest = int(graph.ilabel.max(initial=0))
    if highest >= len(tid_pdf):
        raise PymavgError(
            f"the graph has transition-id {highest}, the model {len(tid_pdf) - 1}; compile the graphs with this model"
        )
    column = tid_pdf[graph.ilabel].astype(np.int32)
    emitting = column[graph.ilabel > 0]
    if len(emitting) and not 0 <= emitting.min() <= emitting.max() < num_columns:
        raise PymavgError(
            f"the graph asks for pdf {emitting.max()}, there are log-likelihoods of {num_columns}; "
            "model and graph come from different trees"
        )
    return column


@njit(cache=True)
def _search(arcs, final, source, loglikes, scale, beam):
    """Return (transition-ids, cost); the cost is infinite when no final state was reached."""
    num_states, num_frames = len(final), len(loglikes)
    start = arcs[0]
    back = np.empty((num_frames + 1, num_states), np.int32)  # best arc into each state, by frames consumed
    cost, next_cost = np.full(num_states, np.inf), np.full(num_states, np.inf)
    active, next_active = np.empty(num_states, np.int32), np.empty(num_states, np.int32)
    cost[start], back[0, start], active[0] = 0.0, -1, start
    count = _follow_epsilons(arcs, cost, active, 1, np.inf, back[0])
    for frame in range(num_frames):
        if count == 0:
            break
        count, limit = _emit(
            arcs, cost, active, count, beam, scale, loglikes[frame], next_cost, next_active, back[frame + 1]
        )
        cost, next_cost = next_cost, cost
        active, next_active = next_active, active
        count = _follow_epsilons(arcs, cost, active, count, limit, back[frame + 1])
    return _best_path(arcs, cost, active[:count], final, source, back)


@njit(cache=True)
def _follow_epsilons(arcs, cost, active, count, limit, back):
    """Extend the active states over arcs without input, up to cost `limit`; return their new number."""
    _, offset, ilabel, _, weight, target = arcs
    num_states = len(cost)
    queue, queued = np.empty(num_states, np.int32), np.zeros(num_states, np.bool_)
    queue[:count] = active[:count]
    queued[active[:count]] = True
    head, waiting = 0, count
    while waiting:
        state = queue[head]
        head, waiting = (head + 1) % num_states, waiting - 1
        queued[state] = False
        if cost[state] > limit:
            continue
        for arc in range(offset[state], offset[state + 1]):
            new, to = cost[state] + weight[arc], target[arc]
            if ilabel[arc] or new > limit or new >= cost[to]:
                continue
            if cost[to] == np.inf:
                active[count] = to
                count += 1
            cost[to], back[to] = new, arc
            if not queued[to]:
                queue[(head + waiting) % num_states] = to
                queued[to], waiting = True, waiting + 1
    return count


@njit(cache=True)
def _emit(arcs, cost, active, count, beam, scale, likes, next_cost, next_active, back):
    """Take every arc with input from the active states within the beam; empties `cost`.

    Return (number of states active then, cost that may not be exceeded in the frame).
    """
    _, offset, ilabel, column, weight, target = arcs
    bound, slack, best = _cutoff(cost, active, count, beam)
    limit = np.inf
    for arc in range(offset[best], offset[best + 1]):  # an early guess of what the next frame's best will be
        if ilabel[arc]:
            limit = min(limit, cost[best] + weight[arc] - scale * likes[column[arc]] + slack)
    next_count = 0
    for i in range(count):
        here = cost[active[i]]
        cost[active[i]] = np.inf
        if here >= bound:
            continue
        for arc in range(offset[active[i]], offset[active[i] + 1]):
            if ilabel[arc] == 0:
                continue
            new, to = here + weight[arc] - scale * likes[column[arc]], target[arc]
            if new >= limit or new >= next_cost[to]:
                continue
            limit = min(limit, new + slack)
            if next_cost[to] == np.inf:
                next_active[next_count] = to
                next_count += 1
            next_cost[to], back[to] = new, arc
    return next_count, limit


@njit(cache=True)
def _cutoff(cost, active, count, beam):
    """Return (cost that ends a state's life, slack for the next frame, best state)."""
    best = active[0]
    for i in range(1, count):
        if cost[active[i]] < cost[best]:
            best = active[i]
    if count <= MIN_ACTIVE:
        return np.inf, np.inf, best
    bound = cost[best] + beam
    within = 0
    for i in range(count):
        within += cost[active[i]] <= bound
    if within > MIN_ACTIVE:
        return bound, beam, best
    floor = np.partition(cost[active[:count]], MIN_ACTIVE)[MIN_ACTIVE]
    return floor, floor - cost[best] + BEAM_DELTA, best


@njit(cache=True)
def _best_path(arcs, cost, active, final, source, back):
    ilabel = arcs[2]
    frame = len(back) - 1
    tids = np.zeros(frame, np.int32)
    state, total = -1, np.inf
    for candidate in active:
        if cost[candidate] + final[candidate] < total:
            state, total = candidate, cost[candidate] + final[candidate]
    if state < 0:
        return tids, np.inf
    arc = back[frame, state]
    while arc >= 0:
        if ilabel[arc]:
            frame -= 1
            tids[frame] = ilabel[arc]
        arc = back[frame, source[arc]]
    return tids, total
