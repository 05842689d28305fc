"""Back-off models made of others: linear interpolation, its weights by EM, and pruning by relative entropy.

Sources: F. Jelinek and R. Mercer, "Interpolated estimation of Markov source parameters", 1980 (the weights);
A. Stolcke, "Entropy-based pruning of backoff language models", DARPA Broadcast News Workshop 1998, equations 2 to 6.
"""

from dataclasses import replace

import numpy as np

from pymavg.errors import PymavgError
from pymavg.graph.ngram import NEVER, Level, NgramModel

LN10 = np.log(10.0)
MOST_ITERATIONS, ENOUGH = 100, 1e-6  # of EM; change of the log-likelihood per word
TINY = 1e-12  # probability mass that counts as none


def mixture_weights(models, sentences):
    """Return the weights (M,) under which the mixture of M models predicts a held-out text best.

    λ_i ← mean over the text of λ_i p_i(w|h) / Σ_j λ_j p_j(w|h); words unknown to the models are left out.

    Raises
    ------
    PymavgError
        When the models have different vocabularies, or no word of the text is known.
    """
    _check_vocabularies(models)
    scores = [model.score(sentences) for model in models]
    known = scores[0][1]
    if not known.any():
        raise PymavgError("no word of the held-out text is in the language models; is it of another language?")
    prob = 10 ** np.stack([log_prob[known] for log_prob, _ in scores])
    weights, before = np.full(len(models), 1.0 / len(models)), -np.inf
    for _ in range(MOST_ITERATIONS):
        joint = weights[:, np.newaxis] * prob
        total = joint.sum(axis=0)
        weights, now = (joint / total).mean(axis=1), np.log(total).mean()
        if now - before < ENOUGH:
            break
        before = now
    return weights


def interpolate(models, weights):
    """Return one back-off model of all n-grams of several, p(w|h) = Σ_i λ_i p_i(w|h) for each of them.

    Back-off weights are set so that every history has a distribution (as SRILM's `ngram -mix-lm`).

    Parameters
    ----------
    models : list of NgramModel
        Of one vocabulary.
    weights : sequence of float
        λ; their sum is 1.
    """
    _check_vocabularies(models)
    vocabulary = models[0].vocabulary
    size = len(vocabulary)
    number = [np.array([models[0].number[w] for w in model.vocabulary]) for model in models]
    place, words, levels = list(number), np.arange(size)[:, np.newaxis], []
    for n in range(1, max(model.order for model in models) + 1):
        code = np.arange(size)
        if n > 1:
            own = [_code(model, n, place[i], number[i]) for i, model in enumerate(models)]
            code = np.unique(np.concatenate(own))
            place = [np.searchsorted(code, c) for c in own]
            words = np.concatenate([words[code // size], (code % size)[:, np.newaxis]], axis=1)
        prob = sum(
            weight * 10 ** _score(model, np.argsort(number[i])[words])
            for i, (model, weight) in enumerate(zip(models, weights, strict=True))
        )
        levels.append(Level(code, np.maximum(np.log10(np.maximum(prob, 1e-300)), NEVER), np.zeros(len(code))))
    return renormalised(NgramModel(vocabulary, levels))


def _check_vocabularies(models):
    first = set(models[0].vocabulary)
    for model in models[1:]:
        other = first ^ set(model.vocabulary)
        if other:
            raise PymavgError(
                f"the language models have different vocabularies ({len(other)} words in one of them only, such as "
                f"{min(other)}); estimate all with the same --vocabulary"
            )


def _code(model, n, place, number):
    """Return the common codes of a model's n-grams, given the common places of its (n-1)-grams."""
    if n > model.order:
        return np.zeros(0, np.int64)
    history, word = np.divmod(model.levels[n - 1].code, len(model.vocabulary))
    return place[history] * len(model.vocabulary) + number[word]


def _score(model, words):
    """Return log10 P(last word | others) of n-grams given as word numbers (N, n)."""
    count, n = words.shape
    if not count:
        return np.zeros(0)
    return model._log_probs(words.ravel(), np.tile(np.arange(n), count)).reshape(count, n)[:, -1]


def word_numbers(model, n):
    """Return the word numbers (N, n) of a model's n-grams of length n."""
    code = model.levels[n - 1].code
    if n == 1:
        return code[:, np.newaxis]
    history, word = np.divmod(code, len(model.vocabulary))
    return np.concatenate([word_numbers(model, n - 1)[history], word[:, np.newaxis]], axis=1)


class _Masses:
    """What back-off from the histories of the n-grams of length n rests on.

    `prob`, `shorter` (N,): p(w|h) and p(w|h'), h' the history without its first word; `free`, `shorter_free` (H,): one
    less the sums of both over the words seen after each history, so that α(h) = free / shorter_free.
    """

    def __init__(self, model, n):
        self.history = model.levels[n - 1].code // len(model.vocabulary)
        self.words = word_numbers(model, n)
        self.prob = 10 ** model.levels[n - 1].log_prob
        self.shorter = 10 ** _score(NgramModel(model.vocabulary, model.levels[: n - 1]), self.words[:, 1:])
        count = len(model.levels[n - 2].code)
        self.seen = np.bincount(self.history, minlength=count) > 0
        self.free = 1.0 - np.bincount(self.history, self.prob, count)
        self.shorter_free = 1.0 - np.bincount(self.history, self.shorter, count)

    def log_backoff(self):
        """Return log10 α (H,); 0 for what is no history, or leaves nothing to back off to."""
        usable = self.seen & (self.shorter_free > TINY)
        alpha = np.maximum(self.free, TINY) / np.where(usable, self.shorter_free, 1.0)
        return np.where(usable, np.log10(alpha), 0.0)


def renormalised(model):
    """Return the model with back-off weights under which every history has a distribution."""
    levels = list(model.levels)
    for n in range(2, len(levels) + 1):
        masses = _Masses(NgramModel(model.vocabulary, levels), n)
        levels[n - 2] = replace(levels[n - 2], log_backoff=masses.log_backoff())
    levels[-1] = replace(levels[-1], log_backoff=np.zeros(len(levels[-1].code)))
    return NgramModel(model.vocabulary, levels)


def relative_entropy(model, n):
    """Return, for each n-gram of length n, D(p || p') of the model p' without it (N,), in nats.

    D = −p(h) {p(w|h) [ln p(w|h') + ln α'(h) − ln p(w|h)] + [ln α'(h) − ln α(h)] (1 − Σ_v p(v|h))}; v are the words seen
    after h, α'(h) is the weight after the n-gram is left out (Stolcke 1998, equations 4 to 6).
    """
    masses = _Masses(model, n)
    h, p, q = masses.history, masses.prob, masses.shorter
    free, shorter_free = np.maximum(masses.free, TINY)[h], np.maximum(masses.shorter_free, TINY)[h]
    old, new = np.log(free / shorter_free), np.log((free + p) / (shorter_free + q))
    share = np.zeros(len(model.levels[n - 2].code))
    columns = word_numbers(model, n - 1)
    for k in range(1, n):  # p(h) from its words; that of <s> is 1
        share += np.where(columns[:, k - 1] == model.number["<s>"], 0.0, LN10 * _score(model, columns[:, :k]))
    return -np.exp(share[h]) * (p * (np.log(q) + new - np.log(p)) + (new - old) * free)


def prune(model, threshold):
    """Return the model without the n-grams whose loss raises the perplexity by less than `threshold` (relative).

    From the longest down; an n-gram that is the history of one that stays, stays too (SRILM's `ngram -prune`).
    """
    keep = [None] * model.order
    for n in range(model.order, 1, -1):
        keep[n - 1] = np.expm1(relative_entropy(model, n)) >= threshold
        if n < model.order:
            keep[n - 1][model.levels[n].code[keep[n]] // len(model.vocabulary)] = True
    return renormalised(_select(model, keep))


def _select(model, keep):
    """Return the model with the n-grams marked in keep[n - 1] (N,); all words stay."""
    size, levels, place = len(model.vocabulary), [model.levels[0]], np.arange(len(model.vocabulary))
    for level, kept in zip(model.levels[1:], keep[1:], strict=True):
        history, word = np.divmod(level.code[kept], size)
        levels.append(Level(place[history] * size + word, level.log_prob[kept], level.log_backoff[kept]))
        place = np.cumsum(kept) - 1
    while len(levels) > 1 and not len(levels[-1].code):
        levels.pop()
    return NgramModel(model.vocabulary, levels)
