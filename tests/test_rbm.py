"""RBM updates against Kaldi's, and the likelihood of small machines."""

import itertools

import numpy as np
import pytest

from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.tables import read_matrices
from pymavg.nnet.initialise import init_rbm
from pymavg.nnet.rbm import Rbm, visible_bias

CASES = {"gauss": (0.005, 0.9, 2e-6), "bern": (0.2, 0.5, 2e-6), "explode": (0.005, 0.9, 1e-5)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_update(golden, case, dtype):
    rate, momentum, tolerance = CASES[case]
    folder = "nnet1/rbm_update/"
    rbm = Rbm.from_component(read_nnet(golden(f"{folder}{case}_0.rbm"))[0], dtype=dtype)
    samples = dict(read_matrices(f"ark:{golden(f'{folder}{case}.hid_sample.ark')}"))
    rates = [float(line.split()[1]) for line in golden(f"{folder}{case}.learn_rate.txt").read_text().splitlines()]
    for key, v in read_matrices(f"ark:{golden(f'{folder}{case}.pos_vis.ark')}"):
        rbm.step(v, rate, momentum, 2e-4, sample=samples[key])
        expected = read_nnet(golden(f"{folder}{case}_{key}.rbm"))[0]
        for name in ("weight", "vis_bias", "hid_bias"):
            assert np.abs(getattr(rbm, name) - getattr(expected, name)).max() < tolerance, (key, name)
        assert rate * rbm.rate_scale == pytest.approx(rates[int(key) - 1], rel=1e-6)
    assert rbm.stats[1] == 6 * 32
    assert rbm.stats[2] == (case == "explode")


def log_likelihood(rbm, data):
    """Mean log p(v) of a machine with few hidden units, exactly, by summing over all their states."""
    states = np.array(list(itertools.product([0.0, 1.0], repeat=rbm.hidden)))
    w, b, c = (np.asarray(a, float) for a in (rbm.weight, rbm.vis_bias, rbm.hid_bias))
    if rbm.gaussian:  # energy |v - b|^2 / 2 - c h - v'W h: the mean of v given h is b + hW
        mean = states @ w + b
        log_z = np.logaddexp.reduce(states @ c + (mean**2 - b**2).sum(1) / 2) + len(b) / 2 * np.log(2 * np.pi)
        free = ((data - b) ** 2).sum(1) / 2
    else:
        log_z = np.logaddexp.reduce(states @ c + np.logaddexp(0, states @ w + b).sum(1))
        free = -data @ b
    return (np.logaddexp(0, data @ w.T + c).sum(1) - free).mean() - log_z


@pytest.mark.parametrize("visible", ["bern", "gauss"])
def test_likelihood_grows(visible):
    rng = np.random.default_rng(5)
    prototypes = rng.random((6, 16)) < 0.5
    data = prototypes[rng.integers(6, size=1000)] ^ (rng.random((1000, 16)) < 0.05)
    data = data.astype(np.float32)
    if visible == "gauss":
        data = ((data - data.mean(0)) / data.std(0) + 0.1 * rng.standard_normal(data.shape)).astype(np.float32)
    bias = visible_bias(data.mean(0)) if visible == "bern" else None
    rbm = Rbm.from_component(init_rbm(16, 10, visible, seed=3, vis_bias=bias))
    values = [log_likelihood(rbm, data)]
    for _ in range(4):
        for _ in range(25):
            batch = data[rng.integers(1000, size=100)]
            rbm.step(batch, 0.1 if visible == "bern" else 0.01, 0.5, 0.0002, int(rng.integers(1 << 63)))
        values.append(log_likelihood(rbm, data))
    assert np.all(np.diff(values) > 0), values
    assert values[-1] > values[0] + 0.5, values


def test_resume_is_exact():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((10, 32, 12)).astype(np.float32) * 3
    whole, halves = (Rbm.from_component(init_rbm(12, 8, "gauss", seed=1)) for _ in range(2))
    generators = [np.random.default_rng(7) for _ in range(2)]
    for k, v in enumerate(data):
        whole.step(v, 0.01, 0.9, 2e-4, int(generators[0].integers(1 << 63)))
        halves.step(v, 0.01, 0.9, 2e-4, int(generators[1].integers(1 << 63)))
        if k == 4:
            again = Rbm.from_component(halves.to_component())
            again.load_state(halves.state())
            halves = again
    np.testing.assert_array_equal(whole.theta, halves.theta)


def test_samples_have_their_probabilities():
    ops = Rbm.from_component(init_rbm(4, 4, "bern")).operations
    a = np.tile(np.linspace(-4, 4, 64, dtype=np.float32), (4096, 1))
    sample = np.empty_like(a)
    ops.sample_hidden(a, np.zeros(64, np.float32), sample, 123456789 << 20)
    assert set(np.unique(sample)) == {0.0, 1.0}
    error = (sample.mean(0) - a[0]) / np.sqrt(a[0] * (1 - a[0]) / 4096)
    assert np.abs(error).max() < 4
    other = np.empty_like(a)
    ops.sample_hidden(np.zeros_like(a), np.zeros(64, np.float32), sample, 1)
    ops.sample_hidden(np.zeros_like(a), np.zeros(64, np.float32), other, 2)
    assert abs(np.corrcoef(sample.ravel(), other.ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(sample.ravel()[1:], sample.ravel()[:-1])[0, 1]) < 0.01


def test_constant_data_and_empty_batches():
    rbm = Rbm.from_component(init_rbm(6, 4, "gauss", seed=2))
    before = rbm.theta.copy()
    rbm.step(np.zeros((0, 6), np.float32), 0.1, 0.9)
    np.testing.assert_array_equal(rbm.theta, before)
    for _ in range(5):
        rbm.step(np.zeros((16, 6), np.float32), 0.01, 0.9, 0.0, 5)
    assert np.all(np.isfinite(rbm.theta))
