"""Lattices rescored with another grammar, against the language models themselves."""

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.decoding import paths
from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.decoding.lattice import Lattice
from pymavg.decoding.rescoring import BackoffGrammar, rescore
from pymavg.errors import PymavgError
from pymavg.graph.grammar import arpa_fst
from pymavg.graph.lm import estimate
from pymavg.kaldi.fst import Fst, write_fst
from pymavg.kaldi.symbols import read_symbols

TEXT = ["a b c", "a b d", "b c a b", "d a b c", "a b", "a b c d", "c a"]
SYMBOLS = ["<eps>", "a", "b", "c", "d", "#0", "<s>", "</s>", "z"]


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.txt").write_text("".join(f"{word} {number}\n" for number, word in enumerate(SYMBOLS)))
    return read_symbols(tmp_path / "words.txt")


def grammar(model, words):
    return BackoffGrammar(arpa_fst(model, words)[0], words.id_of["#0"], "G")


def model(order, lines=TEXT):
    return estimate([line.split() for line in lines], order, "abcd")


def sausage(rng, length=4, width=3):
    """Return a compact lattice of a few words, or none, at each place, and its paths' costs."""
    source = np.repeat(np.arange(length), width)
    word = np.concatenate([rng.permutation(5)[:width] for _ in range(length)])
    graph, acoustic = rng.random((2, len(word)))
    tids = np.arange(len(word) + 1), np.arange(1, len(word) + 1)
    return Lattice.from_arcs(length + 1, source, source + 1, word, graph, acoustic, tids)


def sentence_cost(model, words):
    padded = ["<s>", *words, "</s>"]
    return -np.log(10) * sum(model.log_prob(padded[: i + 1]) for i in range(1, len(padded)))


@pytest.mark.parametrize("seed", range(3))
def test_every_path_gets_the_new_models_costs_in_the_place_of_the_old_ones(words, seed):
    lattice, old, new = sausage(np.random.default_rng(seed)), model(2), model(3, TEXT[:5])
    rescored = rescore(lattice, grammar(old, words), grammar(new, words))
    found, before = (
        {tuple(p.tids): p for p in paths.n_best(each, each.costs(), 10_000)} for each in (rescored, lattice)
    )
    assert len(found) == len(before) == 3**4
    for tids, path in found.items():
        spoken = [SYMBOLS[w] for w in path.words]
        change = sentence_cost(new, spoken) - sentence_cost(old, spoken)
        assert path.graph_cost == pytest.approx(before[tids].graph_cost + change, abs=1e-4)
        assert path.acoustic_cost == pytest.approx(before[tids].acoustic_cost)
    same = rescore(lattice, grammar(old, words), grammar(old, words))
    assert paths.posteriors(same, same.costs())[1] == pytest.approx(paths.posteriors(lattice, lattice.costs())[1])


def test_words_that_a_grammar_lacks_leave_no_path(words):
    lattice = Lattice.from_arcs(2, [0, 0], [1, 1], [1, 8], [0.0, 0.0], [0.0, 0.0], np.array([1, 2]))
    g = grammar(model(2), words)
    rescored = rescore(lattice, g, g)
    assert rescored.word.tolist() == [1]
    alone = Lattice.from_arcs(2, [0], [1], [8], [0.0], [0.0], np.array([2]))
    assert rescore(alone, g, g) is None


def test_a_grammar_that_is_no_backoff_model_is_refused(words):
    fst = Fst.from_arcs(0, [np.inf, 0.0], [0, 0], [1, 1], [1, 1], [0.0, 1.0], [1, 1])
    with pytest.raises(PymavgError, match="two arcs of a state have the same word"):
        BackoffGrammar(fst, 5, "G")


def test_the_tool(words, tmp_path, capsys):
    for name, order in (("old", 1), ("new", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.txt").write_text((tmp_path / "words.txt").read_text())
        write_fst(tmp_path / name / "G.fst", arpa_fst(model(order), words)[0])
    lattice = sausage(np.random.default_rng(0))
    with LatticeWriter(tmp_path / "lat.1.gz") as writer:
        writer.write("u1", lattice)
    arguments = [str(tmp_path / name) for name in ("old", "new", "lat.1.gz", "out.gz")]
    assert main(["lattice-lmrescore", *arguments]) == 0
    ((utterance, found),) = read_lattices(tmp_path / "out.gz")
    expected = rescore(lattice, grammar(model(1), words), grammar(model(3), words))
    assert utterance == "u1"
    assert paths.posteriors(found, found.costs())[1] == pytest.approx(
        paths.posteriors(expected, expected.costs())[1], abs=1e-4
    )
    (tmp_path / "new" / "words.txt").write_text("<eps> 0\na 1\n#0 2\n")
    assert main(["lattice-lmrescore", *arguments]) == 1
    assert "words.txt differ" in capsys.readouterr().err
