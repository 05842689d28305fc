"""Word lattices by means of the lexicon, for any phones (Kaldi's lat/word-align-lattice-lexicon.cc).

A pronunciation may be the beginning of another, a word's label may come before or behind its phones: the walk then goes
both ways, with the unit put out and without. What it went without stays forbidden until more is there, so that each
path of the lattice comes out once for each way of cutting it.
"""

from pymavg.decoding.word_lattice import NOTHING, LatticeWalker, WordAligner
from pymavg.errors import PymavgError


class LexiconWordAligner(LatticeWalker):
    """Makes word lattices from pronunciations.

    Parameters
    ----------
    model : TransitionModel
    align_lexicon : list of (int, int, tuple of int)
        Word in the lattice (0: what may stand between words), word to be put out, phones, as Lang.align_lexicon.
    """

    def __init__(self, model, align_lexicon):
        if not align_lexicon:
            raise PymavgError("phones/align_lexicon.int is empty or missing; make it with utils/prepare_lang.sh")
        super().__init__(model)
        self.entries = {(word, phones): out for word, out, phones in align_lexicon}
        self.words_phones = {phones for word, _, phones in align_lexicon if word}
        self.longer = {}  # first phones of entries -> words that have more
        for word, _, phones in align_lexicon:
            for n in range(1, len(phones)):
                self.longer.setdefault(phones[:n], set()).add(word)

    def align(self, lattice, name="lattice"):
        """Return the word lattice of a lattice, best a determinised one; `name` is for messages.

        Each arc is an entry of the lexicon. Only where no path can be cut into whole entries, what is left at the end
        becomes one more arc, with the word that is pending: such a lattice comes from a search that was broken off.

        Raises
        ------
        PymavgError
            Where phones and words do not fit before the end.
        """
        found = self.walk(lattice, self._units) or self.walk(lattice, self._forced_units)
        if found is None:
            raise PymavgError(
                f"{name}: its phones are not those of its words; lattice and align_lexicon.int do not match"
            )
        return found

    def _forced_units(self, tids, words, refused, at_end):
        whole, refused = self._units(tids, words, refused, at_end)
        if at_end and not whole:
            whole = [(len(tids), int(bool(words)), words[0] if words else 0)]
        return whole, refused

    def _units(self, tids, words, refused, at_end):
        phones, ends, broken = self._phones(tids, at_end)
        whole = []
        for word in {0, *words[:1]}:
            for n in range(len(phones) + 1):
                out = self.entries.get((word, phones[:n]))
                if out is not None and (n or word) and (ends[n], word) not in refused:
                    whole.append((ends[n], int(word > 0), out))
        if not self._goes_on(phones, broken, words):
            return whole, None
        return whole, refused | {(frames, words[0] if used else 0) for frames, used, _ in whole}

    def _phones(self, tids, at_end):
        """Return (phones that are whole, frames before the end of the n-th from 0 on, phone begun or ())."""
        phones, ends = (), [0]
        while ends[-1] < len(tids):
            begin = ends[-1]
            end = self._phone_end(tids, begin, at_end)
            if end < 0 or not any(self.final[tid] for tid in tids[begin:end]):
                return phones, ends, (self.phone[tids[begin]],)
            phones += (self.phone[tids[begin]],)
            ends.append(end)
        return phones, ends, ()

    def _goes_on(self, phones, broken, words):
        """Tell whether more transition-ids and words can make an entry of what is pending."""
        seen = phones + broken
        if not seen:
            return True
        begun = self.longer.get(seen, NOTHING)
        if words:
            wanted = {0, words[0]}
            return not begun.isdisjoint(wanted) or (bool(broken) and any((w, seen) in self.entries for w in wanted))
        if begun or (broken and ((0, seen) in self.entries or seen in self.words_phones)):
            return True
        return any(phones[:n] in self.words_phones for n in range(1, len(phones) + 1))  # the label is still to come


def word_aligner(model, lang, by_lexicon=False):
    """Return the aligner for a Lang: by its word_boundary.int if there is one, else, or if told to, by lexicon."""
    if lang.word_boundary and not by_lexicon:
        return WordAligner(model, lang.word_boundary)
    return LexiconWordAligner(model, lang.align_lexicon)
