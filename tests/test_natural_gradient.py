"""Natural gradient against values that Kaldi's nnet2 computed (golden/ng_sgd), its identities, and hard inputs."""

import re

import numpy as np
import pytest

from pymavg.kaldi import nnet1
from pymavg.kaldi.tables import read_matrices
from pymavg.nnet.dispatch import operations
from pymavg.nnet.loss import evaluate
from pymavg.nnet.natural_gradient import OnlinePreconditioner
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.nnet.simple_preconditioner import SimplePreconditioner, precondition

# name: dim, rank, period, alpha, history; tolerance of output, of scale, of rho
ONLINE = {
    "a_n64_d40_r10_p1": (40, 10, 1, 4, 2000, 5e-6, 3e-6, 1e-4),
    "b_n128_d30_r20_p4": (30, 20, 4, 4, 2000, 5e-5, 5e-5, 8e-3),
    "c_n8_d30_r40_p1": (30, 40, 1, 4, 2000, 5e-2, 5e-2, None),
    "d_n6_d30_r10_p1": (30, 10, 1, 4, 2000, 5e-2, 2.5e-2, None),
    "e_small_1e-3": (40, 10, 1, 4, 2000, 5e-6, 3e-6, 1e-4),
    "f_large_1e3": (40, 10, 1, 4, 2000, 5e-6, 3e-6, 1e-4),
    "g_white": (24, 8, 1, 4, 2000, 3e-7, 3e-7, 1e-4),
    "h_ones_column": (21, 10, 2, 4, 500, 1.2e-4, 3e-5, 8e-3),
    "i_varying_rows": (24, 8, 3, 2, 2000, 1.5e-5, 3e-6, 1e-4),
    "j_zero_start": (24, 8, 1, 4, 2000, 5e-6, 3e-6, 1e-4),
    "k_softmax_derivs": (16, 12, 1, 4, 2000, 1.5e-5, 1e-5, 1e-4),
    "l_dim1": (1, 10, 1, 4, 2000, 0, 0, None),
}


def relative(found, expected):
    norm = np.linalg.norm(expected)
    return np.linalg.norm(found - expected) / norm if norm > 0 else np.linalg.norm(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONLINE)
def test_online(golden, name, dtype):
    dim, rank, period, alpha, history, for_output, for_scale, for_rho = ONLINE[name]
    conditioner = OnlinePreconditioner(dim, rank, operations(np, dtype), dtype, alpha, history, period)
    outputs = dict(read_matrices(f"ark:{golden(f'ng_sgd/online/{name}.out.ark')}"))
    factors = dict(read_matrices(f"ark:{golden(f'ng_sgd/online/{name}.W.ark')}")) if dim > 1 else {}
    rows = [line.split() for line in golden(f"ng_sgd/online/{name}.scale.txt").read_text().splitlines()[1:]]
    for (key, x), row in zip(read_matrices(f"ark:{golden(f'ng_sgd/online/{name}.in.ark')}"), rows, strict=True):
        total = (x.astype(float) ** 2).sum()
        x = x.astype(dtype)
        gamma, squares, _ = conditioner.precondition_(x)
        assert gamma == pytest.approx(float(row[2]), rel=for_scale)
        if for_rho:
            assert float(conditioner.rho) == pytest.approx(float(row[3]), rel=for_rho)
        if dim > 1:
            assert (conditioner.rank, conditioner.updates) == (int(row[4]), int(row[5]))
        assert gamma**2 * squares.sum() == pytest.approx(total, rel=1e-6)
        if key in outputs:
            assert relative(x, outputs[key]) <= for_output
        if key in factors and for_rho:
            w, expected = conditioner.factor, factors[key].astype(float)
            assert relative(w.T @ w, expected.T @ expected) < 1e-3
        if dim > 1:
            assert conditioner.self_test() < 1e-5


def test_simple(golden):
    alphas = dict(line.split() for line in golden("ng_sgd/simple/alpha.txt").read_text().splitlines())
    plain = dict(read_matrices(f"ark:{golden('ng_sgd/simple/alpha.ark')}"))
    rescaled = dict(read_matrices(f"ark:{golden('ng_sgd/simple/alpha_rescaled.ark')}"))
    for key, x in read_matrices(f"ark:{golden('ng_sgd/simple/in.ark')}"):
        assert relative(precondition(np, x.astype(float), float(alphas[key])), plain[key]) < 1e-5
        SimplePreconditioner(np, float(alphas[key])).apply_(x)
        assert relative(x, rescaled[key]) < 1e-5


def read_nnet2(path):
    """[(weight, bias)] of the affine components of a text nnet2 model."""
    text = path.read_text()
    weights = re.findall(r"<LinearParams>\s+\[([^]]*)\]", text)
    biases = re.findall(r"<BiasParams>\s+\[([^]]*)\]", text)
    return [
        (np.array([row.split() for row in w.strip().splitlines()], float), np.array(b.split(), float))
        for w, b in zip(weights, biases, strict=True)
    ]


LAYERS = {  # activation, learning rate, period, max change per sample
    "tanh": (nnet1.Tanh, 0.02, 1, 0.1),
    "sigmoid": (nnet1.Sigmoid, 0.04, 4, 0.1),
    "tanh_nochange": (nnet1.Tanh, 0.01, 1, 0.0),
    "tanh_tight": (nnet1.Tanh, 0.02, 1, 0.01),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_whole_training(golden, name, dtype):
    kind, rate, period, max_change = LAYERS[name]
    start = read_nnet2(golden(f"ng_sgd/nnet2/nnet_{name}.0.txt"))
    components = [nnet1.Affine(*start[0]), kind(32), nnet1.Affine(*start[1]), nnet1.Softmax(10)]
    net = Network(components, dtype=dtype)
    optimizer = make_optimizer(net, OptimizerOptions(max_change_per_sample=max_change))
    ops = net.operations
    optimizer.preconditioners = [
        [
            OnlinePreconditioner(columns, rank_in, ops, dtype, 4.0, 2000.0, period, ones=True),
            OnlinePreconditioner(rows, rank_out, ops, dtype, 4.0, 2000.0, period),
        ]
        for rows, columns, rank_in, rank_out in ((32, 20, 10, 12), (10, 32, 12, 8))
    ]
    ((_, x),) = read_matrices(f"ark:{golden('ng_sgd/nnet2/egs_inputs.ark')}")
    targets = np.array(
        [line.split()[1] for line in golden("ng_sgd/nnet2/labels.txt").read_text().splitlines()], np.int32
    )
    for begin in range(0, 1280, 64):
        optimizer.step(x[begin : begin + 64], targets[begin : begin + 64], rate)
        if begin + 64 in (64, 320, 1280):
            after = read_nnet2(golden(f"ng_sgd/nnet2/nnet_{name}.{begin + 64}.txt"))
            for layer, before, expected in zip(net.layers, start, after, strict=True):
                assert relative(layer.weight - before[0], expected[0] - before[0]) < 1e-4
                assert relative(layer.bias - before[1], expected[1] - before[1]) < 1e-4
    objectives = dict(line.rsplit(None, 1) for line in golden("ng_sgd/nnet2/prob.txt").read_text().splitlines())
    total, _, frames = evaluate(net, x.astype(dtype), targets)
    assert -total / frames == pytest.approx(float(objectives[f"{name} 1280"]), rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0, 1e-30, 1, 1e30])
@pytest.mark.parametrize(
    ("rows", "dim", "rank", "ones"), [(20, 8, 3, True), (2, 8, 6, False), (9, 4, 9, True), (5, 1, 3, True)]
)
def test_hard_inputs(rows, dim, rank, ones, scale, dtype):
    """The Frobenius norm is kept and the estimate stays sound whatever comes: zeros, few rows, high rank, any size."""
    rng = np.random.default_rng(0)
    conditioner = OnlinePreconditioner(dim, rank, operations(np, dtype), dtype, ones=ones)
    for _ in range(15):
        x = (rng.standard_normal((rows, dim)) * scale).astype(dtype)
        before = (x.astype(float) ** 2).sum() + rows * ones
        gamma, squares, last = conditioner.precondition_(x)
        after = (x.astype(float) ** 2).sum() + (0 if last is None else (last.astype(float) ** 2).sum())
        assert np.all(np.isfinite(x))
        assert gamma**2 * after == pytest.approx(before, rel=1e-5)
        assert squares.sum() == pytest.approx(after, rel=1e-5)
    if scale == 1:
        assert conditioner.self_test() < 1e-4


def test_the_estimate_is_that_of_the_paper():
    """I - W'W = beta G^-1, and F follows the scatter of the data."""
    rng = np.random.default_rng(0)
    spread = np.geomspace(3, 0.1, 12)
    conditioner = OnlinePreconditioner(12, 11, operations(np, np.float64), np.float64)
    for _ in range(100):
        conditioner.precondition_(rng.standard_normal((200, 12)) * spread)
    w, d, rho = conditioner.factor, conditioner.d, float(conditioner.rho)
    beta = rho * 5 + 4 * d.sum() / 12
    r = w / np.sqrt(1 / (beta / d + 1))[:, None]
    fisher = r.T @ np.diag(d) @ r + rho * np.eye(12)
    smoothed = fisher + 4 / 12 * np.trace(fisher) * np.eye(12)
    np.testing.assert_allclose(np.eye(12) - w.T @ w, beta * np.linalg.inv(smoothed), atol=1e-12)
    np.testing.assert_allclose(np.diag(fisher), spread**2, rtol=0.2)
