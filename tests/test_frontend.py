import os
import signal

import numpy as np
import pytest
from toy_corpus import make

from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.kaldi.tables import MatrixWriter, read_matrices
from pymavg.nnet.features import FeatureTransform
from pymavg.training import frontend
from pymavg.training.session import Signals
from pymavg.training.settings import TrainOptions
from pymavg.training.targets import read_targets


class Memory:
    """Features of some utterances."""

    def __init__(self, feats):
        self.feats, self.dim = feats, next(iter(feats.values())).shape[1]

    def get_alike(self, utterance):
        return self.feats[utterance]


def test_transform_gives_mean_0_and_variance_1():
    rng = np.random.default_rng(1)
    feats = {f"u{i}": (rng.normal(size=(30, 3)) * [1, 5, 0.1] + [0, 7, -3]).astype(np.float32) for i in range(5)}
    components = frontend.estimate_transform(Memory(feats), sorted(feats), 2)
    transform = FeatureTransform(components)
    out = np.concatenate([transform.apply(m).copy() for m in feats.values()])
    assert out.shape == (150, 15)
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(out.std(axis=0), 1, atol=1e-4)


def test_transform_as_kaldi_estimates_it(golden):
    feats = dict(read_matrices(f"ark:{golden('nnet1/feats_cmvn.ark')}"))
    expected = nnet1.read_nnet(golden("nnet1/feature_transform.nnet"))
    found = frontend.estimate_transform(Memory(feats), sorted(feats), 5)
    np.testing.assert_array_equal(found[0].offsets, expected[0].offsets)
    np.testing.assert_allclose(found[1].shift, expected[1].shift, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[2].scale, expected[2].scale, rtol=1e-4)


def test_a_dimension_that_never_changes_is_floored_and_told(capsys):
    feats = {"u": np.stack([np.arange(9.0), np.full(9, 3.0)], axis=1).astype(np.float32)}
    transform = FeatureTransform(frontend.estimate_transform(Memory(feats), ["u"], 0))
    assert np.isfinite(transform.apply(feats["u"])).all()
    assert "1 of 2 feature dimensions never change" in capsys.readouterr().err


def test_absurd_values_are_named():
    feats = {"a": np.zeros((9, 2), np.float32), "b": np.full((9, 2), 1e30, np.float32)}
    with pytest.raises(PymavgError, match=r"utterance b: frame 0 holds 1e\+30"):
        frontend.estimate_transform(Memory(feats), ["a", "b"], 0)


def test_features_of_another_dimension_are_refused(tmp_path):
    data, *_ = make(tmp_path)
    exp = tmp_path / "exp"
    frontend.describe_features(exp, "", "")
    nnet1.write_nnet(exp / "final.feature_transform", [nnet1.Splice(np.array([0], np.int32), 43)])
    with pytest.raises(PymavgError, match=r"dimension 4, but .*final.feature_transform takes 43"):
        frontend.open_frontend(exp, data, np)


def test_options_of_the_source_win_and_must_not_be_contradicted(tmp_path):
    frontend.describe_features(tmp_path / "dbn", "--norm-vars=true", "")
    frontend.describe_features(tmp_path / "exp", "", "", tmp_path / "dbn")
    assert (tmp_path / "exp" / "cmvn_opts").read_text() == "--norm-vars=true\n"
    assert not (tmp_path / "exp" / "delta_opts").exists()
    with pytest.raises(PymavgError, match="leave the option out"):
        frontend.describe_features(tmp_path / "exp", "--norm-vars=false", "", tmp_path / "dbn")


def test_shared_utterances_and_speakers_are_told(tmp_path):
    train, cv, ali, *_ = make(tmp_path)
    said = []
    read_targets((train, train), (ali, ali), TrainOptions(), said.append)
    assert "24 utterances are in both" in said[-1]
    (tmp_path / "data" / "cv" / "utt2spk").write_text("".join(f"cv-{i:03d} train-000\n" for i in range(6)))
    read_targets((train, cv), (ali, ali), TrainOptions(), said.append)
    assert "1 of 1 speakers" in said[-1]


def test_an_empty_utterance_is_left_out(tmp_path):
    train, cv, ali, *_ = make(tmp_path)
    with MatrixWriter(tmp_path / "more.ark", tmp_path / "more.scp") as writer:
        writer.write("train-024", np.zeros((0, 4), np.float32))
    with open(tmp_path / "data" / "train" / "feats.scp", "a") as stream:
        stream.write((tmp_path / "more.scp").read_text())
    with open(tmp_path / "data" / "train" / "utt2spk", "a") as stream:
        stream.write("train-024 train-024\n")
    targets, _ = read_targets((train, cv), (ali, ali), TrainOptions(), lambda line: None)
    assert len(targets[0].lengths) == 24


def test_signals_ask_for_a_checkpoint_or_for_the_end():
    signals = Signals(0)
    try:
        assert not signals.save() and not signals.stop()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert signals.save() and not signals.stop()
        signals.saved()
        assert not signals.save()
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.stop()
    finally:
        signals.restore()
