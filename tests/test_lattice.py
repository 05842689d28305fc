"""Everything that is done with lattices, against Kaldi's own results on its own lattices (golden/graph)."""

import re

import numpy as np
import pytest

from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.determinize import determinize
from pymavg.decoding.mbr import mbr_decode
from pymavg.decoding.word_lattice import WordAligner
from pymavg.decoding.word_times import WordTimer
from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.kaldi.transitions import read_transition_model

NAME, SCALE = "tri1_noisy", 0.1


def table(path):
    return {line.split()[0]: line.split()[1:] for line in path.read_text().split("\n") if line}


@pytest.fixture
def file(golden):
    return lambda kind: golden(f"graph/{NAME}.{kind}")


@pytest.fixture
def lattices(file):
    return dict(read_lattices(file("lat.ark")))


@pytest.fixture
def symbols(golden):
    return {int(v): k for k, (v,) in table(golden("graph/fst/words.txt")).items()}


@pytest.fixture
def lang(golden):
    golden("gmm/lang/phones/word_boundary.int")
    return Lang(golden("gmm/lang"))


@pytest.fixture
def model(golden):
    return read_transition_model(golden("gmm/tri1/trans_model.txt"))


def cost(lattice):
    return lattice.costs(acoustic_scale=SCALE)


def test_costs_of_the_best_path(file, lattices):
    graph, acoustic = table(file("1best_lmcost.txt")), table(file("1best_accost.txt"))
    alignments = table(file("1best_ali.txt"))
    for utterance, lattice in lattices.items():
        best = paths.best_path(lattice, cost(lattice))
        assert best.tids.tolist() == [int(t) for t in alignments[utterance]]
        assert best.graph_cost == pytest.approx(float(graph[utterance][0]), abs=1e-3)
        assert best.acoustic_cost == pytest.approx(float(acoustic[utterance][0]), abs=1e-2)


@pytest.mark.parametrize(("lmwt", "penalty"), [(5, 0.0), (10, 1.0), (15, 1.0)])
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


def test_oracle_errors(golden, file, lattices, symbols):
    ids = {symbol: number for number, symbol in symbols.items()}
    errors = 0
    for utterance, words in table(golden("graph/text")).items():
        reference = [ids[w] for w in words]
        least, path = paths.oracle(lattices[utterance], reference)
        assert least == levenshtein(reference, path)
        errors += least
    assert errors == int(re.search(r"\[ (\d+) /", file("oracle_log.txt").read_text())[1])


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


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
    words, risk, bins = (table(file(f"mbr_{kind}.txt")) for kind in ("words", "bayes_risk", "sausage"))
    for utterance, lattice in lattices.items():
        sausage = mbr_decode(lattice, cost(lattice))
        assert [symbols[w] for w in sausage.words] == words[utterance]
        assert sausage.risk == pytest.approx(float(risk[utterance][0]), abs=1e-3)
        expected = [part.split() for part in " ".join(bins[utterance]).strip("[] ").split("] [")]
        assert len(expected) == len(sausage.bins)
        for one, other in zip(expected, sausage.bins, strict=True):
            assert [int(w) for w in one[::2]] == [w for w, _ in other]
            assert [float(p) for p in one[1::2]] == pytest.approx([p for _, p in other], abs=1e-3)


@pytest.mark.parametrize(("kind", "choose"), [("mbr.ctm", True), ("conf_1best.ctm", False)])
def test_ctm_with_confidences_from_word_lattices(file, lattices, symbols, lang, model, kind, choose):
    aligner, found = WordAligner(model, lang.word_boundary), []
    for utterance, lattice in lattices.items():
        words = aligner.align(lattice)
        result = mbr_decode(words, cost(words), choose)
        for word, (start, end), p in zip(result.words, result.times, result.confidences, strict=True):
            found.append((utterance, symbols[word], start / 100, (end - start) / 100, p))
    expected = [line.split() for line in file(kind).read_text().split("\n") if line]
    assert [(r[0], r[1]) for r in found] == [(r[0], r[4]) for r in expected]
    assert np.allclose([r[2:] for r in found], [[float(r[k]) for k in (2, 3, 5)] for r in expected], atol=0.0101)


def test_word_lattices_and_their_posteriors(file, lattices, lang, model):
    aligner, expected, found = WordAligner(model, lang.word_boundary), {}, {}
    aligned = dict(read_lattices(file("aligned_words.txt")))
    for line in file("arc_post.txt").read_text().split("\n")[:-1]:
        utterance, start, frames, p, word = line.split()[:5]
        key = utterance, int(start), int(frames), int(word)
        expected[key] = expected.get(key, 0.0) + float(p)
    for utterance, lattice in lattices.items():
        words = aligner.align(lattice)
        assert spans(words) == spans(aligned[utterance])
        p, _ = paths.posteriors(words, cost(words))
        for (start, end, word), share in zip(all_spans(words), p, strict=True):
            key = utterance, start, end - start, word
            found[key] = found.get(key, 0.0) + share
    assert {key for key, p in found.items() if p > 1e-3} <= expected.keys()
    for key, p in expected.items():
        assert found[key] == pytest.approx(p, abs=1e-3)


def all_spans(lattice):
    times = lattice.times
    return list(zip(times[lattice.source].tolist(), times[lattice.target].tolist(), lattice.word.tolist(), strict=True))


def spans(lattice):
    return {span for span in all_spans(lattice) if span[1] > span[0]}


@pytest.mark.parametrize("by_boundary", [True, False])
def test_word_times_of_the_best_path(file, lattices, symbols, lang, model, by_boundary):
    timer, found = WordTimer(model, lang), []
    timer.boundary = lang.word_boundary if by_boundary else {}
    for utterance, lattice in lattices.items():
        best = paths.best_path(lattice, cost(lattice))
        for start, end, word in timer.times(best.tids, best.words):
            found.append([utterance, "1", f"{start / 100:.3f}", f"{(end - start) / 100:.3f}", symbols[word]])
    assert found == [line.split() for line in file("1best.ctm").read_text().split("\n") if line]


def test_words_of_another_lexicon_are_refused_and_broken_paths_are_not(lattices, lang, model):
    lattice = lattices["theo-test-004"]
    best = paths.best_path(lattice, cost(lattice))
    with pytest.raises(PymavgError, match="u1: 3 words, but phones of 4 words"):
        WordTimer(model, lang).times(best.tids, best.words[:3], "u1")
    times = WordTimer(model, lang).times(best.tids[:45], best.words[:1])
    assert times[-1][1] == 45 or times[-1][1] == 38


@pytest.mark.parametrize("cut", [3, 40, 90, 400])
def test_damaged_archives_are_refused(file, tmp_path, cut):
    whole = file("lat.ark").read_bytes()
    (tmp_path / "lat").write_bytes(whole[: len(whole) - cut] if cut < 100 else whole[:cut])
    with pytest.raises(PymavgError, match=r"lat: "):
        list(read_lattices(tmp_path / "lat"))
    (tmp_path / "lat").write_bytes(whole.replace(b"compactlattice44", b"compactlattice48"))
    with pytest.raises(PymavgError, match="expected a lattice"):
        list(read_lattices(tmp_path / "lat"))
