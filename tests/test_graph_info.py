"""What Kaldi's programs say of the graphs (fstinfo, fstisstochastic) and of whole decodings (WER): of ours, too."""

import re
import shutil

import numpy as np
import pytest
from test_graph import SYSTEMS, system  # noqa: F401

from pymavg.cli import main
from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.wer import Counts
from pymavg.graph.algorithms import compose, compose_context, determinize_star, minimize_encoded
from pymavg.graph.arpa import read_arpa
from pymavg.graph.eps_removal import remove_eps_local
from pymavg.graph.grammar import arpa_fst
from pymavg.graph.hcl import add_self_loops, h_transducer
from pymavg.graph.hclg import lexicon_grammar
from pymavg.graph.lang import Lang
from pymavg.kaldi.symbols import read_symbols
from pymavg.tools.lattice_oracle import errors

COUNTED = {
    "num_states": "# of states",
    "num_arcs": "# of arcs",
    "final": "# of final states",
    "both": "# of input/output epsilons",
    "ilabel": "# of input epsilons",
    "olabel": "# of output epsilons",
}


def counts(fst):
    """Return the numbers of fstinfo."""
    silent = {"ilabel": fst.ilabel == 0, "olabel": fst.olabel == 0, "both": (fst.ilabel == 0) & (fst.olabel == 0)}
    found = {name: int(where.sum()) for name, where in silent.items()}
    return found | {
        "num_states": fst.num_states,
        "num_arcs": fst.num_arcs,
        "final": int(np.isfinite(fst.final).sum()),
    }


def extremes(fst):
    """Return the highest and lowest cost of all that a state gives away: 0 where its probabilities add up to 1."""
    given = np.exp(-fst.final.astype(np.float64))
    given += np.bincount(fst.source, np.exp(-fst.weight.astype(np.float64)), fst.num_states)
    cost = -np.log(given)
    return cost.max(), cost.min()


def stages(lang, grammar, tree, model):
    """Yield (name of the stage, graph) from L to HCLG, each made of ours before."""
    yield "L", lang.lexicon_fst
    yield "L_disambig", lang.lexicon_disambig_fst
    yield "G", grammar
    lg = lexicon_grammar(lang.lexicon_disambig_fst, grammar)
    yield "LG", lg
    clg, windows = compose_context(lg, lang.disambig, tree.width, tree.central)
    yield f"CLG_{tree.width}_{tree.central}", clg
    h, disambig = h_transducer(windows, tree, model)
    yield "Ha", h
    graph = determinize_star(compose(h, clg))
    graph.ilabel[np.isin(graph.ilabel, disambig)] = 0
    graph = minimize_encoded(remove_eps_local(graph))
    yield "HCLGa", graph
    yield "HCLG", add_self_loops(graph, model, 0.1)


@pytest.mark.parametrize("name", [name for name, _ in SYSTEMS])
def test_counts_and_stochasticity_of_all_stages_are_kaldis(golden, system, name):  # noqa: F811
    parts = re.split(r"^== ", golden("graph/fst/fstinfo.txt").read_text(), flags=re.MULTILINE)
    told = {part.split()[0]: part.splitlines() for part in parts if part.strip()}
    lang = Lang(golden("gmm/lang"))
    grammar, _ = arpa_fst(read_arpa(golden("graph/bigram.arpa")), lang.words)
    for stage, fst in stages(lang, grammar, *system(name)):
        first, *lines = told[stage if stage in told else f"{stage}_{name}"]
        info = {key.strip(): value for key, value in (re.split(r"\s{2,}", line) for line in lines if line)}
        assert counts(fst) == {key: int(info[label]) for key, label in COUNTED.items()}, stage
        highest, lowest = (float(x) for x in first.split()[-2:])
        assert extremes(fst) == pytest.approx((highest, lowest), abs=1e-5), stage  # 6 digits are told


@pytest.mark.parametrize(("name", "shape"), SYSTEMS)
def test_windows_of_disambiguation_symbols_are_kaldis(golden, system, name, shape):  # noqa: F811
    tree, _ = system(name)
    lang = Lang(golden("gmm/lang"))
    grammar, _ = arpa_fst(read_arpa(golden("graph/bigram.arpa")), lang.words)
    lg = lexicon_grammar(lang.lexicon_disambig_fst, grammar)
    _, windows = compose_context(lg, lang.disambig, tree.width, tree.central)
    found = [number for number, window in enumerate(windows) if len(window) == 1 and window[0] <= 0]
    assert found == [int(x) for x in golden(f"graph/fst/disambig_ilabels_{shape}.int").read_text().split()]


def logged(golden, file, name):
    """Return (the line of compute-wer, utterances with errors, utterances) of a system."""
    text = golden(f"graph/{file}").read_text()
    wer = re.search(rf"^{name} (%WER .*)$", text, re.MULTILINE)[1]
    wrong = re.search(rf"^{name} %SER \S+ \[ (\d+) / (\d+) \]", text, re.MULTILINE)
    return wer, *(map(int, wrong.groups()) if wrong else (None, None))


def table(path):
    return {line.split()[0]: line.split()[1:] for line in path.read_text().splitlines()}


@pytest.mark.parametrize("name", ["mono", "tri1", "tri1_noisy"])
def test_word_errors_are_counted_as_kaldi_does(golden, name):
    symbols = read_symbols(golden("graph/fst/words.txt"))
    said, each = table(golden("graph/text")), {}
    for utterance, lattice in read_lattices(golden(f"graph/{name}.lat.ark")):
        (arcs,) = paths.best_paths(lattice, [1 / 10], [0.0])
        each[utterance] = errors(said[utterance], symbols.symbols(paths.path_of(lattice, arcs).words.tolist(), name))
    wrong = sum(found.errors > 0 for found in each.values())
    assert (str(sum(each.values(), Counts())), wrong, len(each)) == logged(golden, "wer.txt", name)


@pytest.mark.parametrize("name", ["mono", "tri1", "tri2"])
def test_whole_test_set_is_decoded_as_by_kaldi(shared, golden, tmp_path, monkeypatch, name):
    """From features and models: graph, likelihoods and lattices are ours."""
    lang, model, data = tmp_path / "lang", shared(f"golden/gmm/{name}"), shared("golden/gmm/data/test")
    monkeypatch.chdir(model.parent)  # where the paths in feats.scp start
    shutil.copytree(model.parent / "lang", lang)
    shutil.copy(golden("graph/fst/G.fst"), lang)
    assert main(["mkgraph", str(lang), str(model), str(tmp_path / "graph")]) == 0
    assert main(["decode-gmm", *map(str, (tmp_path / "graph", data, model, tmp_path / "lat.1.gz"))]) == 0
    symbols = read_symbols(lang / "words.txt")
    expected, said, total = table(golden(f"graph/test30.{name}.txt")), table(data / "text"), Counts()
    for utterance, lattice in read_lattices(tmp_path / "lat.1.gz"):
        (arcs,) = paths.best_paths(lattice, [1 / 10], [0.0])
        words = symbols.symbols(paths.path_of(lattice, arcs).words.tolist(), name)
        assert words == expected.pop(utterance)
        total += errors(said[utterance], words)
    assert not expected
    assert str(total) == logged(golden, "test30.wer.txt", name)[0]
