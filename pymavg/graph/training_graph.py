"""Graphs of the transcripts, in which alignment searches the best path.

As Kaldi's decoder/training-graph-compiler.cc: H ∘ C ∘ L ∘ words, determinised, minimised, with self-loops, but many
utterances at a time: their phone graphs hang on one common start by an arc with a symbol of its own, everything is
compiled at once, and the result is cut up at these symbols. So the cost of a call of the FST library is paid once for
hundreds of utterances.
"""

import numpy as np
from numba import njit

from pymavg.errors import PymavgError
from pymavg.graph.algorithms import compose, compose_context, connect, determinize_star, minimize_encoded
from pymavg.graph.hcl import add_self_loops, add_transition_probs, h_transducer
from pymavg.kaldi.fst import Fst

BATCH = 250  # utterances compiled at once


class TrainingGraphCompiler:
    """Compiles transcripts for one lexicon, tree and model.

    Parameters
    ----------
    lexicon : Fst
        L.fst, without disambiguation symbols.
    tree : ContextDependency
    model : TransitionModel
        Only its topology and pdfs matter here, not its probabilities.
    disambig : list of int, optional
        Disambiguation symbols among the phones (lang/phones/disambig.int).
    """

    def __init__(self, lexicon, tree, model, disambig=()):
        self.tree, self.model, self.disambig = tree, model, list(disambig)
        self._lexicon = _ArcsByWord(lexicon)
        self._first_mark = 1 + max([int(lexicon.ilabel.max()), int(lexicon.olabel.max()), *self.disambig])

    def compile(self, transcripts):
        """Yield the graph of each transcript, without transition probabilities.

        Parameters
        ----------
        transcripts : iterable of list of int
            Word ids.

        Yields
        ------
        Fst or None
            Transition-ids to words; the lexicon's costs (silence, pronunciations) are in it. None where a word is not
            in the lexicon.
        """
        batch = []
        for words in transcripts:
            batch.append(words)
            if len(batch) == BATCH:
                yield from self._compile_batch(batch)
                batch = []
        if batch:
            yield from self._compile_batch(batch)

    def _compile_batch(self, batch):
        phones, marks = self._joint_phone_graph(batch)
        if phones.num_states == 0:
            return [None] * len(batch)
        clg, windows = compose_context(phones, [*self.disambig, *marks], self.tree.width, self.tree.central)
        h, h_disambig = h_transducer(windows, self.tree, self.model, transition_scale=0.0)
        graph = determinize_star(compose(h, clg))
        symbol = {mark: label for label, mark in _marks_of_windows(windows, h_disambig, marks)}
        others = sorted(set(h_disambig) - set(symbol.values()))
        graph.ilabel[np.isin(graph.ilabel, others)] = 0
        graph = minimize_encoded(graph)
        starts = range(graph.offset[graph.start], graph.offset[graph.start + 1])
        start_of = {int(graph.ilabel[arc]): int(graph.target[arc]) for arc in starts}
        cut = _Cutter(graph)
        graphs = [cut(start_of[symbol[mark]]) if mark in symbol else None for mark in marks]
        return [graph and add_self_loops(graph, self.model, scale=0.0) for graph in graphs]

    def _joint_phone_graph(self, batch):
        """Return the phone graphs of all transcripts on one start state, and the mark of each."""
        marks = list(range(self._first_mark, self._first_mark + len(batch)))
        arcs, final = [], [np.inf]
        for mark, words in zip(marks, batch, strict=True):
            arcs.append((0, mark, mark, 0.0, len(final)))
            utterance_arcs, utterance_final = self._lexicon.phone_graph(words, len(final))
            arcs += utterance_arcs
            final += utterance_final
        return connect(Fst.from_arcs(0, final, *zip(*arcs, strict=True))), marks


def compile_training_graph(words, lexicon, tree, model, disambig=(), transition_scale=1.0, self_loop_scale=0.1):
    """Return the graph of one transcript with transition probabilities.

    Parameters
    ----------
    words : list of int
        Word ids.
    lexicon, tree, model, disambig
        As for `TrainingGraphCompiler`, which is the one to use for many transcripts.
    transition_scale, self_loop_scale : float
        As for `pymavg.graph.hcl.add_transition_probs`.

    Raises
    ------
    PymavgError
        When a word is not in the lexicon.
    """
    (graph,) = TrainingGraphCompiler(lexicon, tree, model, disambig).compile([words])
    if graph is None:
        raise PymavgError(f"no path for the words {list(words)}: one of them is not in the lexicon")
    return add_transition_probs(graph, model, transition_scale, self_loop_scale)


def _marks_of_windows(windows, h_disambig, marks):
    """Yield (label in H, mark) of the windows that are marks of utterances."""
    wanted = set(marks)
    symbols = [window[0] for window in windows if len(window) == 1 and window[0] <= 0]
    for label, symbol in zip(h_disambig, symbols, strict=True):
        if -symbol in wanted:
            yield label, -symbol


class _ArcsByWord:
    """The lexicon's arcs, found by state and word."""

    def __init__(self, lexicon):
        self.start, self.final = lexicon.start, lexicon.final.tolist()
        self._arcs = {}
        columns = (lexicon.source, lexicon.olabel, lexicon.ilabel, lexicon.weight, lexicon.target)
        for state, word, phone, weight, target in zip(*(c.tolist() for c in columns), strict=True):
            self._arcs.setdefault((state, word), []).append((phone, weight, target))

    def phone_graph(self, words, first_state):
        """Return (arcs, final costs) of lexicon ∘ words; its states are numbered from `first_state`."""
        state_of, queue = {(self.start, 0): first_state}, [(self.start, 0)]
        arcs, final = [], []
        for state, position in queue:  # it grows as states are found
            source = state_of[state, position]
            final.append(self.final[state] if position == len(words) else np.inf)
            steps = [(0, position)]
            if position < len(words):
                steps.append((words[position], position + 1))
            for word, after in steps:
                for phone, weight, target in self._arcs.get((state, word), ()):
                    if (target, after) not in state_of:
                        state_of[target, after] = first_state + len(queue)
                        queue.append((target, after))
                    arcs.append((source, phone, word, weight, state_of[target, after]))
        return arcs, final


class _Cutter:
    """Cuts the part that one state can reach out of a graph."""

    def __init__(self, graph):
        self.graph = graph
        self._number = np.full(graph.num_states, -1, np.int64)

    def __call__(self, start):
        graph = self.graph
        states = _reachable(start, graph.offset, graph.target, self._number)
        counts = graph.offset[states + 1] - graph.offset[states]
        offset = np.concatenate([[0], np.cumsum(counts)])
        arcs = np.repeat(graph.offset[states] - offset[:-1], counts) + np.arange(offset[-1])
        target = self._number[graph.target[arcs]].astype(np.int32)
        self._number[states] = -1
        return Fst(0, graph.final[states], offset, graph.ilabel[arcs], graph.olabel[arcs], graph.weight[arcs], target)


@njit(cache=True)
def _reachable(start, offset, target, number):
    """Return the states that `start` reaches, nearest first, and number them from 0 in `number` (-1 before)."""
    found = np.empty(len(number), np.int64)
    found[0], number[start], count = start, 0, 1
    done = 0
    while done < count:
        state = found[done]
        done += 1
        for arc in range(offset[state], offset[state + 1]):
            if number[target[arc]] < 0:
                number[target[arc]] = count
                found[count] = target[arc]
                count += 1
    return found[:count].copy()
