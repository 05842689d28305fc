"""Lattices whose arcs are whole words or silences, with exact times (Kaldi's lat/word-align-lattice.cc).

The lattice is walked with what is still pending, transition-ids and words, as part of the state; as soon as the pending
transition-ids hold a whole word or silence, an arc for it is put out. Where phones do not tell the place in the word
see pymavg.decoding.word_lattice_lexicon.
"""

import numpy as np

from pymavg.decoding.lattice import Lattice
from pymavg.errors import PymavgError

NOTHING = frozenset()


class LatticeWalker:
    """Walks through lattices, putting out an arc for each unit that is whole: what the word aligners share.

    Parameters
    ----------
    model : TransitionModel
    """

    def __init__(self, model):
        self.phone, self.final = model.tid_phone.tolist(), model.tid_is_final.tolist()
        self.loop, self.tstate = model.tid_is_self_loop.tolist(), model.tid_tstate.tolist()

    def walk(self, lattice, units):
        """Return the lattice of units, None where no path can be cut into units to its end.

        Parameters
        ----------
        lattice : Lattice
        units : function (tids, words, refused, at end) -> (list of (frames, words used up, word), refused or None)
            What may be put out of what is pending, and what is remembered if the walk goes on without putting it out;
            None: it does not go on.
        """
        first = np.searchsorted(lattice.source, np.arange(lattice.num_states + 1))
        pieces = [tuple(t) for t in np.split(lattice.tids, lattice.offset[1:-1])]
        last = lattice.num_states - 1
        start, end = (0, (), (), NOTHING), (last, (), (), NOTHING)
        number, queue, arcs = {start: 0}, [start], []

        def add(here, there, word, graph, acoustic, tids):
            if there not in number:
                number[there] = len(number)
                queue.append(there)
            arcs.append((number[here], number[there], word, graph, acoustic, tids))

        while queue:
            here = queue.pop()
            if here == end:
                continue
            state, tids, words, refused = here
            whole, refused = units(tids, words, refused, state == last)
            for frames, used, word in whole:
                add(here, (state, tids[frames:], words[used:], NOTHING), word, 0.0, 0.0, tids[:frames])
            if refused is None or state == last:
                continue
            for a in range(first[state], first[state + 1]):
                word = int(lattice.word[a])
                pending = words + ((word,) if word else ())
                costs = lattice.graph_cost[a], lattice.acoustic_cost[a]
                add(here, (int(lattice.target[a]), tids + pieces[a], pending, refused), 0, *costs, ())
        if end not in number:
            return None
        return self._without_epsilons(number, arcs, number[end], lattice.reached_final)

    def _phone_end(self, tids, begin, forced):
        """Return where the phone that begins at `begin` ends, -1 where that is not known yet."""
        end = begin
        while end < len(tids) and not self.final[tids[end]]:
            end += 1
        end += 1  # self-loops of the last state follow the transition that leaves it
        while end < len(tids) and self.loop[tids[end]] and self.tstate[tids[end]] == self.tstate[tids[end - 1]]:
            end += 1
        return end if end < len(tids) else len(tids) if forced else -1

    @staticmethod
    def _without_epsilons(number, arcs, end, reached_final):
        """Return the Lattice after taking out arcs without word and transition-ids (cheapest ways kept)."""
        leaving = {}
        for arc in arcs:
            leaving.setdefault(arc[0], []).append(arc)
        closed, kept, queue = {0}, {}, [0]
        while queue:
            source = queue.pop()
            cheapest, stack = {source: (0.0, 0.0)}, [source]
            while stack:
                state = stack.pop()
                graph, acoustic = cheapest[state]
                for _, target, word, g, a, tids in leaving.get(state, ()):
                    costs = graph + g, acoustic + a
                    if not word and not tids and target != end:
                        if target not in cheapest or sum(costs) < sum(cheapest[target]):
                            cheapest[target] = costs
                            stack.append(target)
                        continue
                    key = source, target, word, tids
                    if key not in kept or sum(costs) < sum(kept[key]):
                        kept[key] = costs
                    if target not in closed and target != end:
                        closed.add(target)
                        queue.append(target)
        rank = {state: k for k, state in enumerate(sorted(closed))}
        rank[end] = len(rank)
        sequences = [tids for *_, tids in kept]
        offset = np.concatenate([[0], np.cumsum([len(t) for t in sequences])]).astype(np.int64)
        tids = np.array([t for s in sequences for t in s], np.int32)
        source, target = [rank[k[0]] for k in kept], [rank[k[1]] for k in kept]
        word, costs = [k[2] for k in kept], np.array(list(kept.values()))
        lattice = Lattice.from_arcs(len(rank), source, target, word, costs[:, 0], costs[:, 1], (offset, tids))
        lattice.reached_final = reached_final
        return lattice


class WordAligner(LatticeWalker):
    """Makes word lattices where phones tell by their names where words begin and end (Kaldi's lattice-align-words).

    Parameters
    ----------
    model : TransitionModel
    word_boundary : dict int -> str
        Place of each phone in the word, as Lang.word_boundary.
    """

    def __init__(self, model, word_boundary):
        if not word_boundary:
            raise PymavgError("phones/word_boundary.int is missing: phones must be position-dependent for this")
        unknown = sorted(set(model.tid_phone[1:].tolist()) - word_boundary.keys())
        if unknown:
            raise PymavgError(
                f"phone {unknown[0]} of the model is not in word_boundary.int; model and lang do not match"
            )
        super().__init__(model)
        self.boundary = word_boundary

    def align(self, lattice, name="lattice"):
        """Return the word lattice of a lattice, best a determinised one; `name` is for messages.

        Each arc is a word, or a silence with word 0; words broken off at the end are kept.
        """
        found = self.walk(lattice, self._units)
        if found is None:
            raise PymavgError(f"{name}: its phones are not those of its words; lattice and model do not match")
        return found

    def _units(self, tids, words, refused, at_end):
        frames, has_word = self._unit(tids, words, forced=False)
        if not frames and at_end:
            frames, has_word = self._unit(tids, words, forced=True)
        if frames or at_end:
            return [(frames, int(has_word), words[0] if has_word else 0)], None
        return [], refused

    def _unit(self, tids, words, forced):
        """Return (frames of the first word or silence pending, whether it is a word); (0, _) while it is not whole."""
        if not tids:
            return 0, forced
        kind = self.boundary[self.phone[tids[0]]]
        end = self._phone_end(tids, 0, forced)
        while kind == "begin" and 0 < end < len(tids):
            last = self.boundary[self.phone[tids[end]]] == "end"
            end = self._phone_end(tids, end, forced)
            if last:
                break
        is_word = kind != "nonword" and bool(words)
        return (max(end, 0) if forced or kind == "nonword" or words else 0), is_word
