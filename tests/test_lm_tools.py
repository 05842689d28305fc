"""Interpolation and pruning of language models, against sums over the whole vocabulary."""

import itertools

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.errors import PymavgError
from pymavg.graph.arpa import read_arpa, write_arpa
from pymavg.graph.lm import estimate
from pymavg.graph.lm_tools import interpolate, mixture_weights, prune, relative_entropy, renormalised, word_numbers
from pymavg.graph.ngram import NgramModel, perplexity

ONE = ["a b c", "a b d", "b c a b", "d a b c", "a b", "a b c d", "c a"]
TWO = ["d d a", "b b d", "d c", "c d d a", "a d", "d b a"]
WORDS = "abcd"


def model(lines, order=3):
    return estimate([line.split() for line in lines], order, WORDS)


def prob(model, *words):
    return 10 ** model.log_prob(list(words))


def predicted(model):
    return [word for word in model.vocabulary if word != "<s>"]


def histories(model, longest=2):
    for length in range(longest + 1):
        for words in itertools.product([w for w in model.vocabulary if w != "</s>"], repeat=length):
            if "<s>" not in words[1:]:
                yield words


@pytest.mark.parametrize("orders", [(3, 3), (2, 3), (3, 1)])
def test_the_mixture_has_all_ngrams_with_mixed_probabilities_and_is_a_distribution(orders):
    models = [model(lines, order) for lines, order in zip((ONE, TWO), orders, strict=True)]
    mixed = interpolate(models, [0.7, 0.3])
    held = {text for each in models for n in range(1, each.order + 1) for text in each.ngrams(n)}
    assert held == {text for n in range(1, mixed.order + 1) for text in mixed.ngrams(n)}
    for text in held - {"<s>"}:
        words = text.split()
        expected = 0.7 * prob(models[0], *words) + 0.3 * prob(models[1], *words)
        assert prob(mixed, *words) == pytest.approx(expected, rel=1e-9), text
    for history in histories(mixed):
        assert sum(prob(mixed, *history, w) for w in predicted(mixed)) == pytest.approx(1, abs=1e-9), history


def test_words_in_another_order_are_the_same_words(tmp_path):
    first, second = model(ONE), model(TWO)
    lines = (tmp_path / "b.arpa", tmp_path / "c.arpa")
    write_arpa(lines[0], second)
    text = lines[0].read_text()
    head, rest = text.split("\\1-grams:\n")
    unigrams, rest = rest.split("\n\n", 1)
    unigrams = "\n".join(reversed(unigrams.split("\n")))
    lines[1].write_text(f"{head}\\1-grams:\n{unigrams}\n\n{rest}")
    straight, turned = (interpolate([first, read_arpa(path)], [0.4, 0.6]) for path in lines)
    for words in itertools.product(predicted(first), repeat=3):
        assert prob(turned, *words) == pytest.approx(prob(straight, *words), rel=1e-9)


def test_weights_are_the_best_on_the_held_out_text():
    models, text = [model(ONE), model(TWO)], [line.split() for line in ("a b c", "d d a", "b c", "zebra a b")]
    weights = mixture_weights(models, text)
    assert weights.sum() == pytest.approx(1)

    def loglike(weight):
        scores = [m.score(text) for m in models]
        known = scores[0][1]
        return np.log(sum(w * 10 ** s[0][known] for w, s in zip((weight, 1 - weight), scores, strict=True))).sum()

    assert loglike(weights[0]) >= max(loglike(w) for w in np.linspace(0.01, 0.99, 99)) - 1e-3
    assert mixture_weights([models[0], models[0]], text) == pytest.approx([0.5, 0.5])


def test_other_vocabularies_and_texts_are_refused():
    with pytest.raises(PymavgError, match="different vocabularies .1 words in one of them only, such as z"):
        interpolate([model(ONE), estimate([["a"]], 3, "abcdz")], [0.5, 0.5])
    with pytest.raises(PymavgError, match="no word of the held-out text"):
        mixture_weights([model(ONE), model(TWO)], [])


@pytest.mark.parametrize("n", [2, 3])
def test_relative_entropy_is_the_sum_over_all_words(n):
    full = renormalised(model(ONE))
    words = word_numbers(full, n)
    found = relative_entropy(full, n)
    for k in range(len(words)):
        history = [full.vocabulary[w] for w in words[k, :-1]]
        levels = list(full.levels)
        level = levels[n - 1]
        one_less = np.arange(len(level.code)) != k
        keep = [type(level)(level.code[one_less], level.log_prob[one_less], level.log_backoff[one_less])]
        less = renormalised(NgramModel(full.vocabulary, levels[: n - 1] + keep))  # longer ones play no part
        whole = NgramModel(full.vocabulary, levels[:n])
        share = 1.0
        for i, word in enumerate(history):
            share *= 1.0 if word == "<s>" else prob(whole, *history[:i], word)
        divergence = 0.0
        for word in predicted(full):
            p, q = prob(whole, *history, word), prob(less, *history, word)
            divergence += p * np.log(p / q)
        assert found[k] == pytest.approx(share * divergence, rel=1e-6, abs=1e-12)


def test_pruned_models_are_smaller_distributions():
    full, text = renormalised(model(ONE * 2 + TWO)), [line.split() for line in ONE + TWO]
    same = prune(full, 0.0)
    assert [len(level.code) for level in same.levels][0] == len(full.vocabulary)
    sizes, before = [], 0.0
    for threshold in (1e-9, 1e-3, 3e-3, 1.0):
        pruned = prune(full, threshold)
        sizes.append(sum(len(level.code) for level in pruned.levels))
        for history in histories(pruned):
            assert sum(prob(pruned, *history, w) for w in predicted(pruned)) == pytest.approx(1, abs=1e-9), history
        now = perplexity(pruned, text).perplexity
        assert now >= before - 1e-9
        before = now
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[1] > sizes[-1] == len(full.vocabulary)


def test_tools(tmp_path, capsys):
    (tmp_path / "text").write_text("u1 a b c\nu2 d d a\n")
    paths = [str(tmp_path / name) for name in ("one", "two.gz", "mixed.gz", "small")]
    write_arpa(paths[0], model(ONE))
    write_arpa(paths[1], model(TWO))
    assert main(["interpolate-lm", "--held-out", str(tmp_path / "text"), "--skip-key", "true", *paths[:3]]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "one: weight 0." in told[0] and "perplexity" in told[1] and "mixed.gz: order 3, perplexity" in told[2]
    assert main(["prune-lm", "--threshold", "1e-2", paths[2], paths[3]]) == 0
    assert "n-grams of the lengths" in capsys.readouterr().err
    assert main(["interpolate-lm", "--weights", "0.5,0.4", *paths[:3]]) == 1
    assert main(["interpolate-lm", *paths[:3]]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert "that sum to 1" in errors[0] and "either --held-out TEXT or --weights" in errors[1]
