"""Grammars: back-off language models and word lists as G.fst.

Source of the first: Kaldi's lm/arpa-lm-compiler.cc with `--disambig-symbol=#0`.
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.graph.ngram import BEGIN, END
from pymavg.kaldi.fst import Fst

LN10 = np.log(10.0)
ROOT = 0  # state of the empty history


class _States:
    """States of a back-off model: one for each history that some n-gram continues, and the empty one.

    The n-grams of one length are numbered as in the model's level. For each of length n:

    Attributes
    ----------
    state, cost : list of int (N,), float (N,) arrays
        By n: where an arc leads that reads this n-gram, and what is to be paid on the way for back-off from histories
        that nothing continues.
    backoff : list of (int (N,), float (N,))
        By n: state and cost of the back-off from this history.
    is_state : list of bool (N,)
        By n: whether this n-gram has a state of its own.
    count : int
        Number of states.
    """

    def __init__(self, model, kept):
        self.state, self.cost, self.backoff, self.is_state = [], [], [], []
        suffix = []  # by n: (length, number) of the longest stored proper suffix
        count = ROOT + 1
        for n, level in enumerate(model.levels, 1):
            length, number = _suffixes(model, n, suffix)
            suffix.append((length, number))
            state, cost = np.full(len(level.code), ROOT), np.zeros(len(level.code))
            for shorter in range(1, n):
                rows = length == shorter
                state[rows] = self.state[shorter - 1][number[rows]]
                cost[rows] = self.cost[shorter - 1][number[rows]]
            cost -= LN10 * level.log_backoff
            self.backoff.append((state.copy(), cost.copy()))
            own = _continued(model, n, kept)
            state[own] = count + np.arange(own.sum())
            cost[own] = 0.0
            count += int(own.sum())
            self.state.append(state)
            self.cost.append(cost)
            self.is_state.append(own)
        self.count = count


def _suffixes(model, n, suffix):
    """Return (length, number) of the longest stored n-gram that ends each n-gram of length n; length 0 for none."""
    if n == 1:
        empty = np.zeros(len(model.vocabulary), np.int64)
        return empty, empty
    history, word = np.divmod(model.levels[n - 1].code, len(model.vocabulary))
    found_length, found_number = np.ones(len(word), np.int64), word.copy()  # the word alone is always stored
    length, number = suffix[n - 2][0][history], suffix[n - 2][1][history]
    while (length > 0).any():  # try the history's suffixes, longest first
        for m in range(1, n - 1):
            rows = np.flatnonzero((length == m) & (found_length == 1))
            code = number[rows] * len(model.vocabulary) + word[rows]
            hit = model.levels[m].find(code)
            rows, hit = rows[hit >= 0], hit[hit >= 0]
            found_length[rows], found_number[rows] = m + 1, hit
        length, number = _shorten(length, number, suffix)
    return found_length, found_number


def _shorten(length, number, suffix):
    shorter_length, shorter_number = np.zeros_like(length), np.zeros_like(number)
    for m in np.unique(length[length > 0]).tolist():
        rows = length == m
        shorter_length[rows] = suffix[m - 1][0][number[rows]]
        shorter_number[rows] = suffix[m - 1][1][number[rows]]
    return shorter_length, shorter_number


def _continued(model, n, kept):
    """Tell for each n-gram of length n whether it is a history of a kept one; <s> is the start, always a state."""
    own = np.zeros(len(model.levels[n - 1].code), bool)
    if n < model.order:
        own[model.levels[n].code[kept[n]] // len(model.vocabulary)] = True
    if n == 1:
        own[model.number[BEGIN]] = True
    return own


def _kept(model, word_id):
    """Tell for each n-gram whether its words are known, with <s> nowhere but first and </s> nowhere but last."""
    usable = word_id > 0
    begin, end = model.number[BEGIN], model.number[END]
    kept = [usable.copy()]
    kept[0][[begin, end]] = True
    history_ok = kept[0].copy()
    history_ok[end] = False
    usable[end], usable[begin] = True, False
    for level in model.levels[1:]:
        history, word = np.divmod(level.code, len(model.vocabulary))
        kept.append(history_ok[history] & usable[word])
        history_ok = kept[-1] & (word != end)
    return kept


def arpa_fst(model, words):
    """Return G for a back-off model.

    A history is a state; an n-gram is an arc from its history, or that history's final cost for </s>; back-off is an
    arc with #0 on the input side and epsilon on the output side. A history that nothing continues gets no state.

    Parameters
    ----------
    model : pymavg.graph.ngram.NgramModel
        With <s> and </s>.
    words : SymbolTable
        With #0.

    Returns
    -------
    fst : Fst
    unknown : list of str
        Words of the model that are not in `words`; n-grams with one of them are left out.

    Raises
    ------
    PymavgError
        When <s>, </s> or #0 is missing, or no word is known.
    """
    for symbol in (BEGIN, END):
        if symbol not in model.number:
            raise PymavgError(f"the language model has no {symbol}; estimate it from whole sentences")
    (backoff_label,) = words.ids(["#0"])
    word_id = np.array([words.id_of.get(word, 0) for word in model.vocabulary])
    word_id[[model.number[BEGIN], model.number[END]]] = 0
    unknown = [w for w, i in zip(model.vocabulary, word_id, strict=True) if i == 0 and w not in (BEGIN, END)]
    if not word_id.any():
        raise PymavgError(f"no word of the language model is in {words.name}; is it of another language?")
    kept = _kept(model, word_id)
    states = _States(model, kept)
    final = np.full(states.count, np.inf)
    arcs = []
    for n, level in enumerate(model.levels, 1):
        history, word = np.divmod(level.code, len(model.vocabulary))
        source = np.full(len(word), ROOT) if n == 1 else states.state[n - 2][history]
        cost = -LN10 * level.log_prob
        ends = kept[n - 1] & (word == model.number[END])
        final[source[ends]] = cost[ends]
        reads = np.flatnonzero(kept[n - 1] & (word_id[word] > 0))
        labels = word_id[word[reads]]
        target, paid = states.state[n - 1][reads], states.cost[n - 1][reads]
        arcs.append((source[reads], labels, labels, cost[reads] + paid, target))
        own = np.flatnonzero(states.is_state[n - 1])
        target, paid = (column[own] for column in states.backoff[n - 1])
        symbol = np.full(len(own), backoff_label)
        arcs.append((states.state[n - 1][own], symbol, np.zeros_like(symbol), paid, target))
    start = states.state[0][model.number[BEGIN]]
    columns = [np.concatenate(column) for column in zip(*arcs, strict=True)]
    return Fst.from_arcs(start, final, *columns).arcsorted("ilabel"), unknown


def word_list_fst(word_ids, loop):
    """Return a grammar in which all words are equally likely.

    Parameters
    ----------
    word_ids : list of int
    loop : bool
        False: exactly one word. True: one or more; after each word, ending is as likely as any next word.
    """
    n = len(word_ids)
    if n == 0 or len(set(word_ids)) < n:
        raise PymavgError(f"a grammar of {n} words, {len(set(word_ids))} of them different; list each word once")
    once, again = np.log(n), np.log(n + 1)
    arcs = [(0, word, word, once, 1) for word in word_ids]
    if loop:
        arcs += [(1, word, word, again, 1) for word in word_ids]
    return Fst.from_arcs(0, [np.inf, again if loop else 0.0], *zip(*arcs, strict=True)).arcsorted("ilabel")
