"""Forward pass and training against values that Kaldi's nnet1 computed (golden/nnet1)."""

import re

import numpy as np
import pytest

from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.tables import read_matrices
from pymavg.nnet import loss
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer

MINIBATCH = 64


def int_lists(path):
    return {key: np.array(values, np.int32) for key, *values in map(str.split, path.read_text().splitlines())}


def soft_targets(path, dim):
    """{utterance: (T, dim) posteriors} of a text posterior archive."""
    targets = {}
    for line in path.read_text().splitlines():
        key, rest = line.split(None, 1)
        frames = re.findall(r"\[([^]]*)\]", rest)
        targets[key] = np.zeros((len(frames), dim), np.float32)
        for t, frame in enumerate(frames):
            values = frame.split()
            for pdf, weight in zip(values[::2], values[1::2], strict=True):
                targets[key][t, int(pdf)] = weight
    return targets


@pytest.fixture
def data(golden):
    """Transformed inputs of all six utterances, one below the other, with hard targets."""
    transform = FeatureTransform(read_nnet(golden("nnet1/feature_transform.nnet")))
    ali = int_lists(golden("nnet1/ali.txt"))
    feats = list(read_matrices(f"ark:{golden('nnet1/feats_cmvn.ark')}"))
    x = np.concatenate([transform.apply(m).copy() for _, m in feats])
    return [key for key, _ in feats], x, np.concatenate([ali[key] for key, _ in feats])


def train(start, x, targets, weights=None, rates=(0.008,), **options):
    """Train as nnet-train-frmshuff --randomize=false; return the network and [(loss, accuracy)] of each epoch."""
    net, results = Network(read_nnet(start)), []
    for rate in rates:
        optimizer = make_optimizer(net, OptimizerOptions(optimizer="sgd", **options))
        for begin in range(0, len(x) - MINIBATCH + 1, MINIBATCH):
            part = slice(begin, begin + MINIBATCH)
            optimizer.step(x[part], targets[part], rate, None if weights is None else weights[part])
        total, correct, frames = optimizer.stats
        results.append((total / frames, 100 * correct / frames))
    return net, results


def assert_same_change(net, start, end):
    changed = zip(net.to_components(), read_nnet(start), read_nnet(end), strict=True)
    for ours, before, after in (parts for parts in changed if hasattr(parts[0], "weight")):
        for name, tolerance in (("weight", 1e-4), ("bias", 5e-4)):
            change = getattr(after, name) - getattr(before, name)
            error = np.linalg.norm(getattr(ours, name) - getattr(after, name))
            assert error <= tolerance * np.linalg.norm(change), name


def logged(golden, name):
    line = re.search(
        f"^{name}: AvgLoss: (\\S+)(?:.*ACCURACY >> (\\S+)%)?", golden("nnet1/losses.txt").read_text(), re.M
    )
    return float(line[1]), line[2] and float(line[2])


PLAIN = {
    "a_lr": {},
    "b_momentum": {"momentum": 0.9},
    "c_l2": {"l2_penalty": 1e-4},
    "h_l1": {"l1_penalty": 1e-4},
    "i_randsize": {},
    "j_mse": {"objective_function": "mse"},
}


@pytest.mark.parametrize("name", PLAIN)
def test_variant(golden, data, name):
    _, x, targets = data
    start = golden("nnet1/nnet.init")
    net, results = train(start, x, targets, **PLAIN[name])
    assert_same_change(net, start, golden(f"nnet1/nnet_{name}.bin"))
    expected = logged(golden, name)
    assert results[0][0] == pytest.approx(expected[0], rel=3e-6)
    if expected[1] is not None:
        assert results[0][1] == pytest.approx(expected[1], abs=0.061)  # one frame


def test_three_epochs(golden, data):
    _, x, targets = data
    start = golden("nnet1/nnet.init")
    net, results = train(start, x, targets, rates=(0.008, 0.008, 0.004), momentum=0.5, l2_penalty=1e-6)
    assert_same_change(net, start, golden("nnet1/nnet_d_epoch3.bin"))
    for epoch, (value, accuracy) in enumerate(results, 1):
        expected = logged(golden, f"d_epoch{epoch}")
        assert value == pytest.approx(expected[0], rel=5e-6)
        assert accuracy == pytest.approx(expected[1], abs=0.061)


def test_coefficients_and_max_norm(golden, data):
    _, x, targets = data
    start = golden("nnet1/nnet_coef.init")
    net, results = train(start, x, targets, momentum=0.9)
    assert_same_change(net, start, golden("nnet1/nnet_e_coef.bin"))
    assert results[0][0] == pytest.approx(logged(golden, "e_coef")[0], rel=3e-6)


def test_soft_targets(golden, data):
    keys, x, _ = data
    start = golden("nnet1/nnet.init")
    soft = soft_targets(golden("nnet1/post_soft.txt"), 20)
    net, results = train(start, x, np.concatenate([soft[key] for key in keys]))
    assert_same_change(net, start, golden("nnet1/nnet_f_soft.bin"))
    assert results[0][0] == pytest.approx(logged(golden, "f_soft")[0], rel=3e-6)
    assert results[0][1] == pytest.approx(logged(golden, "f_soft")[1], abs=0.061)


def test_frame_weights(golden, data):
    keys, x, targets = data
    lines = golden("nnet1/weights.txt").read_text().replace("[", " ").replace("]", " ").splitlines()
    by_utterance = {line.split()[0]: np.array(line.split()[1:], np.float32) for line in lines}
    weights = np.concatenate([by_utterance[key] for key in keys])
    used = weights > 0  # nnet1 takes frames of weight 0 out before it forms minibatches
    start = golden("nnet1/nnet.init")
    net, results = train(start, x[used], targets[used], weights[used])
    assert_same_change(net, start, golden("nnet1/nnet_g_weights.bin"))
    assert results[0] == pytest.approx(logged(golden, "g_weights"), rel=3e-6, abs=0.061)


def test_cross_validation(golden, data):
    _, x, targets = data
    net = Network(read_nnet(golden("nnet1/nnet_d_epoch3.bin")))
    stats, whole = loss.new_stats(np), len(x) // MINIBATCH * MINIBATCH
    for begin in range(0, whole, MINIBATCH):
        loss.evaluate(net, x[begin : begin + MINIBATCH], targets[begin : begin + MINIBATCH], stats=stats)
    expected = logged(golden, "cv_epoch3")
    assert stats[2] == whole
    assert stats[0] / whole == pytest.approx(expected[0], rel=3e-6)
    assert 100 * stats[1] / whole == pytest.approx(expected[1], abs=0.061)


def test_forward(golden):
    transform = FeatureTransform(read_nnet(golden("nnet1/feature_transform.nnet")))
    net = Network(read_nnet(golden("nnet1/nnet.init")))
    expected = dict(read_matrices(f"ark:{golden('nnet1/fwd_nosoftmax.ark')}"))
    transformed = dict(read_matrices(f"ark:{golden('nnet1/feats3_transf.ark')}"))
    for key, feats in read_matrices(f"ark:{golden('nnet1/feats3.ark')}"):
        x = transform.apply(feats)
        assert np.abs(x - transformed[key]).max() < 2e-5
        assert np.abs(net.forward(x) - expected[key]).max() < 1e-5


def test_gather_stays_within_utterances(golden):
    transform = FeatureTransform(read_nnet(golden("nnet1/feature_transform.nnet")))
    utterances = [m for _, m in read_matrices(f"ark:{golden('nnet1/feats3.ark')}")]
    ends = np.cumsum([len(m) for m in utterances])
    first = np.repeat(ends - [len(m) for m in utterances], [len(m) for m in utterances])
    last = np.repeat(ends - 1, [len(m) for m in utterances])
    rows = np.random.default_rng(0).permutation(ends[-1])
    gathered = transform.gather(np.concatenate(utterances), rows, first[rows], last[rows]).copy()
    apart = np.concatenate([transform.apply(m).copy() for m in utterances])
    np.testing.assert_array_equal(gathered, apart[rows])
