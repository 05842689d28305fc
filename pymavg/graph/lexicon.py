"""From pronunciations to the lexicon transducer L: word positions, disambiguation symbols, optional silence.

Sources: Kaldi's utils/prepare_lang.sh, utils/add_lex_disambig.pl, utils/lang/make_lexicon_fst.py.
"""

from collections import Counter
from math import inf, log

from pymavg.graph.dictionary import Pronunciation
from pymavg.kaldi.fst import Fst

SUFFIXES = {"begin": "_B", "end": "_E", "internal": "_I", "singleton": "_S"}


def mark_positions(lexicon):
    """Return the lexicon with _B, _E, _I or _S (first, last, inner, only phone of the word) on each phone."""

    def marked(phones):
        if len(phones) == 1:
            return (phones[0] + "_S",)
        return (phones[0] + "_B", *(phone + "_I" for phone in phones[1:-1]), phones[-1] + "_E")

    return [Pronunciation(word, probability, marked(phones)) for word, probability, phones in lexicon]


def add_disambiguation(lexicon):
    """Return the lexicon with symbols #1, #2, … where pronunciations would be ambiguous, and the highest number used.

    A pronunciation gets one when another word has the same, or when it is the beginning of another; equal ones count
    upwards.
    """
    count = Counter(p.phones for p in lexicon)
    beginnings = {p.phones[:length] for p in lexicon for length in range(1, len(p.phones))}
    used, marked = Counter(), []
    for word, probability, phones in lexicon:
        symbol = ()
        if count[phones] > 1 or phones in beginnings:
            used[phones] += 1
            symbol = (f"#{used[phones]}",)
        marked.append(Pronunciation(word, probability, phones + symbol))
    return marked, max(used.values(), default=0)


class LexiconOptions:
    """What is optional in the lexicon transducer.

    Parameters
    ----------
    silence_prob : float
        Probability of silence at the start and after each word; 0 for a lexicon without optional silence.
    silence_phone : str
    silence_disambig : str or None
        Symbol after the silence, for a lexicon that will be determinised.
    """

    def __init__(self, silence_prob, silence_phone, silence_disambig=None):
        self.silence_prob = silence_prob
        self.silence_phone, self.silence_disambig = silence_phone, silence_disambig


def lexicon_fst(lexicon, phones, words, options, self_loops=()):
    """Build L from phones to words.

    Words start and end in one loop state. From the start, and after each word, silence is taken with the probability p
    (cost −log p) or left out (−log(1 − p)). The word and its pronunciation's cost stand on its first phone.

    Parameters
    ----------
    lexicon : list of Pronunciation
    phones, words : SymbolTable
    options : LexiconOptions
    self_loops : list of (str, str)
        (phone, word) pairs that pass at the loop state: #0 of the grammar's back-off.

    Returns
    -------
    Fst
        Its arcs are sorted by word.
    """
    arcs, (loop, silence, num_states) = _frame(phones, options)
    for word, probability, pronunciation in lexicon:
        state, label, cost = loop, words.id_of[word], -log(probability)
        for phone in pronunciation[:-1]:
            arcs.append((state, phones.id_of[phone], label, cost, num_states))
            state, label, cost, num_states = num_states, 0, 0.0, num_states + 1
        last = phones.id_of[pronunciation[-1]]
        for target, silence_cost in _word_ends(loop, silence, options.silence_prob):
            arcs.append((state, last, label, cost + silence_cost, target))
    arcs += [(loop, phones.id_of[phone], words.id_of[word], 0.0, loop) for phone, word in self_loops]
    final = [inf] * num_states
    final[loop] = 0.0
    return Fst.from_arcs(0, final, *zip(*arcs, strict=True)).arcsorted("olabel")


def _word_ends(loop, silence, p):
    """Return (state, cost) of the places where a word may end."""
    return [(loop, -log(1 - p)), (silence, -log(p))] if silence else [(loop, 0.0)]


def _frame(phones, options):
    """Return the arcs around the words, and (loop state, state before the silence, number of states)."""
    if options.silence_prob == 0.0:
        return [], (0, None, 1)
    start, loop, silence, after = 0, 1, 2, 3
    sil = phones.id_of[options.silence_phone]
    arcs = [(start, 0, 0, cost, state) for state, cost in _word_ends(loop, silence, options.silence_prob)]
    if options.silence_disambig is None:
        return [*arcs, (silence, sil, 0, 0.0, loop)], (loop, silence, 3)
    symbol = phones.id_of[options.silence_disambig]
    return [*arcs, (silence, sil, 0, 0.0, after), (after, symbol, 0, 0.0, loop)], (loop, silence, 4)
