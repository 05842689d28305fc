"""How often words are said in which way, and with silence around them: counts from alignments, and probabilities.

Chen, Xu, Povey and Khudanpur, "Pronunciation and silence probability modeling for ASR", Interspeech 2015; Kaldi's
steps/get_prons.sh and utils/dict_dir_add_pronprobs.sh.
"""

from collections import Counter
from dataclasses import dataclass, field

from pymavg.errors import PymavgError
from pymavg.graph.dictionary import Pronunciation, SilenceProbabilities

START, END = ("<s>",), ("</s>",)
SMOOTHING = 2.0  # λ2, λ3: counts of the prior
LEAST = 0.01  # no probability is smaller, none nearer to 1, no factor smaller


@dataclass
class PronunciationCounts:
    """Counts of the spoken forms of words, tuples (word, phone, …), the phones without marks of position.

    Attributes
    ----------
    forms : Counter of form
    silence : Counter of (form, form, bool)
        Neighbours, START before the first and END after the last word, and whether there is silence between them.
    """

    forms: Counter = field(default_factory=Counter)
    silence: Counter = field(default_factory=Counter)

    def add(self, spoken):
        """Add an utterance: a list of forms, None standing for a silence."""
        before, silent = START, False
        for form in [*spoken, END]:
            if form is None:
                silent = True
                continue
            if form != END:
                self.forms[form] += 1
            self.silence[before, form, silent] += 1
            before, silent = form, False


class WordSplitter:
    """Finds the words in alignments by the marks of position on phones.

    Parameters
    ----------
    transitions : TransitionModel
    lang : Lang
    """

    def __init__(self, transitions, lang):
        if not lang.word_boundary:
            raise PymavgError(f"{lang.path}: phones/word_boundary.int is missing; phones must depend on the position")
        self.transitions, self.boundary, self.silence = transitions, lang.word_boundary, lang.optional_silence
        self.plain = {i: name[:-2] if name[-2:-1] == "_" else name for name, i in lang.phones.id_of.items()}

    def split(self, tids, words, name):
        """Return the forms of an utterance, None for silence between words, from transition-ids and words.

        Raises
        ------
        PymavgError
            When the alignment holds another number of words.
        """
        spoken = []
        for _, _, phone in self.transitions.split_to_phones(tids):
            kind = self.boundary[phone]
            if kind == "nonword":
                spoken.append(None)
            elif kind in ("begin", "singleton"):
                spoken.append([self.plain[phone]])
            else:
                spoken[-1].append(self.plain[phone])
        found = sum(phones is not None for phones in spoken)
        if found != len(words):
            raise PymavgError(f"{name}: {found} words in the alignment, {len(words)} in the text; align again")
        said = iter(words)
        return [phones and (next(said), *phones) for phones in spoken]


def pronunciation_probabilities(lexicon, counts, max_normalize):
    """Return the lexicon with probabilities, each pronunciation having been seen once more than it was.

    Parameters
    ----------
    lexicon : list of Pronunciation
    counts : PronunciationCounts
    max_normalize : bool
        A word's best pronunciation gets probability 1; otherwise they add up to 1.
    """
    seen = {p: 1 + counts.forms[(p.word, *p.phones)] for p in lexicon}
    of_word = {}
    for p, count in seen.items():
        of_word.setdefault(p.word, []).append(count)
    whole = {word: max(values) if max_normalize else sum(values) for word, values in of_word.items()}
    return [p._replace(probability=max(LEAST, count / whole[p.word])) for p, count in seen.items()]


def silence_probabilities(lexicon, counts):
    """Return the lexicon with SilenceProbabilities of each pronunciation, and those of the sentence's ends.

    With C the counts, n for no silence, s for silence, and P(s) the share of silence over all places:
    P(s | w) = (C(w s) + λ P(s)) / (C(w) + λ); the factors for silence or none before w compare what was counted
    with what the words before led to expect, Σ_v C(v w) P(s | v): F(s | w) = (C(s w) + λ) / (expected + λ).

    Returns
    -------
    (list of Pronunciation, SilenceProbabilities, float)
        In the second, `after` is P(s | <s>), and the factors are those of </s>; the third is P(s).
    """
    after, before, expected = Counter(), Counter(), Counter()
    for (left, right, silent), count in counts.silence.items():
        after[left, silent] += count
        before[right, silent] += count
    everywhere = after.total()
    if not everywhere:
        raise PymavgError("there are no counts of silence; get them with steps/get_prons.sh")
    overall = sum(count for (_, silent), count in after.items() if silent) / everywhere

    def of_silence(form):
        total = after[form, True] + after[form, False]
        return min(1 - LEAST, max(LEAST, (after[form, True] + SMOOTHING * overall) / (total + SMOOTHING)))

    for (left, right, _), count in counts.silence.items():
        expected[right, True] += count * of_silence(left)
        expected[right, False] += count * (1 - of_silence(left))

    def factor(form, silent):
        return max(LEAST, (before[form, silent] + SMOOTHING) / (expected[form, silent] + SMOOTHING))

    def around(form):
        return SilenceProbabilities(of_silence(form), factor(form, True), factor(form, False))

    ends = SilenceProbabilities(of_silence(START), factor(END, True), factor(END, False))
    return [p._replace(silence=around((p.word, *p.phones))) for p in lexicon], ends, overall


def bare(lexicon):
    """Return the lexicon without probabilities."""
    return [Pronunciation(p.word, 1.0, p.phones) for p in lexicon]
