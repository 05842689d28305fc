"""What is done with paths through lattices, against Kaldi's results on its own lattices (golden/graph)."""

import re

import numpy as np
import pytest

from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.determinize import determinize
from pymavg.decoding.mbr import mbr_decode
from pymavg.decoding.wer import Counts
from pymavg.errors import PymavgError
from pymavg.tools.lattice_oracle import errors

SCALE = 0.1


def table(path):
    return {line.split()[0]: line.split()[1:] for line in path.read_text().split("\n") if line}


@pytest.fixture(params=["mono", "tri1", "tri1_noisy"])
def file(golden, request):
    return lambda kind: golden(f"graph/{request.param}.{kind}")


@pytest.fixture
def lattices(file):
    return dict(read_lattices(file("lat.ark")))


@pytest.fixture
def symbols(golden):
    return {int(v): k for k, (v,) in table(golden("graph/fst/words.txt")).items()}


def cost(lattice):
    return lattice.costs(acoustic_scale=SCALE)


def test_costs_of_the_best_path(file, lattices):
    graph, acoustic = table(file("1best_lmcost.txt")), table(file("1best_accost.txt"))
    alignments, words = table(file("1best_ali.txt")), table(file("1best_words.txt"))
    for utterance, lattice in lattices.items():
        best = paths.best_path(lattice, cost(lattice))
        assert best.words.tolist() == [int(w) for w in words[utterance]]
        assert best.tids.tolist() == [int(t) for t in alignments[utterance]]
        assert best.graph_cost == pytest.approx(float(graph[utterance][0]), abs=1e-3)
        assert best.acoustic_cost == pytest.approx(float(acoustic[utterance][0]), abs=1e-2)


@pytest.mark.parametrize(("lmwt", "penalty"), [(lmwt, penalty) for lmwt in (5, 10, 15) for penalty in (0.0, 1.0)])
def test_best_words_over_lm_weights_and_penalties(file, lattices, symbols, lmwt, penalty):
    expected = table(file(f"best_lmwt{lmwt}_wip{penalty}.txt"))
    for utterance, lattice in lattices.items():
        (arcs,) = paths.best_paths(lattice, [1 / lmwt], [penalty])
        assert [symbols[w] for w in paths.path_of(lattice, arcs).words] == expected[utterance]


def test_ten_best(file, lattices, symbols):
    expected, costs = {}, [table(file(f"nbest10_{kind}cost.txt")) for kind in ("lm", "ac")]
    for name, words in table(file("nbest10_words.txt")).items():
        row = words, *(float(values[name][0]) for values in costs)
        expected.setdefault(name.rsplit("-", 1)[0], []).append(row)
    for utterance, lattice in lattices.items():
        found = paths.n_best(lattice, cost(lattice), 10)
        assert [[symbols[w] for w in path.words] for path in found] == [words for words, _, _ in expected[utterance]]
        for path, (_, graph, acoustic) in zip(found, expected[utterance], strict=True):
            assert path.graph_cost == pytest.approx(graph, abs=1e-3)
            assert path.acoustic_cost == pytest.approx(acoustic, abs=1e-2)


def test_pruned_determinisation(file, lattices):
    """Words and costs of lattice-determinize-pruned; it starts, as Kaldi's does, from the lattice as it is."""
    pruned = dict(read_lattices(file("detpruned3.txt")))
    for utterance, lattice in lattices.items():
        found, expected = (
            {tuple(p.words.tolist()): p for p in paths.n_best(each, cost(each), 10_000)}
            for each in (determinize(lattice.expand(), SCALE, 3.0, utterance), pruned[utterance])
        )
        best = min(p.graph_cost + SCALE * p.acoustic_cost for p in expected.values())
        for words, path in expected.items():
            if path.graph_cost + SCALE * path.acoustic_cost < best + 3.0 - 1e-3:
                assert found[words].graph_cost == pytest.approx(path.graph_cost, abs=1e-3)
                assert found[words].acoustic_cost == pytest.approx(path.acoustic_cost, abs=2e-2)


def test_oracle_errors_and_paths(golden, file, lattices, symbols):
    ids = {symbol: number for number, symbol in symbols.items()}
    words, linear, total = table(file("oracle.txt")), dict(read_lattices(file("oracle_lat.ark"))), Counts()
    for utterance, said in table(golden("graph/text")).items():
        lattice, reference = lattices[utterance], [ids[w] for w in said]
        least, path = paths.oracle(lattice, reference, cost(lattice))
        counts = errors(said, [symbols[w] for w in path.words])
        assert least == counts.errors == errors(said, words[utterance]).errors
        total += counts
        (kaldis,) = paths.n_best(linear[utterance], cost(linear[utterance]), 2)
        assert [symbols[w] for w in kaldis.words] == words[utterance]
        ours, theirs = (p.graph_cost + SCALE * p.acoustic_cost for p in (path, kaldis))
        assert ours <= theirs + 1e-3  # Kaldi takes any of the paths with fewest errors
        same = paths.oracle(lattice, kaldis.words, cost(lattice))[1]  # no errors against itself
        assert np.array_equal(same.tids, kaldis.tids)
        assert (same.graph_cost, same.acoustic_cost) == pytest.approx(
            (kaldis.graph_cost, kaldis.acoustic_cost), abs=1e-3
        )
    logged = re.search(r"\[ (\d+) / (\d+), (\d+) ins\w*, (\d+) del\w*, (\d+) sub", file("oracle_log.txt").read_text())
    found = total.errors, total.words, total.insertions, total.deletions, total.substitutions
    assert found == tuple(map(int, logged.groups()))


def test_pruning_and_depth(file, lattices):
    pruned, depth = dict(read_lattices(file("pruned3.txt"))), table(file("depth.txt"))
    for utterance, lattice in lattices.items():
        narrow = paths.prune(lattice, cost(lattice), 3.0)
        assert narrow.num_arcs == pruned[utterance].num_arcs
        assert paths.posteriors(narrow, cost(narrow))[1] == pytest.approx(
            paths.posteriors(pruned[utterance], cost(pruned[utterance]))[1], abs=1e-2
        )
        assert paths.depth(lattice) == pytest.approx(float(depth[utterance][0]), abs=1e-2)


def test_mbr_words_risk_and_sausages(file, lattices, symbols):
    words, risk, bins, spans = (table(file(f"mbr_{k}.txt")) for k in ("words", "bayes_risk", "sausage", "times"))
    apart = []
    for utterance, lattice in lattices.items():
        sausage = mbr_decode(lattice, cost(lattice))
        assert [symbols[w] for w in sausage.words] == words[utterance]
        assert sausage.risk == pytest.approx(float(risk[utterance][0]), abs=1e-3)
        expected = [part.split() for part in " ".join(bins[utterance]).strip("[] ").split("] [")]
        assert len(expected) == len(sausage.bins)
        for one, other in zip(expected, sausage.bins, strict=True):
            assert [int(w) for w in one[::2]] == [w for w, _ in other]
            assert [float(p) for p in one[1::2]] == pytest.approx([p for _, p in other], abs=1e-3)
        times = np.array([float(t) for t in spans[utterance] if t != ";"]).reshape(-1, 2)
        apart += np.abs(np.array(sausage.bin_times) - times).ravel().tolist()
    # One border of tri1_noisy, an end and a beginning, hangs on a tie of alignments that rounding settles.
    assert (np.array(apart) > 1e-3).sum() <= (2 if "noisy" in file("mbr_times.txt").name else 0)


@pytest.mark.parametrize("cut", [3, 40, 90, 400])
def test_damaged_archives_are_refused(file, tmp_path, cut):
    whole = file("lat.ark").read_bytes()
    (tmp_path / "lat").write_bytes(whole[: len(whole) - cut] if cut < 100 else whole[:cut])
    with pytest.raises(PymavgError, match=r"lat: "):
        list(read_lattices(tmp_path / "lat"))
    (tmp_path / "lat").write_bytes(whole.replace(b"compactlattice44", b"compactlattice48"))
    with pytest.raises(PymavgError, match="expected a lattice"):
        list(read_lattices(tmp_path / "lat"))
