"""Lattices as flat arrays.

One form serves for Kaldi's two: an arc carries a word, two costs and a sequence of transition-ids. In a *raw* lattice
that is at most one transition-id for each arc, in a *compact* one it is a whole word's worth. Final weights are arcs
into one last state. States are in topological order, so every algorithm is one loop over arcs, forward or backward.
"""

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from pymavg.compiled import patient
from pymavg.errors import PymavgError


@patient(lambda source, target, num_states: 3 * source.size + 2 * num_states)
@njit(cache=True)
def _topological_rank(source, target, num_states):
    """Return the place of each state in a topological order (Kahn's algorithm), -1 on and behind cycles."""
    indegree = np.zeros(num_states, np.int64)
    first = np.zeros(num_states + 1, np.int64)
    for a in range(source.size):
        indegree[target[a]] += 1
        first[source[a] + 1] += 1
    first = np.cumsum(first)
    fill, arcs = first.copy(), np.empty(source.size, np.int64)
    for a in range(source.size):
        arcs[fill[source[a]]] = a
        fill[source[a]] += 1
    rank, queue = np.full(num_states, -1, np.int64), np.empty(num_states, np.int64)
    head = tail = 0
    for s in range(num_states):
        if indegree[s] == 0:
            queue[tail] = s
            tail += 1
    while head < tail:
        s = queue[head]
        rank[s] = head
        head += 1
        for k in range(first[s], first[s + 1]):
            t = target[arcs[k]]
            indegree[t] -= 1
            if indegree[t] == 0:
                queue[tail] = t
                tail += 1
    return rank


def gather(offset, tids, arcs):
    """Return (offset, tids) of the sequences of these arcs, in this order."""
    length = np.diff(offset)[arcs]
    new = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    taken = np.repeat(offset[arcs] - new[:-1], length) + np.arange(new[-1])
    return new, np.asarray(tids, np.int32)[taken]


@dataclass
class Lattice:
    """A lattice of S states and A arcs; paths lead from state 0 to state S-1.

    Attributes
    ----------
    num_states : int
    source, target : int32 (A,)
        Arcs are sorted by source, and source < target always.
    word : int32 (A,)
        0 where an arc carries no word.
    graph_cost, acoustic_cost : float64 (A,)
        Negative log-probabilities, unscaled.
    offset : int64 (A+1,)
        Arc a carries the transition-ids tids[offset[a]:offset[a+1]].
    tids : int32
    reached_final : bool
        Whether the decoder ended in a final state of its graph.
    """

    num_states: int
    source: np.ndarray
    target: np.ndarray
    word: np.ndarray
    graph_cost: np.ndarray
    acoustic_cost: np.ndarray
    offset: np.ndarray
    tids: np.ndarray
    reached_final: bool = field(default=True)

    @classmethod
    def from_arcs(cls, num_states, source, target, word, graph_cost, acoustic_cost, tids, name="lattice"):
        """Build from arcs in any order, state 0 the start and the highest one the end.

        `tids` is one transition-id (0: none) for each arc, or a pair (offset, tids) as in the attributes.

        Raises
        ------
        PymavgError
            When arcs form a cycle, or no path leads to the end.
        """
        source, target = np.asarray(source, np.int32), np.asarray(target, np.int32)
        if not (source < target).all():
            rank = _topological_rank(source, target, num_states)
            if rank.min() < 0:
                raise PymavgError(f"{name}: arcs without transition-ids form a cycle; the graph is wrong")
            rank[0], rank[-1] = -1, num_states  # states on no path might lie before the start or behind the end
            rank = np.argsort(np.argsort(rank, kind="stable"), kind="stable")
            source, target = rank[source].astype(np.int32), rank[target].astype(np.int32)
        order = np.lexsort((target, source))
        if not isinstance(tids, tuple):
            tids = np.concatenate([[0], np.cumsum(tids > 0)]), tids[tids > 0]
        offset, tids = gather(*tids, order)
        word = np.asarray(word, np.int32)[order]
        graph_cost, acoustic_cost = np.asarray(graph_cost, float)[order], np.asarray(acoustic_cost, float)[order]
        lattice = cls(num_states, source[order], target[order], word, graph_cost, acoustic_cost, offset, tids)
        return lattice.connect(name)

    @property
    def num_arcs(self):
        """Number of arcs A."""
        return len(self.source)

    @property
    def tid(self):
        """Transition-id of each arc of a raw lattice, 0 for none: int32 (A,)."""
        length = np.diff(self.offset)
        if length.max(initial=0) > 1:
            raise ValueError("a compact lattice has sequences of transition-ids on its arcs; expand() it first")
        tid = np.zeros(self.num_arcs, np.int32)
        tid[length == 1] = self.tids
        return tid

    @property
    def times(self):
        """Frame at which each state begins, int32 (S,)."""
        return _state_times(self.source, self.target, self.offset, self.num_states)

    @property
    def num_frames(self):
        """Length of the paths in frames."""
        return int(self.times[-1])

    def costs(self, lmwt=1.0, acoustic_scale=1.0, penalty=0.0):
        """Return each arc's cost: lmwt * graph + acoustic_scale * acoustic, + penalty where there is a word (A,)."""
        return lmwt * self.graph_cost + acoustic_scale * self.acoustic_cost + penalty * (self.word > 0)

    def select(self, arcs):
        """Return the lattice of these arcs (bool mask or increasing indices) with unused states left out."""
        arcs = np.flatnonzero(arcs) if np.asarray(arcs).dtype == bool else np.asarray(arcs)
        used = np.zeros(self.num_states, bool)
        used[[0, -1]] = True
        used[self.source[arcs]] = used[self.target[arcs]] = True
        number = (np.cumsum(used) - 1).astype(np.int32)
        return Lattice(
            int(used.sum()),
            number[self.source[arcs]],
            number[self.target[arcs]],
            self.word[arcs],
            self.graph_cost[arcs],
            self.acoustic_cost[arcs],
            *gather(self.offset, self.tids, arcs),
            self.reached_final,
        )

    def connect(self, name="lattice"):
        """Drop arcs on no path from start to end.

        Raises
        ------
        PymavgError
            When no arc is left.
        """
        kept = _connected(self.source, self.target, self.num_states)
        if not kept.any():
            raise PymavgError(f"{name}: the lattice has no complete path")
        return self if kept.all() else self.select(kept)

    def expand(self):
        """Return the raw lattice: arcs with several transition-ids become chains, word and costs on the first."""
        length = np.maximum(np.diff(self.offset), 1)
        first = np.concatenate([[0], np.cumsum(length)])
        step = np.arange(first[-1]) - np.repeat(first[:-1], length)
        inner = self.num_states - 1 + np.cumsum(step > 0) - 1  # numbers of the chain's inner states
        head, last = step == 0, np.append(step[1:] == 0, True)
        end = self.num_states - 1 + int((step > 0).sum())
        number = lambda states: np.where(states == self.num_states - 1, end, states)  # noqa: E731
        source = np.where(head, np.repeat(self.source, length), inner)
        target = np.where(last, number(np.repeat(self.target, length)), np.append(inner[1:], 0))
        tid = np.zeros(first[-1], np.int32)
        has = np.repeat(np.diff(self.offset) > 0, length)
        tid[has] = self.tids
        on_head = lambda values: np.where(head, np.repeat(values, length), 0)  # noqa: E731
        costs = on_head(self.graph_cost), on_head(self.acoustic_cost)
        lattice = Lattice.from_arcs(end + 1, source, target, on_head(self.word), *costs, tid)
        lattice.reached_final = self.reached_final
        return lattice


@patient(lambda source, *others: source.size)
@njit(cache=True)
def _state_times(source, target, offset, num_states):
    times = np.zeros(num_states, np.int32)
    for a in range(source.size):
        times[target[a]] = times[source[a]] + offset[a + 1] - offset[a]
    return times


@patient(lambda source, *others: 2 * source.size)
@njit(cache=True)
def _connected(source, target, num_states):
    ahead, behind = np.zeros(num_states, np.bool_), np.zeros(num_states, np.bool_)
    ahead[0] = behind[num_states - 1] = True
    for a in range(source.size):
        ahead[target[a]] |= ahead[source[a]]
    kept = np.zeros(source.size, np.bool_)
    for a in range(source.size - 1, -1, -1):
        behind[source[a]] |= behind[target[a]]
        kept[a] = ahead[source[a]] and behind[target[a]]
    return kept
