"""Statistics, updates and first models against Kaldi's files and against definitions."""

import numpy as np
import pytest
from gmm_data import alignments, features, lang_of, text_alignments
from test_gmm_model import random_gmm

from pymavg.errors import PymavgError
from pymavg.gmm.accumulate import GmmStats, accumulate, load_stats
from pymavg.gmm.estimate import UpdateOptions, mix_up, pdf_occupancy, split_targets, update
from pymavg.gmm.first_model import AlignmentConverter, monophone_model, tree_model
from pymavg.gmm.tree_stats import accumulate_tree_stats, frame_keys
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.transitions import TransitionModel, read_transition_model
from pymavg.kaldi.tree import read_tree


def training_data(golden):
    """Return alignments of golden's monophones, and all frames."""
    tids, feats = alignments(golden("gmm/mono/ali_final.gz")), features(golden("gmm/data/train"))
    return tids, np.concatenate([feats[utterance] for utterance in tids])


def assert_models_agree(found, expected, tolerance):
    """Compare means and variances to `tolerance` of their size, a mean's size being at least its deviation."""
    assert np.array_equal(found.offset, expected.offset)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=tolerance, atol=tolerance * 0.1)
    np.testing.assert_allclose(found.inv_vars, expected.inv_vars, rtol=tolerance)
    size = np.abs(expected.means()) + np.sqrt(expected.variances())
    assert (np.abs(found.means() - expected.means()) / size).max() < tolerance


def test_update_of_trained_model_equals_kaldis(golden):
    transitions, gmm = read_model(golden("gmm/mono/final.mdl"))
    tids, frames = training_data(golden)
    stats = GmmStats.zeros(gmm, transitions.num_tids)
    accumulate(stats, gmm, transitions.tid_pdf, frames, np.concatenate(list(tids.values())))
    expected_transitions, expected = read_model(golden("gmm/units/mono_est.mdl"))
    found, removed = update(gmm, stats, UpdateOptions())
    assert removed == 0
    assert_models_agree(found, expected, 4e-4)  # Kaldi's posteriors of rare Gaussians are single precision
    ratio = np.abs(found.inv_vars / expected.inv_vars - 1)
    assert (ratio > 1e-4).mean() < 1e-3
    gain = transitions.update(stats.transitions) / stats.frames
    assert gain == pytest.approx(7.43134e-06, rel=2e-3)
    np.testing.assert_allclose(transitions.log_prob, expected_transitions.log_prob, atol=1e-5)
    occupancy = open_reader(golden("gmm/units/mono_est.occs")).vector()
    np.testing.assert_allclose(pdf_occupancy(gmm, stats), occupancy, rtol=1e-6)


def test_first_triphone_model_conversion_and_update_equal_kaldis(golden):
    lang, tree = lang_of(golden), read_tree(golden("gmm/units/tree"))
    old = read_transition_model(golden("gmm/mono/trans_model.txt"))
    new = TransitionModel.from_tree(lang.topology, tree)
    tids, frames = training_data(golden)
    stats = accumulate_tree_stats(frame_keys(old, list(tids.values()), lang.context_indep, 3, 1), frames)
    gmm, occupancy, unseen = tree_model(tree, stats)
    assert_models_agree(gmm, read_model(golden("gmm/units/init.mdl"))[1], 1e-5)
    np.testing.assert_allclose(occupancy, open_reader(golden("gmm/units/init.occs")).vector())
    assert unseen == [1]

    converted = np.concatenate(AlignmentConverter(old, new, tree).convert(list(tids.values())))
    stats = GmmStats.zeros(gmm, new.num_tids)
    accumulate(stats, gmm, new.tid_pdf, frames, converted)
    expected_transitions, expected = read_model(golden("gmm/units/init_est.mdl"))
    assert_models_agree(update(gmm, stats, UpdateOptions(remove_low_count_gaussians=False))[0], expected, 1e-5)
    assert new.update(stats.transitions) / stats.frames == pytest.approx(0.272155, rel=1e-4)
    np.testing.assert_allclose(new.log_prob, expected_transitions.log_prob, atol=1e-5)


def test_converted_alignments_equal_kaldis(golden):
    expected = text_alignments(golden("gmm/units/convert_ali_first30.txt"))
    tids = alignments(golden("gmm/mono/ali_final.gz"))
    lang, tree = lang_of(golden), read_tree(golden("gmm/units/tree"))
    old = read_transition_model(golden("gmm/mono/trans_model.txt"))
    converter = AlignmentConverter(old, TransitionModel.from_tree(lang.topology, tree), tree)
    found = converter.convert([tids[utterance] for utterance in expected])
    assert [ali.tolist() for ali in found] == list(expected.values())


def expected_update(x, gmm):
    """Return weights, means and variances of one mixture's EM step, from the definition."""
    means, variances = gmm.means(), gmm.variances()
    density = gmm.weights * np.exp(
        -0.5 * ((x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)).sum(2)
    )
    gamma = density / density.sum(1, keepdims=True)
    n = gamma.sum(0)
    mean = gamma.T @ x / n[:, None]
    variance = np.stack([gamma[:, k] @ (x - mean[k]) ** 2 / n[k] for k in range(len(n))])
    return n / n.sum(), mean, variance, np.log(density.sum(1)).sum()


def test_one_step_of_em_is_the_definition():
    rng = np.random.default_rng(2)
    gmm = random_gmm(rng, sizes=(3,))
    x = rng.standard_normal((400, 5))
    stats = GmmStats.zeros(gmm, 1)
    rows = rng.permutation(400)
    accumulate(stats, gmm, np.array([0, 0]), x, np.ones(250, np.int32), rows[:250])
    accumulate(stats, gmm, np.array([0, 0]), x[rows[250:]], np.ones(150, np.int32))
    new, _ = update(gmm, stats, UpdateOptions(min_gaussian_occupancy=0.5))
    weights, means, variances, loglike = expected_update(x, gmm)
    np.testing.assert_allclose(new.weights, weights, rtol=1e-5)
    np.testing.assert_allclose(new.means(), means, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(new.variances(), variances, rtol=1e-5)
    assert stats.loglike == pytest.approx(loglike, rel=1e-6)
    assert stats.transitions.tolist() == [0, 400] and stats.frames == 400


def test_gaussians_without_data_go_but_never_the_last_of_a_pdf():
    gmm = random_gmm(np.random.default_rng(3), sizes=(3, 2, 1))
    stats = GmmStats.zeros(gmm, 1)
    stats.occupancy[:] = [100, 5, 50, 3, 2, 0]
    stats.second[:] = stats.occupancy[:, None] * 1e-9
    new, removed = update(gmm, stats, UpdateOptions())
    assert np.diff(new.offset).tolist() == [2, 1, 1] and removed == 2
    np.testing.assert_allclose(new.weights, [100 / 150, 50 / 150, 1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(new.means()[2:], gmm.means()[[4, 5]], rtol=1e-5)
    np.testing.assert_allclose(new.variances()[:2], 0.001, rtol=1e-5)
    kept, removed = update(gmm, stats, UpdateOptions(remove_low_count_gaussians=False))
    assert kept.num_gauss == 6 and removed == 0


def slow_targets(occupancy, total, power):
    """The definition: one Gaussian after another to the neediest pdf."""
    targets = np.ones(len(occupancy), int)
    value = np.asarray(occupancy, float) ** power
    while targets.sum() < total:
        need = np.where((targets + 1) * 20.0 < occupancy, value / targets, 0)
        if need.max() == 0:
            break
        targets[np.argmax(need)] += 1
    return targets


def test_gaussians_are_shared_by_a_power_of_the_frames():
    occupancy = np.random.default_rng(4).uniform(0, 3000, 50)
    for total in (40, 50, 300, 100000):
        assert split_targets(occupancy, total, 0.25).tolist() == slow_targets(occupancy, total, 0.25).tolist()


def test_mixing_up_splits_the_heaviest_gaussian():
    gmm = random_gmm(np.random.default_rng(5), sizes=(1, 2))
    bigger = mix_up(gmm, np.array([1000.0, 1000.0]), 6, 0.25, np.random.default_rng(0))
    assert np.diff(bigger.offset).tolist() == [3, 3]
    np.testing.assert_allclose(bigger.weights[:3], [0.25, 0.5, 0.25])
    mean = np.average(bigger.means()[:3], axis=0, weights=bigger.weights[:3])
    deviation = np.sqrt(gmm.variances()[0])
    assert (np.abs(bigger.means()[:3] - gmm.means()[0]) < 0.1 * deviation).all()
    assert (np.abs(mean - gmm.means()[0]) < 0.03 * deviation).all()
    again = mix_up(gmm, np.array([1000.0, 1000.0]), 6, 0.25, np.random.default_rng(0))
    assert np.array_equal(bigger.means_invvars, again.means_invvars)


def test_monophones_start_from_all_frames(golden):
    feats = list(features(golden("gmm/data/train")).values())
    expected = read_model(golden("gmm/mono/0.mdl"))[1]
    assert_models_agree(monophone_model(67, np.concatenate(feats[:10])), expected, 1e-5)
    with pytest.raises(PymavgError, match="dimension 1 is constant over 4 frames"):
        monophone_model(3, np.eye(4, 2) * [1, 0])


def test_statistics_are_kept_and_of_one_model_only(tmp_path):
    gmm = random_gmm(np.random.default_rng(6))
    stats = GmmStats.zeros(gmm, 7)
    accumulate(stats, gmm, np.zeros(8, int), np.ones((5, 5)), np.arange(1, 6))
    stats.save(tmp_path / "1.acc")
    twice = GmmStats.zeros(gmm, 7)
    for _ in range(2):
        twice.add(load_stats(tmp_path / "1.acc"), "1.acc")
    np.testing.assert_allclose(twice.first, 2 * stats.first)
    assert twice.frames == 10
    with pytest.raises(PymavgError, match="1.acc: statistics of 8 Gaussians"):
        GmmStats.zeros(random_gmm(np.random.default_rng(7), sizes=(2, 2)), 7).add(stats, "1.acc")
    (tmp_path / "2.acc").write_bytes((tmp_path / "1.acc").read_bytes()[:100])
    with pytest.raises(PymavgError, match="2.acc: not statistics"):
        load_stats(tmp_path / "2.acc")
    with pytest.raises(PymavgError, match="3.acc: no such file"):
        load_stats(tmp_path / "3.acc")
