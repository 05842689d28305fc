"""A back-off n-gram model as sorted arrays, and the probabilities it gives to text.

An n-gram is stored as one integer: (number of its first n-1 words among the stored (n-1)-grams) * vocabulary size +
number of its last word. So a table lookup is a binary search, and a whole text is scored without a Python loop.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
NEVER = -99.0  # log10 of the probability of <s> in ARPA files


@dataclass(frozen=True)
class Level:
    """The n-grams of one length, sorted by code.

    Attributes
    ----------
    code : int64 (N,)
    log_prob : float64 (N,)
        log10 P(last word | others).
    log_backoff : float64 (N,)
        log10 of the weight of shorter histories behind this n-gram; 0 for one that is no history.
    """

    code: np.ndarray
    log_prob: np.ndarray
    log_backoff: np.ndarray

    def find(self, code):
        """Return the numbers of the n-grams with these codes, -1 for absent ones; codes below 0 are absent."""
        place = np.minimum(np.searchsorted(self.code, code), max(len(self.code) - 1, 0))
        if not len(self.code):
            return np.full(np.shape(code), -1)
        return np.where(self.code[place] == code, place, -1)


class NgramModel:
    """A back-off model.

    Parameters
    ----------
    vocabulary : list of str
        All words, <s> and </s>, and <unk> if the model has it.
    levels : list of Level
        Of the lengths 1, 2, …; level 1 holds every word, in the order of the vocabulary.
    """

    def __init__(self, vocabulary, levels):
        self.vocabulary = vocabulary
        self.levels = levels
        self.number = {word: i for i, word in enumerate(vocabulary)}

    @property
    def order(self):
        """The greatest length of an n-gram."""
        return len(self.levels)

    def numbers(self, words):
        """Return the list of word numbers; those of unknown words are the number of <unk>, or -1 without it."""
        unknown = self.number.get(UNKNOWN, -1)
        return [self.number.get(word, unknown) for word in words]

    def log_prob(self, words):
        """Return log10 P(last word | the words before it) for a list of words."""
        stream = np.array(self.numbers(words)[-self.order :])
        return self._log_probs(stream, np.arange(len(stream)))[-1]

    def score(self, sentences):
        """Return log10 probabilities of all words and sentence ends of a text.

        Parameters
        ----------
        sentences : iterable of list of str

        Returns
        -------
        log_prob : float64 (M,)
            One for each word and one for each end of sentence, in the order of the text.
        known : bool (M,)
            Whether the word is in the vocabulary.
        """
        stream, offset, known = [], [], []
        for words in sentences:
            sentence = [BEGIN, *words, END]
            stream += self.numbers(sentence)
            offset += range(len(sentence))
            known += [word in self.number for word in sentence]
        offset = np.array(offset, np.int64)
        log_prob = self._log_probs(np.array(stream, np.int64), offset)
        predicted = offset > 0
        return log_prob[predicted], np.array(known, bool)[predicted]

    def _log_probs(self, stream, offset):
        """Return log10 P(word | history) at each place of a stream of word numbers.

        `offset` (M,) counts the words before each place in its sentence; histories do not reach further.
        """
        found = np.where(stream >= 0, stream, -1)
        log_prob = np.where(stream >= 0, self.levels[0].log_prob[stream], -np.inf)
        for n, level in enumerate(self.levels[1:], 2):
            history = np.concatenate([[-1], found[:-1]])
            history[offset < n - 1] = -1
            exists = (history >= 0) & (stream >= 0)
            found = level.find(np.where(exists, history * len(self.vocabulary) + stream, -1))
            backoff = np.where(history >= 0, self.levels[n - 2].log_backoff[history], 0.0)
            log_prob = np.where(found >= 0, level.log_prob[found] if len(level.code) else 0.0, backoff + log_prob)
        return log_prob

    def ngrams(self, length):
        """Return the list of n-grams of one length as strings of words separated by spaces, in the order of codes."""
        if length == 1:
            return self.vocabulary
        history, word = np.divmod(self.levels[length - 1].code, len(self.vocabulary))
        shorter = self.ngrams(length - 1)
        return [f"{shorter[h]} {self.vocabulary[w]}" for h, w in zip(history.tolist(), word.tolist(), strict=True)]


@dataclass(frozen=True)
class Perplexity:
    """How well a model predicts a text; unknown words are counted, not predicted.

    `perplexity` is 10^(-mean log10 P) over the known words and the sentence ends.
    """

    perplexity: float
    sentences: int
    words: int
    unknown: int


def perplexity(model, sentences):
    """Return the Perplexity of a list of sentences, each a list of words.

    Raises
    ------
    PymavgError
        For a text without any word.
    """
    sentences = list(sentences)
    words = sum(len(sentence) for sentence in sentences)
    if not words:
        raise PymavgError("perplexity of a text without words is not defined; is the file empty?")
    log_prob, known = model.score(sentences)
    unknown = int((~known).sum())
    value = 10 ** (-log_prob[known].mean())
    return Perplexity(float(value), len(sentences), words, unknown)
