"""Lattices with the costs of another language model (Kaldi's steps/lmrescore.sh).

The costs of the old grammar are taken off and those of the new one put on, both as a back-off model gives them: a word
has the cost of its own arc, or that of backing off and then of its arc from there (as in Kaldi's
BackoffDeterministicOnDemandFst, and with its const-arpa models). A state of the result is a state of the lattice with
one of each grammar.
"""

from collections import deque

import numpy as np

from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.decoding.lattice import Lattice, gather
from pymavg.errors import PymavgError
from pymavg.options import log, warn

NOWHERE = -1  # state after a word that the grammar does not have


class BackoffGrammar:
    """A G.fst as a deterministic function of state and word.

    Parameters
    ----------
    fst : Fst
        As made by grammar.arpa_fst: a word, and back-off, stand on at most one arc of a state.
    backoff : int
        The label of back-off, #0.
    name : str
        For messages.

    Raises
    ------
    PymavgError
        When the grammar is not of that form.
    """

    def __init__(self, fst, backoff, name):
        self.start, self.backoff, self.finals = fst.start, backoff, fst.final
        self.labels = int(max(fst.ilabel.max(initial=0), backoff)) + 1
        key = fst.source.astype(np.int64) * self.labels + fst.ilabel  # arrays, since 4-grams are many
        order = np.argsort(key, kind="stable")
        self.key, self.target, self.weight = key[order], fst.target[order], fst.weight[order]
        if (np.diff(self.key) == 0).any():
            raise PymavgError(f"{name}: two arcs of a state have the same word; a back-off model's grammar expected")

    def _arc(self, state, label):
        """Return (target, cost) of the arc of a state with this label, or None."""
        wanted = state * self.labels + label
        at = int(np.searchsorted(self.key, wanted))
        if label >= self.labels or at == len(self.key) or self.key[at] != wanted:
            return None
        return int(self.target[at]), float(self.weight[at])

    def step(self, state, word):
        """Return (next state, cost) of a word; (NOWHERE, infinity) where the grammar does not have it."""
        cost = 0.0
        while True:
            arc = self._arc(state, word)
            if arc:
                return arc[0], cost + arc[1]
            arc = self._arc(state, self.backoff)
            if not arc:
                return NOWHERE, np.inf
            state, cost = arc[0], cost + arc[1]

    def final(self, state):
        """Return the cost of ending in a state, by back-off where it is not final."""
        cost = 0.0
        while not np.isfinite(self.finals[state]):
            arc = self._arc(state, self.backoff)
            if not arc:
                return np.inf
            state, cost = arc[0], cost + arc[1]
        return cost + float(self.finals[state])


def rescore(lattice, old, new):
    """Return the lattice with the costs of `new` in the place of those of `old`; None where no path is left.

    Parameters
    ----------
    lattice : Lattice
        Best a determinised one.
    old, new : BackoffGrammar
        Of the same words.
    """
    first = np.searchsorted(lattice.source, np.arange(lattice.num_states + 1)).tolist()
    target, word, end = lattice.target.tolist(), lattice.word.tolist(), lattice.num_states - 1
    start = (0, old.start, new.start)
    number, waiting, arcs, changes = {start: 0}, deque([start]), [], []
    while waiting:
        here = waiting.popleft()
        for a in range(first[here[0]], first[here[0] + 1]):
            there, change = _follow(here, target[a], word[a], old, new)
            if target[a] == end:
                change += new.final(there[2]) - old.final(there[1]) if change < np.inf else 0.0
                there = (end, 0, 0)
            if not change < np.inf:
                continue
            if there not in number:
                number[there] = len(number)
                if target[a] != end:
                    waiting.append(there)
            arcs.append((a, number[here], number[there]))
            changes.append(change)
    return _build(lattice, arcs, changes, number, end)


def _follow(here, target, word, old, new):
    """Return (state after an arc, change of its graph cost)."""
    _, before, after = here
    if not word:
        return (target, before, after), 0.0
    before, less = old.step(before, word)
    after, more = new.step(after, word)
    if before == NOWHERE or after == NOWHERE:
        return (target, 0, 0), np.inf
    return (target, before, after), more - less


def _build(lattice, arcs, changes, number, end):
    last = (end, 0, 0)
    if last not in number:
        return None
    swap = {number[last]: len(number) - 1, len(number) - 1: number[last]}  # the end is the highest state
    taken = np.array([a for a, _, _ in arcs])
    source, target = ([swap.get(arc[k], arc[k]) for arc in arcs] for k in (1, 2))
    graph = lattice.graph_cost[taken] + np.array(changes)
    tids = gather(lattice.offset, lattice.tids, taken)
    costs = lattice.word[taken], graph, lattice.acoustic_cost[taken]
    rescored = Lattice.from_arcs(len(number), source, target, *costs, tids)
    rescored.reached_final = lattice.reached_final
    return rescored


def rescore_job(source, target, old, new):
    """Rescore an archive of lattices.

    Parameters
    ----------
    source, target : str or Path
        Archives read and written.
    old, new : BackoffGrammar

    Raises
    ------
    PymavgError
        When the archive is damaged, or no lattice has a path in both grammars.
    """
    done = failed = 0
    with LatticeWriter(target) as writer:
        for utterance, lattice in read_lattices(source):
            rescored = rescore(lattice, old, new)
            if rescored is None:
                failed += 1
                warn(f"{source}: utterance {utterance}: no path has its words in both grammars; left out")
                continue
            writer.write(utterance, rescored)
            done += 1
        if failed and not done:
            raise PymavgError(f"{source}: no lattice has a path in both grammars; are they of other words?")
    log(f"Rescored {done} lattices, failed for {failed}")
