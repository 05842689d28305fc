"""Decoding graphs, stage by stage and whole, against Kaldi's."""

import random
import shutil

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.graph.algorithms import compose, compose_context, determinize_star, minimize_encoded
from pymavg.graph.arpa import read_arpa
from pymavg.graph.eps_removal import remove_eps_local
from pymavg.graph.grammar import arpa_fst
from pymavg.graph.hcl import add_self_loops, h_transducer
from pymavg.graph.hclg import decoding_graph, lexicon_grammar
from pymavg.graph.lang import Lang
from pymavg.graph.push_special import push_special
from pymavg.kaldi.fst import Fst, from_kaldifst, read_fst, to_kaldifst
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.tools import mkgraph

SYSTEMS = [("mono", "1_0"), ("tri1", "3_1")]


@pytest.fixture
def system(golden):
    def load(name):
        return read_tree(golden(f"gmm/{name}/tree")), read_transition_model(golden(f"gmm/{name}/trans_model.txt"))

    return load


def assert_same_arcs(a, b, tolerance=1e-6):
    """Equal up to the numbers of states: the same labels, costs, final costs, and ways out of states."""
    assert (a.num_states, a.num_arcs) == (b.num_states, b.num_arcs)
    tables = []
    for fst in (a, b):
        order = np.lexsort((fst.weight, fst.olabel, fst.ilabel))
        tables.append((fst.ilabel[order], fst.olabel[order], fst.weight[order], np.sort(np.diff(fst.offset))))
        tables[-1] += (np.sort(fst.final[np.isfinite(fst.final)]), np.sort(np.bincount(fst.target)))
    for mine, kaldis in zip(*tables, strict=True):
        np.testing.assert_allclose(mine, kaldis, atol=tolerance)


def best_cost(graph, words):
    """Cost of the best path with these words, found by the library."""
    kaldifst = pytest.importorskip("kaldifst")
    n = len(words)
    acceptor = Fst.from_arcs(0, [np.inf] * n + [0.0], range(n), words, words, [0.0] * n, range(1, n + 1))
    paths = kaldifst.compose(to_kaldifst(graph.arcsorted("olabel")), to_kaldifst(acceptor))
    path = from_kaldifst(kaldifst.shortest_path(paths))
    return float(path.weight.sum() + path.final[np.isfinite(path.final)].sum())


def read_windows(path):
    reader = open_reader(path)
    return [reader.int_vector().tolist() for _ in range(reader.int32())]


def test_grammar(golden):
    grammar, unknown = arpa_fst(read_arpa(golden("graph/bigram.arpa")), Lang(golden("gmm/lang")).words)
    assert_same_arcs(grammar, read_fst(golden("graph/fst/G.fst")))
    assert unknown == []


ARPA = """
\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-1.0\t</s>
-99\t<s>\t-0.5
-0.6\tone\t-0.3
-0.7\ttwo\t-0.2
-0.9\talien\t-0.1

\\2-grams:
-0.2\t<s> one\t-0.4
-0.3\tone two\t-0.25
-0.4\ttwo alien
-0.5\ttwo </s>

\\3-grams:
-0.1\t<s> one two
-0.15\tone two </s>

\\end\\
"""


def test_grammar_gives_the_models_probabilities(golden, tmp_path):
    """Best paths (#0 read freely) cost what the model says; words that are not in words.txt are left out."""
    (tmp_path / "lm.arpa").write_text(ARPA)
    model, words = read_arpa(tmp_path / "lm.arpa"), Lang(golden("gmm/lang")).words
    grammar, unknown = arpa_fst(model, words)
    assert unknown == ["alien"] and grammar.num_states == 6
    loop = Fst.from_arcs(0, [0.0], [0] * 16, [0, *range(1, 16)], [0, *range(1, 16)], [0.0] * 16, [0] * 16)
    free = grammar.arcs_from(np.arange(grammar.num_arcs))
    free.ilabel[free.ilabel == words.id_of["#0"]] = 0
    free = compose(loop, free)
    for sentence in ("one two", "one", "two two one", "one two one"):
        expected = -np.log(10) * model.score([sentence.split()])[0].sum()
        assert best_cost(free, words.ids(sentence.split())) <= expected + 1e-4
    log_prob = model.score([["one", "two"]])[0]
    assert best_cost(free, words.ids(["one", "two"])) == pytest.approx(-np.log(10) * log_prob.sum(), abs=1e-4)


def test_pushing_keeps_paths_and_evens_sums(golden):
    lexicon, grammar = read_fst(golden("gmm/lang/L_disambig.fst")), read_fst(golden("graph/fst/G.fst"))
    before = minimize_encoded(determinize_star(compose(lexicon, grammar)))
    after = push_special(before)
    assert_same_arcs(after, read_fst(golden("graph/fst/LG.fst")))
    sums = np.bincount(after.source, np.exp(-after.weight), after.num_states) + np.exp(-after.final)
    np.testing.assert_allclose(sums, sums[0], rtol=1e-3)
    assert best_cost(after, [3, 4, 5]) == pytest.approx(best_cost(before, [3, 4, 5]), abs=1e-4)


@pytest.mark.parametrize(("name", "shape"), SYSTEMS)
def test_context(golden, system, name, shape):
    tree, _ = system(name)
    graph, windows = compose_context(read_fst(golden("graph/fst/LG.fst")), [87, 88], tree.width, tree.central)
    assert windows == read_windows(golden(f"graph/fst/ilabels_{shape}"))
    assert_same_arcs(graph, read_fst(golden(f"graph/fst/CLG_{shape}.fst")))


@pytest.mark.parametrize(("name", "shape"), SYSTEMS)
def test_h(golden, system, name, shape):
    graph, disambig = h_transducer(read_windows(golden(f"graph/fst/ilabels_{shape}")), *system(name))
    assert disambig == [int(x) for x in golden(f"graph/fst/disambig_tid_{name}.int").read_text().split()]
    assert_same_arcs(graph, read_fst(golden(f"graph/fst/Ha_{name}.fst")))


def test_h_of_another_system(golden, system):
    windows = read_windows(golden("graph/fst/ilabels_3_1"))
    with pytest.raises(PymavgError, match="windows of 3 phones, the tree has 1"):
        h_transducer(windows, *system("mono"))
    with pytest.raises(PymavgError, match="tree and model differ"):
        h_transducer(windows, system("tri1")[0], system("mono")[1])


@pytest.mark.parametrize(("name", "shape"), SYSTEMS)
def test_epsilon_removal(golden, name, shape):
    h, clg = read_fst(golden(f"graph/fst/Ha_{name}.fst")), read_fst(golden(f"graph/fst/CLG_{shape}.fst"))
    graph = determinize_star(compose(h, clg))
    disambig = [int(x) for x in golden(f"graph/fst/disambig_tid_{name}.int").read_text().split()]
    graph.ilabel[np.isin(graph.ilabel, disambig)] = 0
    assert_same_arcs(minimize_encoded(remove_eps_local(graph)), read_fst(golden(f"graph/fst/HCLGa_{name}.fst")))


def test_epsilon_removal_by_hand():
    """0 -1:0-> 1 -0:2-> 2 -0:0-> 3 (final) is one arc; a state with two ways out gives up only what can be merged."""
    chain = Fst.from_arcs(0, [np.inf] * 3 + [0.5], [0, 1, 2], [1, 0, 0], [0, 2, 0], [1.0, 2.0, 4.0], [1, 2, 3])
    merged = remove_eps_local(chain)
    assert (merged.num_states, merged.ilabel.tolist(), merged.olabel.tolist()) == (2, [1], [2])
    assert merged.weight[0] + merged.final[1] == pytest.approx(7.5)
    fork = Fst.from_arcs(
        0, [np.inf, np.inf, 0.0], [0, 1, 1], [1, 0, 3], [0, 2, 0], [0.0, np.log(2), np.log(2)], [1, 2, 2]
    )
    merged = remove_eps_local(fork)
    arcs = sorted(zip(merged.ilabel.tolist(), merged.olabel.tolist(), np.round(np.exp(-merged.weight), 4), strict=True))
    assert arcs == [(1, 0, 0.5), (1, 2, 0.5), (3, 0, 1.0)]


@pytest.mark.parametrize(("name", "shape"), SYSTEMS)
def test_self_loops(golden, system, name, shape):
    graph = add_self_loops(read_fst(golden(f"graph/fst/HCLGa_{name}.fst")), system(name)[1], 0.1)
    assert_same_arcs(graph, read_fst(golden(f"graph/fst/HCLG_{name}.fst")))


@pytest.mark.parametrize(("name", "states", "arcs", "final"), [("mono", 328, 864, 13), ("tri1", 418, 1074, 18)])
def test_whole_graph(golden, system, name, states, arcs, final):
    lang = Lang(golden("gmm/lang"))
    grammar, _ = arpa_fst(read_arpa(golden("graph/bigram.arpa")), lang.words)
    lg = lexicon_grammar(lang.lexicon_disambig_fst, grammar)
    graph, _ = decoding_graph(lg, lang.disambig, *system(name))
    assert (graph.num_states, graph.num_arcs, np.isfinite(graph.final).sum()) == (states, arcs, final)
    expected = read_fst(golden(f"graph/fst/HCLG_{name}.fst"))
    assert_same_arcs(graph, expected, 1e-5)
    rng = random.Random(0)
    for _ in range(15):
        words = [rng.randint(3, 12) for _ in range(rng.randint(1, 6))]
        assert best_cost(graph, words) == pytest.approx(best_cost(expected, words), abs=1e-3)


@pytest.fixture
def experiment(golden, tmp_path):
    """A lang with G and a model directory."""
    shutil.copytree(golden("gmm/lang"), tmp_path / "lang")
    shutil.copy(golden("graph/fst/G.fst"), tmp_path / "lang")
    (tmp_path / "exp").mkdir()
    shutil.copy(golden("gmm/mono/trans_model.txt"), tmp_path / "exp/final.mdl")
    shutil.copy(golden("gmm/mono/tree"), tmp_path / "exp/tree")
    return tmp_path


def test_mkgraph(experiment, golden, capsys):
    arguments = [str(experiment / name) for name in ("lang", "exp", "exp/graph")]
    mkgraph.main(arguments)
    graph = experiment / "exp/graph"
    assert_same_arcs(read_fst(graph / "HCLG.fst"), read_fst(golden("graph/fst/HCLG_mono.fst")), 1e-5)
    assert (graph / "num_pdfs").read_text() == "67\n" and (graph / "disambig_tid.int").read_text() == "637\n638\n"
    assert {"words.txt", "phones.txt", "phones"} < {p.name for p in graph.iterdir()}
    assert (graph / "phones/word_boundary.int").exists() and (graph / "phones/silence.csl").exists()
    mkgraph.main(arguments)
    assert "is up to date" in capsys.readouterr().err


def test_mkgraph_of_what_does_not_match(experiment, golden):
    arguments = [str(experiment / name) for name in ("lang", "exp", "exp/graph")]
    shutil.copy(golden("gmm/tri1/tree"), experiment / "exp/tree")
    with pytest.raises(PymavgError, match="67 pdfs, tree 104"):
        mkgraph.main(arguments)
    (experiment / "exp/tree").unlink()
    with pytest.raises(PymavgError, match="exp/tree: no such file"):
        mkgraph.main(arguments)
    assert not (experiment / "exp/graph").exists()


def test_empty_composition(golden):
    grammar = Fst.from_arcs(0, [np.inf, 0.0], [0], [15], [15], [0.0], [1])
    with pytest.raises(PymavgError, match="no words in common"):
        lexicon_grammar(read_fst(golden("gmm/lang/L_disambig.fst")), grammar)
