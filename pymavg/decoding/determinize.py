"""Determinisation of lattices: one path for each word sequence, the best one, with its costs and alignment.

Subsets are formed as in Kaldi's lat/determinize-lattice-pruned.cc: a state of the result is a set of states of the
lattice, each with the cost and the transition-ids by which the way to it differs from the best way. States are made
best first, with the exact rest cost as estimate, and only within the beam.

A string of transition-ids is a chain of nodes, shared between strings with the same beginning; what is left of a
string after its common part went onto an arc is the chain from a certain depth on. Strings are compared by polynomial
hashes, so nothing is copied.
"""

import heapq
from collections import defaultdict

import numpy as np
from numba import njit

from pymavg.decoding.lattice import Lattice
from pymavg.decoding.paths import _best_backward, prune
from pymavg.options import warn

BASE = 0x2545F4914F6CDD1D  # of the polynomial hashes, odd
TOLERANCE = 1e-3  # costs of two subsets that count as equal; Kaldi has 1/1024
MAX_NODES = 20_000_000  # of all strings of a lattice: 640 MB
NARROWER = 0.7  # factor on the beam where a lattice needs more
STATE, NODE, DEPTH, PREFIX = range(4)  # of a way: where it leads, its string's last node, where the string begins
PARENT, LENGTH, HASH, TID = range(4)  # of a node


@njit(cache=True)
def _power(n):
    """Return BASE to the power n, modulo 2 to the power 64."""
    result = np.int64(1)
    factor = np.int64(BASE)
    while n > 0:
        if n & 1:
            result *= factor
        factor *= factor
        n >>= 1
    return result


@njit(cache=True)
def _string_hash(nodes, node, depth, prefix):
    """Return the hash of the chain that ends at `node`, without its first `depth` nodes, whose hash is `prefix`."""
    return nodes[node, HASH] - prefix * _power(nodes[node, LENGTH] - depth)


@njit(cache=True)
def _common_length(nodes, way, other):
    """Return the length of the common beginning of the strings of two ways."""
    a, b = way[NODE], other[NODE]
    length = min(nodes[a, LENGTH] - way[DEPTH], nodes[b, LENGTH] - other[DEPTH])
    while nodes[a, LENGTH] - way[DEPTH] > length:
        a = nodes[a, PARENT]
    while nodes[b, LENGTH] - other[DEPTH] > length:
        b = nodes[b, PARENT]
    while length > 0:
        if _string_hash(nodes, a, way[DEPTH], way[PREFIX]) == _string_hash(nodes, b, other[DEPTH], other[PREFIX]):
            break
        a, b = nodes[a, PARENT], nodes[b, PARENT]
        length -= 1
    return length


@njit(cache=True)
def _step(a, columns, costs, scale, limit, way, cost, work, nodes, used):
    """Go over arc `a`; keep the way if it is the best to the arc's target and within `limit`; return the nodes used."""
    total, ways, way_costs, rest = work
    t, tid = columns[a, 0], columns[a, 2]
    graph, acoustic = cost[0] + costs[a, 0], cost[1] + costs[a, 1]
    here = graph + scale * acoustic
    if here >= total[t] or here + rest[t] > limit:
        return used
    total[t] = here
    way_costs[t, 0] = graph
    way_costs[t, 1] = acoustic
    node = way[NODE]
    if tid > 0:
        nodes[used, PARENT] = node
        nodes[used, LENGTH] = nodes[node, LENGTH] + 1
        nodes[used, HASH] = nodes[node, HASH] * np.int64(BASE) + tid
        nodes[used, TID] = tid
        node = used
        used += 1
    ways[t, STATE] = t
    ways[t, NODE] = node
    ways[t, DEPTH] = way[DEPTH]
    ways[t, PREFIX] = way[PREFIX]
    return used


@njit(cache=True)
def _follow(first, columns, costs, scale, limit, sources, source_costs, arcs, work, keep, nodes, used):
    """Go over word arcs `arcs`, each from the way in its row of `sources`, and on over arcs without words.

    Ways that cannot be completed within the cost `limit` are not followed.

    Returns (best ways to the states that matter, their costs, the least total cost to the end, nodes used). `keep` (S,)
    marks what matters: states with arcs that carry words, and the end. `work` is (total (S,), ways (S, 4), way costs
    (S, 2), rest (S,)), with `total` infinite between calls.
    """
    total, ways, way_costs, rest = work
    low = high = columns[arcs[0], 0]
    for k in range(arcs.size):
        used = _step(arcs[k], columns, costs, scale, limit, sources[k], source_costs[k], work, nodes, used)
        low, high = min(low, columns[arcs[k], 0]), max(high, columns[arcs[k], 0])
    count = 0
    s = low
    while s <= high:  # in topological order: the best way to s is known
        if total[s] < np.inf:
            count += keep[s]
            for a in range(first[s], first[s + 1]):
                if columns[a, 1] == 0:
                    used = _step(a, columns, costs, scale, limit, ways[s], way_costs[s], work, nodes, used)
                    if total[columns[a, 0]] < np.inf:
                        high = max(high, columns[a, 0])
        s += 1
    chosen = np.empty((count, 4), np.int64)
    chosen_costs = np.empty((count, 2), np.float64)
    n = 0
    least = np.inf
    for s in range(low, high + 1):
        if total[s] < np.inf and keep[s]:
            for k in range(4):
                chosen[n, k] = ways[s, k]
            chosen_costs[n, 0] = way_costs[s, 0]
            chosen_costs[n, 1] = way_costs[s, 1]
            least = min(least, total[s] + rest[s])
            n += 1
        total[s] = np.inf
    return chosen, chosen_costs, least, used


@njit(cache=True)
def _normalise(chosen, chosen_costs, scale, nodes):
    """Take the best cost and the common beginning of the strings off all ways, in place.

    Returns (graph cost, acoustic cost, common length, a hash of the subset's states and strings).
    """
    best = 0
    length = nodes[chosen[0, NODE], LENGTH] - chosen[0, DEPTH]
    for i in range(1, len(chosen)):
        cost = chosen_costs[i, 0] + scale * chosen_costs[i, 1]
        if cost < chosen_costs[best, 0] + scale * chosen_costs[best, 1]:
            best = i
        if length > 0:
            length = min(length, _common_length(nodes, chosen[0], chosen[i]))
    graph, acoustic = chosen_costs[best, 0], chosen_costs[best, 1]
    code = np.int64(len(chosen))
    for i in range(len(chosen)):
        chosen_costs[i, 0] -= graph
        chosen_costs[i, 1] -= acoustic
        chosen[i, DEPTH] += length
        node = chosen[i, NODE]
        while nodes[node, LENGTH] > chosen[i, DEPTH]:
            node = nodes[node, PARENT]
        chosen[i, PREFIX] = nodes[node, HASH]
        string = _string_hash(nodes, chosen[i, NODE], chosen[i, DEPTH], chosen[i, PREFIX])
        code = (code * np.int64(BASE) + chosen[i, STATE]) * np.int64(BASE) + string
    return graph, acoustic, length, code


@njit(cache=True)
def _string(nodes, node, begin, end):
    """Return the transition-ids of the chain of `node` between two depths."""
    tids = np.empty(end - begin, np.int32)
    while nodes[node, LENGTH] > end:
        node = nodes[node, PARENT]
    while nodes[node, LENGTH] > begin:
        tids[nodes[node, LENGTH] - begin - 1] = nodes[node, TID]
        node = nodes[node, PARENT]
    return tids


class _TooLargeError(Exception):
    pass


class _Determinizer:
    """The state of one determinisation."""

    def __init__(self, lattice, scale, beam, margin):
        self.scale = scale
        cost = lattice.costs(acoustic_scale=scale)
        rest, _ = _best_backward(lattice.source, lattice.target, cost, lattice.num_states)
        states = np.arange(lattice.num_states + 1)
        self.first = np.searchsorted(lattice.source, states)
        self.columns = np.stack([lattice.target, lattice.word, lattice.tid], axis=1).astype(np.int64)
        self.costs = np.stack([lattice.graph_cost, lattice.acoustic_cost], axis=1)
        self.word_arcs = np.flatnonzero(lattice.word)
        self.word_first = np.searchsorted(lattice.source[self.word_arcs], states)
        self.keep = np.zeros(lattice.num_states, bool)
        self.keep[lattice.source[self.word_arcs]] = self.keep[-1] = True
        ways = np.empty((lattice.num_states, 4), np.int64), np.empty((lattice.num_states, 2))
        self.work = np.full(lattice.num_states, np.inf), *ways, rest
        self.nodes, self.used = np.zeros((4 * lattice.num_arcs + 1, 4), np.int64), 1
        self.end, self.rest = lattice.num_states - 1, rest
        self.limit, self.margin = rest[0] + beam, margin
        self.subsets, self.forward, self.number = [], [], defaultdict(list)
        self.arcs = []  # (source, target or -1 for the end, word, graph cost, acoustic cost, transition-ids)

    def follow(self, limit, sources, source_costs, arcs):
        """Return _follow's (ways, costs, least total cost), after making room for new nodes."""
        if self.used + len(self.columns) > len(self.nodes):
            if len(self.nodes) > MAX_NODES:
                raise _TooLargeError
            self.nodes = np.concatenate([self.nodes, np.zeros_like(self.nodes)])
        work = self.work, self.keep, self.nodes, self.used
        lattice = self.first, self.columns, self.costs, self.scale
        *found, self.used = _follow(*lattice, limit, sources, source_costs, arcs, *work)
        return found

    def state_of(self, code, chosen, chosen_costs):
        """Return the number of the state with this normalised subset, a new one where there is none."""
        for k in self.number[code]:
            difference = np.abs(self.subsets[k][1] - chosen_costs)
            if (difference[:, 0] + self.scale * difference[:, 1] < TOLERANCE).all():
                return k
        self.number[code].append(len(self.subsets))
        self.subsets.append((chosen, chosen_costs))
        self.forward.append(np.inf)
        return len(self.subsets) - 1

    def start(self):
        """Make the start state; its subset is the closure of the lattice's start, not normalised."""
        way = np.zeros((1, 4), np.int64)
        self.columns = np.concatenate([self.columns, [[0, 0, 0]]])  # an arc into the start, for _follow
        self.costs = np.concatenate([self.costs, [[0.0, 0.0]]])
        chosen, chosen_costs, _ = self.follow(np.inf, way, np.zeros((1, 2)), np.array([len(self.costs) - 1]))
        self.subsets.append((chosen, chosen_costs))
        self.forward.append(0.0)

    def run(self):
        """Make all states and arcs within the beam."""
        self.start()
        queue, done = [(self.rest[0], 0)], set()
        while queue:
            here = heapq.heappop(queue)[1]
            if here in done:
                continue
            done.add(here)
            self.finish(here)
            for word, rows, arcs in self.leaving(here):
                ways, costs = self.subsets[here]
                left = self.limit + self.margin - self.forward[here]
                chosen, chosen_costs, least = self.follow(left, ways[rows], costs[rows], arcs)
                if self.forward[here] + least > self.limit:
                    continue
                node, depth = chosen[0, NODE], chosen[0, DEPTH]
                graph, acoustic, length, code = _normalise(chosen, chosen_costs, self.scale, self.nodes)
                there = self.state_of(code, chosen, chosen_costs)
                self.arcs.append((here, there, word, graph, acoustic, _string(self.nodes, node, depth, depth + length)))
                cost = self.forward[here] + graph + self.scale * acoustic
                if cost < self.forward[there]:
                    self.forward[there] = cost
                    heapq.heappush(queue, (self.forward[here] + least, there))

    def finish(self, here):
        """Add the arc to the end, where the subset has it."""
        ways, costs = self.subsets[here]
        if ways[-1, STATE] == self.end and self.forward[here] + costs[-1, 0] + self.scale * costs[-1, 1] <= self.limit:
            node, depth = ways[-1, NODE], ways[-1, DEPTH]
            tids = _string(self.nodes, node, depth, self.nodes[node, LENGTH])
            self.arcs.append((here, -1, 0, *costs[-1], tids))

    def leaving(self, here):
        """Yield (word, rows of the subset, arcs) for each word that the subset's states have arcs with."""
        states = self.subsets[here][0][:, STATE]
        count = self.word_first[states + 1] - self.word_first[states]
        rows = np.repeat(np.arange(len(states)), count)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
        arcs = self.word_arcs[self.word_first[states][rows] + within]
        words = self.columns[arcs, 1]
        order = np.argsort(words, kind="stable")
        rows, arcs, words = rows[order], arcs[order], words[order]
        cuts = np.flatnonzero(np.diff(words)) + 1
        if len(words):
            yield from zip(words[np.append(0, cuts)].tolist(), np.split(rows, cuts), np.split(arcs, cuts), strict=True)


def determinize(lattice, acoustic_scale, beam, name="lattice", margin=np.inf):
    """Return the compact lattice with one path for each word sequence of a raw lattice.

    Parameters
    ----------
    lattice : Lattice
        Raw: at most one transition-id for each arc.
    acoustic_scale : float
        With which paths are compared; costs stay unscaled.
    beam : float
        Paths worse than the best one by more are left out.
    name : str
        For messages.
    margin : float
        Ways worse than the beam by more are not looked at when states are compared. With an infinite one the result is
        Kaldi's; with 0 the same paths within the beam take more states, but are found much faster in wide lattices.
    """
    while True:
        lattice = prune(lattice, lattice.costs(acoustic_scale=acoustic_scale), beam)
        work = _Determinizer(lattice, acoustic_scale, beam, margin)
        try:
            work.run()
            break
        except _TooLargeError:
            beam *= NARROWER
            warn(f"{name}: too large to determinise; beam narrowed to {beam:.1f}")
    source, target, word, graph, acoustic, strings = zip(*work.arcs, strict=True)
    end = len(work.subsets)
    target = [end if t < 0 else t for t in target]
    offset = np.concatenate([[0], np.cumsum([len(t) for t in strings])]).astype(np.int64)
    tids = np.concatenate([np.zeros(0, np.int32), *strings])
    result = Lattice.from_arcs(end + 1, source, target, word, graph, acoustic, (offset, tids), name)
    result.reached_final = lattice.reached_final
    return result
