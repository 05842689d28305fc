"""Estimation of n-gram language models: interpolated, modified Kneser-Ney smoothing.

S. Chen and J. Goodman, "An empirical study of smoothing techniques for language modeling", TR-10-98, Harvard 1998,
section 3 (equations 3.10-3.12, 3.14-3.16); lower orders are interpolated with, and the unigrams with the uniform
distribution over the vocabulary, so a closed vocabulary gets a probability for every word.
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.graph.ngram import BEGIN, END, NEVER, UNKNOWN, Level, NgramModel
from pymavg.options import warn

FALLBACK = np.array([0.5, 1.0, 1.5])  # discounts where a text is too small or too regular to estimate them


def estimate(sentences, order=3, vocabulary=None):
    """Estimate a model.

    Parameters
    ----------
    sentences : iterable of list of str
        The text; a word outside of the vocabulary counts as <unk>.
    order : int
        Greatest length of an n-gram.
    vocabulary : iterable of str, optional
        All words that the model knows, <unk> for all others; by default those of the text, and no <unk> that the text
        does not hold: it would stand for nothing, and its phone, which no training data can have, takes what does not
        sound like the speakers of the training. <s> and </s> are added.

    Returns
    -------
    NgramModel
        The probabilities of </s> and all words, <unk> among them, sum to one after every history.

    Raises
    ------
    PymavgError
        For a text without words.
    """
    sentences = [list(words) for words in sentences]
    if not any(sentences):
        raise PymavgError("a language model needs text: no words found")
    words = {UNKNOWN, *vocabulary} if vocabulary is not None else {word for words in sentences for word in words}
    vocabulary = [BEGIN, END, *sorted(words & {UNKNOWN}), *sorted(words - {BEGIN, END, UNKNOWN})]
    number = {word: i for i, word in enumerate(vocabulary)}
    stream, offset = [], []
    for sentence in sentences:
        stream += [0, *(number.get(word, 2) for word in sentence), 1]
        offset += range(len(sentence) + 2)
    tables = _count(np.array(stream, np.int64), np.array(offset, np.int64), order, len(vocabulary))
    return NgramModel(vocabulary, _smooth(tables, len(vocabulary)))


class _Table:
    """The n-grams of one length: codes as in ngram.py, their histories and suffixes by number, and their counts."""

    def __init__(self, code, history, suffix, raw, begins):
        self.code = code
        self.history = history  # (N,) number of the first n-1 words in the table of (n-1)-grams
        self.suffix = suffix  # (N,) of the last n-1 words
        self.count = raw  # (N,) occurrences; replaced by those of Kneser-Ney below the highest order
        self.begins = begins  # (N,) bool: begins with <s>


def _count(stream, offset, order, size):
    """Return the _Tables of lengths 1 to `order`, with Kneser-Ney's counts.

    Below the highest order the count of an n-gram is the number of different words before it, N1+(. w1 … wn); only
    those at the beginning of a sentence, which nothing precedes, keep their occurrences.
    """
    occurrences = np.bincount(stream, minlength=size)
    occurrences[0] = 0  # <s> is never predicted
    nothing = np.zeros(size, np.int64)
    tables = [_Table(np.arange(size), nothing, nothing, occurrences, np.zeros(size, bool))]
    found = stream
    for n in range(2, order + 1):
        valid = np.flatnonzero(offset >= n - 1)
        code = found[valid - 1] * size + stream[valid]
        unique, first, inverse, count = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
        place = valid[first]
        tables.append(_Table(unique, found[place - 1], found[place], count, offset[place] == n - 1))
        found = np.full(len(stream), -1)
        found[valid] = inverse
    for shorter, longer in zip(tables[:-1], tables[1:], strict=True):
        preceded = np.bincount(longer.suffix, minlength=len(shorter.code))
        shorter.count = np.where(shorter.begins, shorter.count, preceded)
    return tables


def discounts(count, length):
    """Return the discounts (D1, D2, D3+) of one order from the counts (N,) of its n-grams.

    Y = n1/(n1 + 2 n2), D1 = 1 - 2Y n2/n1, D2 = 2 - 3Y n3/n2, D3+ = 3 - 4Y n4/n3, where nk n-grams have the count k
    (Chen and Goodman, equation 3.16). Where these do not exist or do not lie between 0 and k, 0.5, 1 and 1.5 stand in.
    """
    n = np.bincount(np.minimum(count, 5), minlength=5).astype(float)
    if (n[1:5] > 0).all():
        y = n[1] / (n[1] + 2 * n[2])
        found = np.array([k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)])
        if (found > 0).all() and (found <= (1, 2, 3)).all():
            return found
    if len(count) > 100:
        warn(
            f"{length}-grams with counts 1 to 4: {n[1:5].astype(int).tolist()}; discounts {FALLBACK.tolist()} are used"
        )
    return FALLBACK


def _smooth(tables, size):
    """Return the Levels of the interpolated model.

    p(w|h) = max(c(hw) - D(c(hw)), 0)/c(h) + gamma(h) p(w|h'),  gamma(h) = (D1 N1(h.) + D2 N2(h.) + D3+ N3+(h.))/c(h);
    the weight gamma(h) is also the back-off weight for words not seen after h.
    """
    lower = np.full(size, 1.0 / (size - 1))  # <s> has no part in the uniform distribution
    levels, prob = [], None
    for n, table in enumerate(tables, 1):
        histories = 1 if n == 1 else len(tables[n - 2].code)
        rest = np.concatenate([[0.0], discounts(table.count, n)])[np.minimum(table.count, 3)]
        total = np.bincount(table.history, table.count, histories)
        gamma = np.bincount(table.history, rest, histories) / np.maximum(total, 1)
        shorter = lower if n == 1 else prob[table.suffix]
        prob = (table.count - rest) / total[table.history] + gamma[table.history] * shorter
        if n > 1:
            seen = total > 0
            levels[-1].log_backoff[seen] = np.log10(gamma[seen])
        levels.append(Level(table.code, np.log10(np.maximum(prob, 1e-300)), np.zeros(len(prob))))
    levels[0].log_prob[0] = NEVER
    return levels
