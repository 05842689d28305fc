"""Models, likelihoods and forced alignment against Kaldi's files."""

import numpy as np
import pytest
from gmm_data import features_of, lang_of, text_alignments, transcripts

from pymavg.errors import PymavgError
from pymavg.gmm.align import align
from pymavg.gmm.align_job import Aligner, Report
from pymavg.gmm.align_options import AlignOptions
from pymavg.gmm.equal_align import align_equal
from pymavg.gmm.likelihood import GmmScorer
from pymavg.graph.training_graph import compile_training_graph
from pymavg.kaldi.fst import Fst
from pymavg.kaldi.gmm import AmDiagGmm, constants, read_model, write_model
from pymavg.kaldi.tables import read_matrices
from pymavg.kaldi.tree import read_tree


def random_gmm(rng, sizes=(3, 1, 4), dim=5):
    offset = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.concatenate([rng.dirichlet(np.ones(size)) for size in sizes])
    shape = (offset[-1], dim)
    return AmDiagGmm.from_moments(offset, weights, rng.standard_normal(shape), rng.uniform(0.5, 2.0, shape))


@pytest.mark.parametrize("name", ["mono/final.mdl", "mono/0.mdl", "tri1/final.mdl", "tri3/final.mdl", "units/init.mdl"])
def test_a_binary_model_is_written_back_to_the_byte(golden, tmp_path, name):
    path = golden(f"gmm/{name}")
    write_model(tmp_path / "m", *read_model(path))
    assert (tmp_path / "m").read_bytes() == path.read_bytes()


def test_text_form_is_kaldis(golden, tmp_path):
    transitions, gmm = read_model(golden("gmm/mono/final.mdl"))
    write_model(tmp_path / "m", transitions, gmm, binary=False)
    assert (tmp_path / "m").read_text() == golden("gmm/mono/final.txt").read_text()
    again = read_model(tmp_path / "m")[1]
    np.testing.assert_allclose(again.means_invvars, gmm.means_invvars, rtol=1e-6)


def test_constants_are_those_of_the_file(golden):
    gmm = read_model(golden("gmm/units/init.mdl"))[1]
    np.testing.assert_allclose(constants(gmm.weights, gmm.means_invvars, gmm.inv_vars), gmm.gconsts, rtol=1e-6)


@pytest.mark.parametrize("damage", [lambda b: b[:-200], lambda b: b.replace(b"<WEIGHTS>", b"<WEIGTHS>", 1)])
def test_a_damaged_model_is_named(golden, tmp_path, damage):
    path = tmp_path / "final.mdl"
    path.write_bytes(damage(golden("gmm/units/init.mdl").read_bytes()))
    with pytest.raises(PymavgError, match="final.mdl"):
        read_model(path)


def test_models_with_too_few_mixtures_are_refused(golden, tmp_path):
    data = golden("gmm/units/init.mdl").read_bytes()
    start = data.index(b"<NUMPDFS> ")
    end = data.index(b"<DiagGMM>", data.index(b"</DiagGMM>"))
    (tmp_path / "m").write_bytes(data[:start] + b"<NUMPDFS> \4\1\0\0\0" + data[data.index(b"<DiagGMM>") : end])
    with pytest.raises(PymavgError, match="1 mixtures for 104 pdfs"):
        read_model(tmp_path / "m")


def test_loglikes_equal_the_definition_and_any_choice_of_pdfs():
    rng = np.random.default_rng(0)
    gmm, x = random_gmm(rng), rng.standard_normal((700, 5)).astype(np.float32)
    means, variances = gmm.means(), gmm.variances()
    density = (
        np.exp(-0.5 * ((x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)).sum(2)) * gmm.weights
    )
    expected = np.log(np.stack([density[:, gmm.pdf_of == p].sum(1) for p in range(3)], 1))
    scorer = GmmScorer(gmm)
    np.testing.assert_allclose(scorer.loglikes(x), expected, atol=2e-5)
    np.testing.assert_allclose(scorer.loglikes(x, np.array([2, 0])), expected[:, [2, 0]], atol=2e-5)
    gmm.weights[0] = 0
    no_first = AmDiagGmm.from_natural(gmm.offset, gmm.weights, gmm.means_invvars, gmm.inv_vars)
    expected = np.log(density[:, 1:3].sum(1))
    np.testing.assert_allclose(GmmScorer(no_first).loglikes(x)[:, 0], expected, atol=2e-5)
    with pytest.raises(PymavgError, match="features have 4 dimensions, the model 5"):
        scorer.loglikes(x[:, :4])


@pytest.mark.parametrize("system", ["mono", "tri1", "tri2"])
def test_loglikes_equal_kaldis(golden, system):
    scorer = GmmScorer(read_model(golden(f"gmm/{system}/final.mdl"))[1])
    feats = features_of(golden("gmm/data/test"), golden(f"gmm/{system}"))
    for utterance, expected in read_matrices(f"ark:{golden(f'gmm/units/likes_{system}.ark')}"):
        np.testing.assert_allclose(scorer.loglikes(feats[utterance]), expected, atol=2e-3)


def rows_of(path):
    """Yield (utterance, fields) of a text archive of vectors, with or without brackets."""
    for line in path.read_text().splitlines():
        utterance, *fields = line.replace("[", " ").replace("]", " ").split()
        yield utterance, fields


@pytest.mark.parametrize("system", ["mono", "tri1", "tri2"])
def test_alignments_and_scores_equal_kaldis(golden, system):
    transitions, gmm = read_model(golden(f"gmm/{system}/final.mdl"))
    lang, data = lang_of(golden), golden("gmm/data/test")
    tree = read_tree(golden(f"gmm/{system}/tree"))
    aligner = Aligner(transitions, gmm, AlignOptions())
    expected = text_alignments(golden(f"gmm/units/align_{system}.ali.txt"))
    scores = dict(rows_of(golden(f"gmm/units/align_{system}.scores.txt")))
    frames = dict(rows_of(golden(f"gmm/units/align_{system}.frame_loglikes.txt")))
    words, scorer = transcripts(data, lang), GmmScorer(gmm)
    for utterance, feats in features_of(data, golden(f"gmm/{system}")).items():
        graph = compile_training_graph(words[utterance], lang.lexicon_fst, tree, transitions, lang.disambig)
        found = aligner(graph, feats)
        assert found.tids.tolist() == expected[utterance], utterance
        assert found.score == pytest.approx(float(scores[utterance][0]), rel=1e-4)
        own = scorer.loglikes(feats)[np.arange(len(feats)), transitions.tid_pdf[found.tids]]
        np.testing.assert_allclose(own, np.array(frames[utterance], float), atol=2e-3)


@pytest.mark.parametrize("system", ["mono", "tri1", "tri2"])
def test_phones_and_pdfs_of_alignments_equal_kaldis(golden, system):
    model = read_model(golden(f"gmm/{system}/final.mdl"))[0]
    tids = text_alignments(golden(f"gmm/units/align_{system}.ali.txt"))
    for kind, of in (("phones", model.tid_phone), ("pdfs", model.tid_pdf)):
        expected = text_alignments(golden(f"gmm/units/align_{system}.{kind}_first3.txt"))
        assert len(expected) == 3
        for utterance, numbers in expected.items():
            assert of[tids[utterance]].tolist() == numbers


def best_path_score(graph, likes, scale):
    """Return the best score by going through all states at every frame."""
    best = np.full(graph.num_states, -np.inf)
    best[graph.start] = 0

    def relax(best, new, arcs, gain):
        for arc in arcs:
            score = best[graph.source[arc]] - graph.weight[arc] + gain(arc)
            new[graph.target[arc]] = max(new[graph.target[arc]], score)

    epsilons, emitting = np.flatnonzero(graph.ilabel == 0), np.flatnonzero(graph.ilabel)
    for frame in range(len(likes) + 1):
        for _ in range(graph.num_states):
            relax(best, best, epsilons, lambda arc: 0)
        if frame < len(likes):
            new = np.full_like(best, -np.inf)
            relax(best, new, emitting, lambda arc, t=frame: scale * likes[t, graph.ilabel[arc]])
            best = new
    return (best - graph.final).max()


def test_search_finds_the_best_path_also_over_epsilon_arcs():
    rng = np.random.default_rng(1)
    for _ in range(20):
        states, arcs = 12, 60
        source, target = rng.integers(states, size=(2, arcs))
        labels = rng.integers(0, 9, arcs)
        labels[labels < 4] = 0
        final = np.where(rng.random(states) < 0.3, rng.random(states), np.inf)
        graph = Fst.from_arcs(0, final, source, labels, labels, rng.random(arcs), target)
        likes = rng.standard_normal((8, 9)).astype(np.float32)
        found = align(graph, likes, np.arange(9, dtype=np.int32), 0.7, beam=1000.0)
        expected = best_path_score(graph, likes, 0.7)
        if found is None:
            assert expected == -np.inf
        else:
            assert found.score == pytest.approx(expected, abs=1e-5)
            assert len(found.tids) == 8 and found.tids.min() > 0


def chain(length):
    """A graph that passes `length` states, label 1, with a self-loop, label 2, on each."""
    final = np.full(length + 1, np.inf)
    final[-1] = 0
    states = np.arange(length)
    source, target = np.concatenate([states, states + 1]), np.tile(states + 1, 2)
    label = np.repeat([1, 2], length)
    return Fst.from_arcs(0, final, source, label, label, np.zeros(2 * length), target)


def test_a_narrow_beam_fails_and_the_wider_one_helps():
    likes = np.zeros((60, 2), np.float32)
    likes[:30, 1] = 10  # to stay looks better at first, and there must be too many states for the minimum to help
    graph, tid_pdf = chain(55), np.array([0, 0, 1], np.int32)
    assert align(graph, likes, tid_pdf, 1.0, beam=1.0, retry_beam=0.0) is None
    assert align(graph, likes, tid_pdf, 1.0, beam=1.0, retry_beam=1000.0).retried
    assert align(graph, likes[:20], tid_pdf, 1.0, beam=1000.0) is None  # too short


def test_graph_and_model_must_belong_together():
    likes = np.zeros((60, 2), np.float32)
    with pytest.raises(PymavgError, match="transition-id 2, the model 1"):
        align(chain(3), likes, np.array([0, 0], np.int32))
    with pytest.raises(PymavgError, match="pdf 2, there are log-likelihoods of 2"):
        align(chain(3), likes, np.array([0, 0, 2], np.int32))


def test_equal_alignment_shares_the_frames():
    tids = align_equal(chain(4), 11, "utterance")
    assert len(tids) == 11 and (tids == 1).sum() == 4
    runs = np.diff(np.flatnonzero(np.append(tids, 1) == 1)) - 1
    assert runs.tolist() == [2, 2, 2, 1]
    assert align_equal(chain(4), 3, "utterance") is None


def test_silence_can_be_boosted(golden):
    transitions, gmm = read_model(golden("gmm/units/init.mdl"))
    boosted = gmm.scaled_weights([3], 2.0)
    np.testing.assert_allclose(boosted.gconsts - gmm.gconsts, np.where(gmm.pdf_of == 3, np.log(2), 0), atol=1e-4)
    with pytest.raises(PymavgError, match="--silence-phones"):
        Aligner(transitions, gmm, AlignOptions(boost_silence=1.5))


def test_failures_are_counted_named_and_limited(capsys):
    report = Report("align")
    for utterance in ("a", "b", "c"):
        report.add(utterance, align(chain(1), np.zeros((4, 2), np.float32), np.array([0, 0, 1], np.int32)))
    report.add("d", None)
    report.close(0.25)
    assert "3 of 4 utterances aligned, 0 with the wider beam (25.0% without; first: d)" in capsys.readouterr().err
    with pytest.raises(PymavgError, match="first: d.*--max-failed"):
        report.close(0.2)
