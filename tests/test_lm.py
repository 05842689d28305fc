"""Language models: modified Kneser-Ney by hand, distributions that sum to one, ARPA files, perplexity."""

import itertools
import math

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.errors import PymavgError
from pymavg.graph.arpa import read_arpa, write_arpa
from pymavg.graph.lm import FALLBACK, discounts, estimate
from pymavg.graph.ngram import perplexity

TEXT = ["a b c", "a b d", "b c a b", "d a b c", "a b", "e f a b c d", "", "g"]


def sentences(lines):
    return [line.split() for line in lines]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_history_has_a_distribution(order):
    model = estimate(sentences(TEXT), order, vocabulary="abcdefh")  # g is unknown, h is never seen
    predicted = [word for word in model.vocabulary if word != "<s>"]
    for history in itertools.product(model.vocabulary, repeat=min(order - 1, 2)):
        total = sum(10 ** model.log_prob([*history, word]) for word in predicted)
        assert total == pytest.approx(1, abs=1e-12), history


def test_bigram_by_hand():
    """Text 'a b', 'a a': vocabulary </s> <unk> a b, discounts 0.5, 1, 1.5 (too little to estimate them).

    Bigrams: <s>a 2, ab 1, aa 1, a</s> 1, b</s> 1. Different words before: a 2 (<s>, a), b 1 (a), </s> 2 (a, b); in
    all 5. Unigrams: weight (1 + 0.5 + 1)/5 = 0.5 for the uniform 1/4.
    P(a) = (2-1)/5 + 0.5/4 = 0.325, P(b) = (1-0.5)/5 + 0.125 = 0.225, P(</s>) = 0.325, P(<unk>) = 0.125.
    After a: three bigrams of count 1, weight 1.5/3 = 0.5: P(b|a) = 0.5/3 + 0.5 * 0.225.
    """
    model = estimate(sentences(["a b", "a a"]), 2, vocabulary="ab")
    expected = {
        ("a",): 0.325,
        ("b",): 0.225,
        ("</s>",): 0.325,
        ("<unk>",): 0.125,
        ("a", "b"): 0.5 / 3 + 0.5 * 0.225,
        ("a", "a"): 0.5 / 3 + 0.5 * 0.325,
        ("a", "never-seen"): 0.5 * 0.125,
        ("<s>", "a"): (2 - 1) / 2 + (1 / 2) * 0.325,
        ("<s>", "b"): (1 / 2) * 0.225,
        ("b", "</s>"): 0.5 / 1 + 0.5 * 0.325,
    }
    for words, prob in expected.items():
        assert 10 ** model.log_prob(list(words)) == pytest.approx(prob, rel=1e-12), words


@pytest.mark.parametrize(("text", "has_unknown"), [(["a b", "a a"], False), (["a b", "a <unk>"], True)])
def test_without_a_vocabulary_only_words_of_the_text_are_likely(text, has_unknown):
    model = estimate(sentences(text), 2)
    assert ("<unk>" in model.vocabulary) == has_unknown
    for history in model.vocabulary:
        total = sum(10 ** model.log_prob([history, word]) for word in model.vocabulary if word != "<s>")
        assert total == pytest.approx(1, abs=1e-12), history


def test_lower_orders_count_contexts_not_occurrences():
    """'francisco' comes often but only after 'san': as a unigram it counts once, 'cat' (two contexts) twice."""
    model = estimate(sentences(["san francisco"] * 9 + ["a cat", "the cat"]), 2)
    assert model.log_prob(["cat"]) > model.log_prob(["francisco"])


def test_discounts():
    count = np.repeat([1, 2, 3, 4, 9], [50, 20, 10, 6, 3])
    y = 50 / (50 + 2 * 20)
    expected = [1 - 2 * y * 20 / 50, 2 - 3 * y * 10 / 20, 3 - 4 * y * 6 / 10]
    assert discounts(count, 3) == pytest.approx(expected)
    assert list(discounts(np.array([1, 1, 2]), 1)) == list(FALLBACK)
    assert list(discounts(np.repeat([1, 2, 3, 4], [3, 2, 9, 9]), 1)) == list(FALLBACK)  # D2 would be negative


def test_text_scores_as_word_by_word():
    model = estimate(sentences(TEXT), 3, vocabulary="abcdefg")
    text = sentences(["a b c d", "zebra a b", "", "g a"])
    log_prob, known = model.score(text)
    expected = []
    for words in text:
        padded = ["<s>", *words, "</s>"]
        expected += [model.log_prob(padded[max(0, i - 2) : i + 1]) for i in range(1, len(padded))]
    assert log_prob == pytest.approx(np.array(expected), abs=1e-12)
    assert known.tolist() == [True] * 5 + [False] + [True] * 7
    found = perplexity(model, text)
    assert (found.sentences, found.words, found.unknown) == (4, 9, 1)
    assert math.log10(found.perplexity) == pytest.approx(-log_prob[known].mean())


def test_arpa_round_trip(tmp_path):
    model = estimate(sentences(TEXT), 3, vocabulary="abcdefg")
    write_arpa(tmp_path / "lm.gz", model)
    again = read_arpa(tmp_path / "lm.gz")
    for words in itertools.product([*"abcdefg", "<unk>", "</s>"], repeat=3):
        assert again.log_prob(list(words)) == pytest.approx(model.log_prob(list(words)), abs=3e-7)


def test_arpa_of_another_maker(tmp_path):
    """Words in any order, a space for a tab, no <unk>, n-grams in the order of their last word."""
    path = tmp_path / "x.arpa"
    path.write_text(
        "\n\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1.0 b -0.3\n-99\t<s>\t-0.2\n-0.5\t</s>\n-0.7\ta\t-0.1\n\n"
        "\\2-grams:\n-0.4\tb a\n-0.25\t<s> a\n\n\\end\\\n"
    )
    model = read_arpa(path)
    assert model.log_prob(["<s>", "a"]) == -0.25
    assert model.log_prob(["b", "a"]) == -0.4
    assert model.log_prob(["b", "</s>"]) == pytest.approx(-0.8)
    assert perplexity(model, [["a", "q"]]).unknown == 1


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("ngram 1=4", "ngram 1=5", "4 1-grams, 5 declared"),
        ("-0.5\t</s>", "x\t</s>", r"x.arpa:\d+: 'x\t</s>' is not"),
        ("b a", "c a", "'c a' has a word or a history that is not in the file"),
        ("<s> a", "b a", "'b a' stands there twice"),
        ("\\2-grams:", "\\3-grams:", r"expected \\2-grams:"),
        ("ngram 1=4", "gram 1=4", "'ngram 1=COUNT'"),
    ],
)
def test_damaged_arpa_is_told(tmp_path, old, new, message):
    text = (
        "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1.0\tb\t-0.3\n-99\t<s>\t-0.2\n-0.5\t</s>\n-0.7\ta\t-0.1\n\n"
        "\\2-grams:\n-0.4\tb a\n-0.25\t<s> a\n\n\\end\\\n"
    )
    (tmp_path / "x.arpa").write_text(text.replace(old, new))
    with pytest.raises(PymavgError, match=message):
        read_arpa(tmp_path / "x.arpa")


def test_tools(tmp_path, capsys):
    text, words, lm = tmp_path / "text", tmp_path / "words", tmp_path / "lm.gz"
    text.write_text("".join(f"utt{i} {line}\n" for i, line in enumerate(TEXT)))
    words.write_text("a\nb\nc\nd\ne\nf\nh\n")
    arguments = ["--order", "2", "--vocabulary", str(words), "--skip-key", "true", str(text), str(lm)]
    assert main(["make-lm", *arguments]) == 0
    assert set(read_arpa(lm).vocabulary) == {*"abcdefh", "<s>", "</s>", "<unk>"}
    assert main(["perplexity", "--skip-key", "true", str(lm), str(text)]) == 0
    assert "8 sentences, 23 words, 1 (4.3 %) unknown" in capsys.readouterr().out
    text.write_text("")
    assert main(["make-lm", str(text), str(lm)]) == 1
    assert "no words found" in capsys.readouterr().err
