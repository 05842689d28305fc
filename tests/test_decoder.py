"""The decoder and determinisation: Kaldi's words, costs and lattices, and exhaustive search on a small graph."""

import re

import numpy as np
import pytest

from pymavg.decoding import paths
from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.decoding.decoder import Decoder, DecoderOptions, decode
from pymavg.decoding.determinize import determinize
from pymavg.errors import PymavgError
from pymavg.kaldi.fst import Fst, read_fst
from pymavg.kaldi.tables import read_matrices
from pymavg.kaldi.transitions import read_transition_model

SCALE = 0.1
SYSTEMS = [("mono", "mono"), ("tri1", "tri1"), ("tri1_noisy", "tri1")]


def table(path):
    return {line.split()[0]: line.split()[1:] for line in path.read_text().split("\n") if line}


def kaldi_decoder(golden, model):
    tid_pdf = read_transition_model(golden(f"gmm/{model}/trans_model.txt")).tid_pdf
    graph = read_fst(golden(f"graph/fst/HCLG_{model}.fst"))
    return Decoder(graph, tid_pdf, DecoderOptions(beam=13, lattice_beam=8, max_active=7000, min_active=200))


@pytest.mark.parametrize(("name", "model"), SYSTEMS)
def test_words_and_likelihoods_are_kaldis(golden, name, model):
    decoder = kaldi_decoder(golden, model)
    logged = dict(re.findall(r"utterance (\S+) is (\S+) over", golden(f"graph/{name}.decode_log.txt").read_text()))
    words = table(golden(f"graph/{name}.words.txt"))
    for utterance, loglikes in read_matrices(f"ark:{golden(f'graph/{name}.likes.ark')}"):
        lattice = decoder.decode(loglikes, SCALE, utterance)
        best = paths.best_path(lattice, lattice.costs(acoustic_scale=SCALE))
        score = -(best.graph_cost + SCALE * best.acoustic_cost) / len(loglikes)
        assert lattice.reached_final
        assert [str(w) for w in best.words] == words[utterance]
        assert score == pytest.approx(float(logged[utterance]), abs=1e-4)
        assert len(best.tids) == lattice.num_frames == len(loglikes)


@pytest.mark.parametrize(("name", "model"), SYSTEMS)
def test_determinised_lattices_hold_kaldis_paths_costs_and_alignments(golden, name, model):
    decoder = kaldi_decoder(golden, model)
    expected = dict(read_lattices(golden(f"graph/{name}.lat.ark")))
    for utterance, loglikes in read_matrices(f"ark:{golden(f'graph/{name}.likes.ark')}"):
        compact = determinize(decoder.decode(loglikes, SCALE), SCALE, 8.0, utterance)
        found, wanted = all_paths(compact), all_paths(expected[utterance])
        assert found.keys() == wanted.keys()
        for words, path in wanted.items():
            assert found[words].graph_cost == pytest.approx(path.graph_cost, abs=1e-3)
            assert found[words].acoustic_cost == pytest.approx(path.acoustic_cost, abs=0.02)
            assert np.array_equal(found[words].tids, path.tids)


def all_paths(lattice):
    found = paths.n_best(lattice, lattice.costs(acoustic_scale=SCALE), 100_000)
    by_words = {tuple(path.words): path for path in found}
    assert len(by_words) == len(found), "two paths have the same words"
    return by_words


def random_graph(rng, states=6, pdfs=4):
    """A graph with self-loops, branches and epsilon arcs forward; its transition-id t has pdf t - 1."""
    arcs = []
    for s in range(states):
        for _ in range(3):
            arcs.append(
                (s, int(rng.integers(1, pdfs + 1)), int(rng.integers(0, 3)), rng.random(), int(rng.integers(states)))
            )
        if s + 1 < states:
            arcs.append((s, 0, int(rng.integers(0, 3)), rng.random(), int(rng.integers(s + 1, states))))
    source, ilabel, olabel, weight, target = zip(*arcs, strict=True)
    final = np.where(np.arange(states) >= states - 2, rng.random(states), np.inf)
    return Fst.from_arcs(0, final, source, ilabel, olabel, weight, target)


def every_path(graph, loglikes):
    """Return {words: lowest cost} by extending every path."""
    source = graph.source
    ends = {}
    stack = [(graph.start, 0, (), 0.0)]
    while stack:
        state, t, words, cost = stack.pop()
        if t == len(loglikes) and np.isfinite(graph.final[state]):
            ends[words] = min(ends.get(words, np.inf), cost + graph.final[state])
        for a in np.flatnonzero(source == state):
            tid, word = int(graph.ilabel[a]), int(graph.olabel[a])
            if tid and t == len(loglikes):
                continue
            acoustic = -SCALE * loglikes[t, tid - 1] if tid else 0.0
            longer = words + ((word,) if word else ())
            stack.append((int(graph.target[a]), t + (tid > 0), longer, cost + graph.weight[a] + acoustic))
    return ends


@pytest.mark.parametrize("seed", range(5))
def test_lattice_holds_every_path_within_the_beam(seed):
    rng = np.random.default_rng(seed)
    graph, loglikes = random_graph(rng), rng.normal(size=(4, 4)).astype(np.float32) * 5
    expected = every_path(graph, loglikes)
    best = min(expected.values())
    options = DecoderOptions(beam=100, lattice_beam=2.0, prune_interval=2)
    lattice = decode(graph, loglikes, np.array([0, 0, 1, 2, 3]), SCALE, options)
    compact = determinize(lattice, SCALE, 2.0)
    found = {words: p.graph_cost + SCALE * p.acoustic_cost for words, p in all_paths(compact).items()}
    within = {words: cost for words, cost in expected.items() if cost <= best + 2 - 1e-6}
    assert within.keys() <= found.keys()
    for words in within:
        assert found[words] == pytest.approx(expected[words], abs=1e-4)
    fast = all_paths(determinize(lattice, SCALE, 2.0, margin=0.0))
    assert within.keys() <= fast.keys()


def test_partial_result_where_no_final_state_is_reached():
    graph = Fst.from_arcs(0, [np.inf, np.inf, 0.0], [0, 1], [1, 2], [1, 2], [0.0, 0.0], [1, 2])
    lattice = decode(graph, np.zeros((1, 2), np.float32), np.array([0, 0, 1]), SCALE)
    assert not lattice.reached_final
    assert paths.best_path(lattice, lattice.costs()).words.tolist() == [1]
    assert decode(graph, np.zeros((3, 2), np.float32), np.array([0, 0, 1]), SCALE) is None


def test_raw_lattice_survives_its_archive(tmp_path):
    rng = np.random.default_rng(3)
    lattice = decode(random_graph(rng), rng.normal(size=(5, 4)).astype(np.float32), np.array([0, 0, 1, 2, 3]), SCALE)
    with LatticeWriter(tmp_path / "lat.1.gz") as writer:
        writer.write("a", lattice)
        writer.write("b", determinize(lattice, SCALE, 5.0))
    (_, raw), (_, compact) = read_lattices(tmp_path / "lat.1.gz")
    for field in ("source", "target", "word", "tid", "graph_cost", "acoustic_cost"):
        assert np.allclose(getattr(raw, field), getattr(lattice, field), atol=1e-5), field
    with pytest.raises(ValueError, match="expand"):
        compact.tid  # noqa: B018
    total, expanded = (paths.posteriors(x, x.costs())[1] for x in (compact, compact.expand()))
    assert total == pytest.approx(expanded)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m[:, :3], "3 columns"),
        (lambda m: m[:0], "no frames"),
        (lambda m: m * np.nan, "frame 0: log-likelihood is not finite"),
    ],
)
def test_bad_matrices_are_refused(change, message):
    graph = random_graph(np.random.default_rng(0))
    with pytest.raises(PymavgError, match=message):
        Decoder(graph, np.array([0, 0, 1, 2, 3])).decode(change(np.ones((2, 4), np.float32)), SCALE, "u1")


def test_graph_of_another_model_and_epsilon_cycles_are_refused():
    with pytest.raises(PymavgError, match="of different systems"):
        Decoder(random_graph(np.random.default_rng(0)), np.array([0, 0, 1]))
    loop = Fst.from_arcs(0, [0.0, 0.0], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0.0, 0.0, 0.0], [0, 1, 0])
    with pytest.raises(PymavgError, match="cycle"):
        decode(loop, np.zeros((2, 1), np.float32), np.array([0, 0]), SCALE)
    with pytest.raises(PymavgError, match="--beam: must be above 0"):
        DecoderOptions(beam=0).check()
