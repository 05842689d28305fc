"""LDA, MLLT and fMLLR against Kaldi's files and against definitions."""

import re

import numpy as np
import pytest
from gmm_data import alignments
from test_gmm_model import random_gmm

from pymavg.data.pipeline import FeaturePipeline, SpliceOptions
from pymavg.data.transforms import splice, transform
from pymavg.errors import PymavgError
from pymavg.formats.kinds import copy
from pymavg.gmm.accumulate import GmmStats, accumulate
from pymavg.gmm.fmllr import FmllrOptions, FmllrStats, compose, estimate_fmllr, objective, unit_transform
from pymavg.gmm.lda import LdaStats, estimate_lda, load_lda_stats
from pymavg.gmm.mllt import MlltStats, accumulate_mllt, estimate_mllt, load_mllt_stats, transform_means
from pymavg.gmm.silence import tid_weights
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import read_matrices, read_token_map

SPEAKERS = ["george", "jackson", "lucas", "nicolas", "theo", "yweweler"]


def matrix(path):
    return open_reader(path).matrix(np.float64)


def weighted(golden, system):
    """Return the model, and by utterance pdfs and weights (0 in silence) of its final alignments."""
    transitions, gmm = read_model(golden(f"gmm/{system}/final.mdl"))
    weights = tid_weights(transitions, golden("gmm/lang/phones/silence.csl").read_text().strip(), 0.0)
    tids = alignments(golden(f"gmm/{system}/ali_final.gz"))
    return gmm, {u: transitions.tid_pdf[t] for u, t in tids.items()}, {u: weights[t] for u, t in tids.items()}


def training_features(golden, model, **kind):
    data = golden("gmm/data/train")
    return FeaturePipeline(data, model, root=str(data.parents[1]), **kind)


def objf(golden):
    """Return what Kaldi's programs logged."""
    return golden("gmm/units/objf.txt").read_text()


def test_lda_equals_kaldis(golden, tmp_path):
    gmm, pdfs, weights = weighted(golden, "tri1")
    halves = [LdaStats.zeros(gmm.num_pdfs, 117) for _ in range(2)]
    context = SpliceOptions()
    for number, (utterance, feats) in enumerate(training_features(golden, tmp_path, only_cmvn=True)):
        kept = weights[utterance] > 0
        spliced = splice(feats, context.left_context, context.right_context)[kept]
        halves[number % 2].accumulate(spliced, pdfs[utterance][kept])
    halves[1].save(tmp_path / "1.lda")
    halves[0].add(load_lda_stats(tmp_path / "1.lda"), "1.lda")
    full, variance = estimate_lda(halves[0])
    expected = matrix(golden("gmm/units/lda.mat"))
    found = full[:40] * np.sign((full[:40] * expected).sum(1))[:, None]
    assert (np.abs(found - expected).max(1) / np.abs(expected).max(1)).max() < 2e-5  # Kaldi's sums are single precision
    logged = np.array(re.search(r"singular values are\s+\[(.*)\]", objf(golden))[1].split(), float)
    known = logged > 1e-6  # there are 97 classes with frames: the others are rounding
    assert known.sum() == 97
    np.testing.assert_allclose(variance[known], logged[known], rtol=1e-4)
    rows = matrix(golden("gmm/units/lda_full.mat"))[known]
    found = full[known] * np.sign((full[known] * rows).sum(1))[:, None]
    assert (np.abs(found - rows).max(1) / np.abs(rows).max(1)).max() < 1e-4


def test_lda_whitens_and_separates():
    rng = np.random.default_rng(0)
    classes, mixing = rng.integers(0, 3, 4000), rng.standard_normal((4, 4))
    x = (rng.standard_normal((4000, 4)) + np.array([5.0, 0, 0, 0]) * classes[:, None]) @ mixing.T
    stats = LdaStats.zeros(5, 4)
    stats.accumulate(x.astype(np.float32), classes)
    full, variance = estimate_lda(stats)
    y = x @ full.T
    within = sum(np.cov(y[classes == c].T, bias=True) * (classes == c).mean() for c in range(3))
    np.testing.assert_allclose(within, np.eye(4), atol=1e-4)
    assert variance[0] > 10 and (variance[1:] < 0.01).all()
    with pytest.raises(PymavgError, match="LDA in 4 dimensions has 0 frames"):
        estimate_lda(LdaStats.zeros(3, 4))
    constant = LdaStats.zeros(3, 4)
    constant.accumulate(x * [1, 1, 1, 0], classes)
    with pytest.raises(PymavgError, match="covariance of 4000 frames in 4 dimensions is singular"):
        estimate_lda(constant)
    with pytest.raises(PymavgError, match="2.lda: statistics of 5 classes in 4 dimensions, expected 3 in 4"):
        constant.add(stats, "2.lda")


def test_mllt_equals_kaldis(golden):
    gmm, pdfs, weights = weighted(golden, "tri2")
    feats = dict(training_features(golden, golden("gmm/tri2")))
    x, pdf, weight = (np.concatenate([part[u] for u in pdfs]) for part in (feats, pdfs, weights))
    rows = np.flatnonzero(weight)
    stats = accumulate_mllt(gmm, x, rows, pdf[rows], weight[rows])
    m, gain = estimate_mllt(stats)
    assert stats.frames == pytest.approx(48041) and gain == pytest.approx(0.241304, rel=1e-5)
    np.testing.assert_allclose(m, matrix(golden("gmm/units/mllt.mat")), atol=1e-6)
    composed = compose(m, matrix(golden("gmm/tri2/final.mat")), inner_is_affine=False)
    np.testing.assert_allclose(composed, matrix(golden("gmm/units/mllt_composed.mat")), atol=1e-6)


def test_mllt_of_kaldis_statistics_is_kaldis(golden, tmp_path):
    copy(str(golden("gmm/units/mllt.acc")), tmp_path / "text", binary=False)
    words = (tmp_path / "text").read_text().split()  # <MlltAccs> frames dim, <G> and a lower triangle for each row
    lower = np.array([w for w in words[3:-1] if w not in ("<G>", "[", "]")], float).reshape(40, -1)
    second = np.zeros((40, 40, 40))
    row, column = np.tril_indices(40)
    second[:, row, column] = second[:, column, row] = lower
    m, gain = estimate_mllt(MlltStats(float(words[1]), second))
    assert gain == pytest.approx(0.241304, rel=1e-5)
    np.testing.assert_allclose(m, matrix(golden("gmm/units/mllt.mat")), atol=1e-5)
    composed = compose(m, matrix(golden("gmm/tri2/final.mat")), inner_is_affine=False)
    np.testing.assert_allclose(composed, matrix(golden("gmm/units/mllt_composed.mat")), atol=1e-5)


def test_mllt_statistics_are_the_definition(tmp_path):
    rng = np.random.default_rng(1)
    gmm, x = random_gmm(rng, sizes=(2,)), rng.standard_normal((60, 5)).astype(np.float32)
    weight = rng.uniform(0, 1, 60)
    stats = accumulate_mllt(gmm, x, np.arange(60), np.zeros(60, int), weight)
    centred = x[:, None] - gmm.means()
    density = gmm.weights * np.exp(-0.5 * (centred**2 * gmm.inv_vars).sum(2)) * np.sqrt(gmm.inv_vars.prod(1))
    gamma = weight[:, None] * density / density.sum(1, keepdims=True)
    expected = np.einsum("tk,ki,tkd,tke->ide", gamma, gmm.inv_vars, centred, centred)
    np.testing.assert_allclose(stats.second, expected, rtol=1e-4, atol=1e-5)
    stats.save(tmp_path / "1.macc")
    stats.add(load_mllt_stats(tmp_path / "1.macc"), "1.macc")
    np.testing.assert_allclose(stats.second, 2 * expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(PymavgError, match="MLLT in 5 dimensions has 3 frames"):
        estimate_mllt(MlltStats(3.0, stats.second))
    moved = transform_means(gmm, 2 * np.eye(5))
    np.testing.assert_allclose(moved.means(), 2 * gmm.means(), rtol=1e-5)
    np.testing.assert_allclose(moved.variances(), gmm.variances(), rtol=1e-5)


def test_fmllr_equals_kaldis(golden):
    gmm, pdfs, weights = weighted(golden, "tri2")
    speakers = read_token_map(golden("gmm/data/train/utt2spk"))
    stats = {speaker: FmllrStats.zeros(40) for speaker in SPEAKERS}
    for utterance, feats in training_features(golden, golden("gmm/tri2")):
        entries = np.arange(len(feats)), pdfs[utterance], weights[utterance]
        stats[speakers[utterance]].accumulate(gmm, feats, *entries)
    logged = re.findall(r"For speaker (\w+), auxf-impr from fMLLR is ([\d.]+), over (\d+)", objf(golden))
    assert [speaker for speaker, *_ in logged] == 3 * SPEAKERS
    for kind, name in (("full", ""), ("diag", "_diag"), ("offset", "_offset")):
        expected = dict(read_matrices(f"ark:{golden(f'gmm/units/fmllr_tri2{name}.txt')}", np.float64))
        for speaker in SPEAKERS:
            _, gain, frames = logged.pop(0)
            w, gained = estimate_fmllr(stats[speaker], FmllrOptions(fmllr_update_type=kind))
            np.testing.assert_allclose(w, expected[speaker], atol=2e-6)
            assert stats[speaker].frames == pytest.approx(int(frames))
            if kind == "offset":  # what is left of sums that nearly cancel, by posteriors in single precision
                bounds = {"rel": 3e-5}
            else:  # the difference of two objectives that Kaldi rounds to single precision, told to 6 digits
                rounded = np.spacing(np.float32(abs(objective(w, stats[speaker]))))
                bounds = {"rel": 0, "abs": float(rounded) + 5e-7 * int(frames)}
            assert gained == pytest.approx(float(gain) * int(frames), **bounds)


def speaker_frames(rng, gmm, count):
    """Return frames drawn from a model's pdfs, each moved by one affine transform, and their pdfs."""
    pdf = rng.integers(0, gmm.num_pdfs, count)
    gaussian = np.array([rng.choice(np.arange(gmm.offset[p], gmm.offset[p + 1])) for p in pdf])
    clean = gmm.means()[gaussian] + rng.standard_normal((count, gmm.dim)) * np.sqrt(gmm.variances()[gaussian])
    return (clean @ (np.eye(gmm.dim) + 0.1 * rng.standard_normal((gmm.dim, gmm.dim))) + 0.5).astype(np.float32), pdf


def total_loglike(gmm, feats, pdf):
    stats = GmmStats.zeros(gmm, gmm.num_pdfs)
    accumulate(stats, gmm, np.arange(-1, gmm.num_pdfs), feats, pdf + 1)
    return stats.loglike


def test_fmllr_raises_the_likelihood_by_what_it_says_and_needs_enough_frames():
    rng = np.random.default_rng(2)
    gmm = random_gmm(rng, sizes=(1, 1, 1, 1, 1, 1, 1, 1))  # one Gaussian each: the auxiliary function is exact
    x, pdf = speaker_frames(rng, gmm, 600)
    stats = FmllrStats.zeros(5)
    stats.accumulate(gmm, x, np.arange(600), pdf, np.ones(600))
    for kind, least in (("full", 100.0), ("diag", 10.0), ("offset", 10.0)):
        w, gain = estimate_fmllr(stats, FmllrOptions(fmllr_update_type=kind))
        gained = total_loglike(gmm, transform(x, w).astype(np.float32), pdf) - total_loglike(gmm, x, pdf)
        assert gain > least and gained + 600 * np.linalg.slogdet(w[:, :5])[1] == pytest.approx(gain, rel=1e-3)
    for options in (FmllrOptions(fmllr_min_count=600), FmllrOptions(fmllr_update_type="none")):
        w, gain = estimate_fmllr(stats, options)
        assert gain == 0.0 and np.array_equal(w, unit_transform(5))


def test_another_model_judges_which_gaussian_a_frame_belongs_to():
    rng = np.random.default_rng(3)
    gmm, judge = random_gmm(rng), random_gmm(rng)
    judge.gconsts[[1, 2]] = judge.gconsts[5:] = -1e4  # it always says: the first Gaussian
    x = rng.standard_normal((4, 5)).astype(np.float32)
    stats = FmllrStats.zeros(5)
    stats.accumulate(gmm, x, np.array([0, 1, 1]), np.array([0, 0, 2]), np.array([1.0, 0.5, 0.5]), judge)
    extended = np.column_stack([x, np.ones(4)])
    first, last = gmm.means_invvars[0], gmm.means_invvars[4]
    expected = np.outer(first, extended[0] + 0.5 * extended[1]) + np.outer(last, 0.5 * extended[1])
    np.testing.assert_allclose(stats.linear, expected, rtol=1e-5)
    assert stats.frames == 2.0


def test_transforms_compose():
    rng = np.random.default_rng(4)
    x, lda, fmllr = rng.standard_normal((7, 6)), rng.standard_normal((3, 6)), rng.standard_normal((3, 4))
    once = transform(x, compose(fmllr, lda, inner_is_affine=False))
    np.testing.assert_allclose(once, transform(transform(x, lda), fmllr))
    again = rng.standard_normal((3, 4))
    np.testing.assert_allclose(
        transform(x[:, :3], compose(again, fmllr, inner_is_affine=True)), transform(transform(x[:, :3], fmllr), again)
    )
    with pytest.raises(PymavgError, match="3 or 4 columns expected, found 6"):
        compose(lda, fmllr, inner_is_affine=True)


def test_two_sets_of_features_make_the_alignment_model():
    rng = np.random.default_rng(5)
    gmm, adapted = random_gmm(rng), rng.standard_normal((50, 5))
    plain, pdf = 2 * adapted + 1, rng.integers(0, 3, 50)
    both, one = GmmStats.zeros(gmm, 3), GmmStats.zeros(gmm, 3)
    accumulate(both, gmm, np.arange(-1, 3), adapted, pdf + 1, moments_of=plain)
    accumulate(one, gmm, np.arange(-1, 3), adapted, pdf + 1)
    np.testing.assert_allclose(both.occupancy, one.occupancy)
    np.testing.assert_allclose(both.first, 2 * one.first + one.occupancy[:, None])
    assert both.loglike == one.loglike
