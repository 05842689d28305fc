"""From pronunciations to the lexicon transducer L: word positions, disambiguation symbols, optional silence.

Sources: Kaldi's utils/prepare_lang.sh, utils/add_lex_disambig.pl, utils/lang/make_lexicon_fst.py.
"""

from collections import Counter
from dataclasses import dataclass
from math import inf, log

from pymavg.kaldi.fst import Fst

SUFFIXES = {"begin": "_B", "end": "_E", "internal": "_I", "singleton": "_S"}


def mark_positions(lexicon):
    """Return the lexicon with _B, _E, _I or _S (first, last, inner, only phone of the word) on each phone."""

    def marked(phones):
        if len(phones) == 1:
            return (phones[0] + "_S",)
        return (phones[0] + "_B", *(phone + "_I" for phone in phones[1:-1]), phones[-1] + "_E")

    return [p._replace(phones=marked(p.phones)) for p in lexicon]


def add_disambiguation(lexicon):
    """Return the lexicon with symbols #1, #2, … where pronunciations would be ambiguous, and the highest number used.

    A pronunciation gets one when another word has the same, or when it is the beginning of another; equal ones count
    upwards.
    """
    count = Counter(p.phones for p in lexicon)
    beginnings = {p.phones[:length] for p in lexicon for length in range(1, len(p.phones))}
    used, marked = Counter(), []
    for p in lexicon:
        phones, symbol = p.phones, ()
        if count[phones] > 1 or phones in beginnings:
            used[phones] += 1
            symbol = (f"#{used[phones]}",)
        marked.append(p._replace(phones=phones + symbol))
    return marked, max(used.values(), default=0)


@dataclass
class LexiconOptions:
    """What is optional in the lexicon transducer.

    Attributes
    ----------
    silence_prob : float
        Probability of silence at the start and after each word; 0 for a lexicon without optional silence.
    silence_phone : str
    silence_disambig : str or None
        Symbol after the silence, for a lexicon that will be determinised.
    ends : SilenceProbabilities or None
        Of the sentence's ends, where each pronunciation of the lexicon has its own.
    """

    silence_prob: float
    silence_phone: str
    silence_disambig: str | None = None
    ends: object = None


def lexicon_fst(lexicon, phones, words, options, self_loops=()):
    """Build L from phones to words.

    Words start and end in one loop state. From the start, and after each word, silence is taken with the probability p
    (cost −log p) or left out (−log(1 − p)). The word and its pronunciation's cost stand on its first phone.

    Where pronunciations have their own probabilities of silence (options.ends), there are two such states, one after
    silence, and a word's cost depends on the one that it starts from (Kaldi's utils/lang/make_lexicon_fst_silprob.py).

    Parameters
    ----------
    lexicon : list of Pronunciation
    phones, words : SymbolTable
    options : LexiconOptions
    self_loops : list of (str, str)
        (phone, word) pairs that pass at the loop states: #0 of the grammar's back-off.

    Returns
    -------
    Fst
        Its arcs are sorted by word.
    """
    frame = _Frame(phones, options)
    arcs, num_states = frame.arcs, frame.num_states
    for pronunciation in lexicon:
        cost, label = -log(pronunciation.probability), words.id_of[pronunciation.word]
        sources = [(state, cost + more) for state, more in frame.begins(pronunciation)]
        for phone in pronunciation.phones[:-1]:
            arcs += [(state, phones.id_of[phone], label, cost, num_states) for state, cost in sources]
            sources, label, num_states = [(num_states, 0.0)], 0, num_states + 1
        last = phones.id_of[pronunciation.phones[-1]]
        for target, more in frame.ends(pronunciation):
            arcs += [(state, last, label, cost + more, target) for state, cost in sources]
    for phone, word in self_loops:
        arcs += [(loop, phones.id_of[phone], words.id_of[word], 0.0, loop) for loop in frame.final]
    final = [frame.final.get(state, inf) for state in range(num_states)]
    return Fst.from_arcs(0, final, *zip(*arcs, strict=True)).arcsorted("olabel")


class _Frame:
    """The states and arcs around the words: `final` has the states where words begin, with their final costs."""

    def __init__(self, phones, options):
        self.options = options
        self.arcs, self.num_states, self.final = [], 1, {0: 0.0}
        if options.silence_prob == 0.0 and not options.ends:
            return
        sil, marked = phones.id_of[options.silence_phone], options.silence_disambig is not None
        self.num_states = 3 + marked + (options.ends is not None)
        after_silence = self.num_states - 1 if options.ends else 1
        self.final = {1: 0.0}
        if options.ends:
            self.final = {1: -log(options.ends.none_before), after_silence: -log(options.ends.before)}
        self.arcs = [(0, 0, 0, cost, state) for state, cost in self._after(self._prob(options.ends))]
        if marked:
            symbol = phones.id_of[options.silence_disambig]
            self.arcs += [(2, sil, 0, 0.0, 3), (3, symbol, 0, 0.0, after_silence)]
        else:
            self.arcs.append((2, sil, 0, 0.0, after_silence))

    def _prob(self, silence):
        return silence.after if self.options.ends else self.options.silence_prob

    @staticmethod
    def _after(p):
        """Return (state, cost) of what follows a word: another one, or the silence."""
        return [(1, -log(1 - p)), (2, -log(p))]

    def begins(self, pronunciation):
        """Return (state, cost) of the places where it may begin."""
        if not self.options.ends:
            return [(loop, 0.0) for loop in self.final]
        return list(
            zip(self.final, (-log(pronunciation.silence.none_before), -log(pronunciation.silence.before)), strict=True)
        )

    def ends(self, pronunciation):
        """Return (state, cost) of the places where it may end."""
        return self._after(self._prob(pronunciation.silence)) if self.num_states > 1 else [(0, 0.0)]
