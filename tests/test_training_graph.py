"""Graphs of transcripts against Kaldi's compile-train-graphs."""

import shutil

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.graph.hcl import add_transition_probs
from pymavg.graph.lang import Lang
from pymavg.graph.training_graph import TrainingGraphCompiler, compile_training_graph
from pymavg.kaldi.fst import Fst, read_fsts
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.tools import compile_train_graphs


@pytest.fixture
def compiler(golden):
    def make(name):
        lang = Lang(golden("gmm/lang"))
        model = read_transition_model(golden(f"gmm/{name}/trans_model.txt"))
        return TrainingGraphCompiler(lang.lexicon_fst, read_tree(golden(f"gmm/{name}/tree")), model, lang.disambig)

    return make


@pytest.fixture
def transcripts(golden):
    words = Lang(golden("gmm/lang")).words
    return [words.ids(line.split()[1:]) for line in golden("gmm/data/test/text").read_text().splitlines()]


def printed_fst(path):
    """Read the FST that fstprint (with an utterance before it) wrote."""
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:] if line]
    arcs = [[float(x) for x in row] + [0.0] * (5 - len(row)) for row in rows if len(row) > 2]
    final = np.full(1 + int(max(max(arc[:2]) for arc in arcs)), np.inf)
    for row in rows:
        if len(row) <= 2:
            final[int(row[0])] = float(row[1]) if len(row) == 2 else 0.0
    source, target, ilabel, olabel, weight = (np.array(column) for column in zip(*arcs, strict=True))
    return Fst.from_arcs(0, final, source, ilabel, olabel, weight, target)


def isomorphic(a, b):
    """Walk both from the start, arcs paired by their labels and costs; states met together must always be the same."""
    keys = [np.lexsort((fst.weight, fst.target == fst.source, fst.olabel, fst.ilabel, fst.source)) for fst in (a, b)]
    a, b = a.arcs_from(keys[0]), b.arcs_from(keys[1])
    partner, queue = {a.start: b.start}, [a.start]
    for s in queue:
        t = partner[s]
        arcs_a, arcs_b = (np.arange(f.offset[q], f.offset[q + 1]) for f, q in ((a, s), (b, t)))
        same = len(arcs_a) == len(arcs_b) and np.isclose(np.exp(-a.final[s]), np.exp(-b.final[t]), atol=1e-5)
        if not same or not np.array_equal(a.ilabel[arcs_a], b.ilabel[arcs_b]):
            return False
        if not np.array_equal(a.olabel[arcs_a], b.olabel[arcs_b]):
            return False
        if not np.allclose(a.weight[arcs_a], b.weight[arcs_b], atol=1e-5):
            return False
        for x, y in zip(a.target[arcs_a].tolist(), b.target[arcs_b].tolist(), strict=True):
            if partner.setdefault(x, y) != y:
                return False
            if x not in queue:
                queue.append(x)
    return len(queue) == a.num_states == b.num_states


@pytest.mark.parametrize("name", ["mono", "tri1"])
def test_equal_to_kaldis(golden, compiler, transcripts, name):
    first, *_ = compiler(name).compile(transcripts)
    assert isomorphic(first, printed_fst(golden(f"gmm/units/train_graph_{name}_first.txt")))


def test_isomorphic_can_fail(compiler, transcripts):
    a, b = compiler("mono").compile([transcripts[0], transcripts[0][::-1]])
    assert isomorphic(a, a) and not isomorphic(a, b)


def test_a_graph_does_not_depend_on_its_batch(compiler, transcripts):
    tri = compiler("tri1")
    together = list(tri.compile(transcripts))
    for words, graph in list(zip(transcripts, together, strict=True))[::9]:
        (alone,) = tri.compile([words])
        assert isomorphic(alone, graph)


def test_every_path_says_the_words(compiler, transcripts):
    rng = np.random.default_rng(0)
    for words, graph in zip(transcripts[:10], compiler("tri1").compile(transcripts[:10]), strict=True):
        state, said = graph.start, []
        while not np.isfinite(graph.final[state]):
            arc = rng.integers(graph.offset[state], graph.offset[state + 1])
            said += [graph.olabel[arc]] if graph.olabel[arc] else []
            state = graph.target[arc]
        assert said == words


def test_unknown_words_have_no_graph(compiler, golden, transcripts):
    mono = compiler("mono")
    graphs = list(mono.compile([transcripts[0], [13], [3, 999]]))
    assert graphs[0].num_states > 0 and graphs[1:] == [None, None]
    assert list(mono.compile([[13]])) == [None]
    assert list(mono.compile([])) == []
    (silence,) = mono.compile([[]])
    assert not silence.olabel.any() and np.isfinite(silence.final).any()
    lang, tree = Lang(golden("gmm/lang")), read_tree(golden("gmm/mono/tree"))
    with pytest.raises(PymavgError, match=r"no path for the words \[13\]"):
        compile_training_graph([13], lang.lexicon_fst, tree, mono.model, lang.disambig)


def test_transition_probabilities(compiler, transcripts):
    mono = compiler("mono")
    (graph,) = mono.compile(transcripts[:1])
    model, full = mono.model, add_transition_probs(graph, mono.model)
    added = full.weight - graph.weight
    for arc in range(0, graph.num_arcs, 7):
        tid = graph.ilabel[arc]
        p, leaving = model.log_prob[tid], model.non_self_loop_log_prob[model.tid_tstate[tid]]
        expected = 0.0
        if tid and model.tid_is_self_loop[tid]:
            expected = -0.1 * p
        elif tid:
            expected = -0.1 * leaving - (p - leaving)
        assert added[arc] == pytest.approx(expected, abs=1e-5)
    plain = add_transition_probs(graph, model, 1.0, 1.0)
    np.testing.assert_allclose(
        plain.weight - graph.weight, -model.log_prob[graph.ilabel] * (graph.ilabel > 0), atol=1e-5
    )


def test_tool(golden, tmp_path, capsys):
    (tmp_path / "text").write_text("u1 one two\nu2 nought\n")
    shutil.copy(golden("gmm/mono/trans_model.txt"), tmp_path / "0.mdl")
    arguments = [golden("gmm/mono/tree"), tmp_path / "0.mdl", golden("gmm/lang"), tmp_path / "text"]
    compile_train_graphs.main([str(a) for a in [*arguments, tmp_path / "fsts.1.gz"]])
    graphs = dict(read_fsts(f"ark:{tmp_path}/fsts.1.gz"))
    assert list(graphs) == ["u1", "u2"] and 2 in graphs["u2"].olabel, "a word outside words.txt is the unknown word"
    (tmp_path / "text").write_text("u1 <s>\n")
    with pytest.raises(PymavgError, match="none of 1 utterances has a graph"):
        compile_train_graphs.main([str(a) for a in [*arguments, tmp_path / "none.gz"]])
    assert not (tmp_path / "none.gz").exists()
