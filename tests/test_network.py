"""Network, losses and optimisers: gradients against finite differences, state, options, hard inputs."""

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet import loss
from pymavg.nnet.initialise import init_network
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer

KINDS = {"sigmoid": nnet1.Sigmoid, "tanh": nnet1.Tanh, "relu": nnet1.Relu}


def small_net(hidden="sigmoid", last="softmax", dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    dims, components = (7, 6, 5, 4), []
    for columns, rows in zip(dims, dims[1:], strict=False):
        components += [
            nnet1.Affine(rng.standard_normal((rows, columns)), rng.standard_normal(rows)),
            KINDS[hidden](rows),
        ]
    components.pop()
    if last != "linear":
        components.append({**KINDS, "softmax": nnet1.Softmax}[last](4))
    return Network(components, dtype=dtype)


def batch(dtype=np.float64, n=9):
    rng = np.random.default_rng(1)
    soft = rng.random((n, 4))
    x, soft, weights = rng.standard_normal((n, 7)), soft / soft.sum(1, keepdims=True), rng.random(n)
    return x.astype(dtype), rng.integers(0, 4, n).astype(np.int32), soft.astype(dtype), weights.astype(dtype)


def numeric_gradient(net, loss_of):
    gradient = np.empty_like(net.theta)
    for i, value in enumerate(net.theta.copy()):
        sides = []
        for step in (1e-6, -1e-6):
            net.theta[i] = value + step
            sides.append(loss_of(net))
        net.theta[i] = value
        gradient[i] = (sides[0] - sides[1]) / 2e-6
    return gradient


@pytest.mark.parametrize("hidden", KINDS)
@pytest.mark.parametrize(
    ("last", "objective"),
    [("softmax", "xent"), ("linear", "xent"), ("linear", "mse"), ("sigmoid", "mse"), ("tanh", "mse"), ("relu", "mse")],
)
@pytest.mark.parametrize("soft", [False, True])
def test_gradient(hidden, last, objective, soft):
    net = small_net(hidden, last)
    x, hard, posteriors, weights = batch()
    targets = posteriors if soft else hard
    expected = numeric_gradient(net, lambda n: loss.evaluate(n, x, targets, weights, objective)[0])
    before = net.theta.copy()
    optimizer = make_optimizer(net, OptimizerOptions(optimizer="sgd", objective_function=objective))
    optimizer.step(x, targets, 1.0, weights)
    np.testing.assert_allclose(before - net.theta, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("hidden", KINDS)
def test_gradient_with_dropout(hidden):
    net = small_net(hidden)
    x, targets, _, _ = batch()
    optimizer = make_optimizer(net, OptimizerOptions(optimizer="sgd", dropout_retention=0.6), seed=3)
    key = (3 << 40) + (1 << 8)  # of the first step

    def loss_of(n):
        stats = loss.new_stats(np)
        loss.derive_(n, n.forward(x, 0.6, key), targets, None, "xent", stats)
        return stats[0]

    expected = numeric_gradient(net, loss_of)
    before = net.theta.copy()
    optimizer.step(x, targets, 1.0)
    np.testing.assert_allclose(before - net.theta, expected, rtol=1e-6, atol=1e-7)


def test_dropout_keeps_the_mean():
    ops = small_net(dtype=np.float32).operations
    y = np.ones((500, 400), np.float32)
    ops.dropout_(y, 0.8, 5)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1.25)}
    assert y.mean() == pytest.approx(1, abs=0.005)


OPTIONS = {
    "sgd": OptimizerOptions(optimizer="sgd"),
    "momentum": OptimizerOptions(optimizer="sgd", momentum=0.9, l2_penalty=1e-3),
    "l1": OptimizerOptions(optimizer="sgd", l1_penalty=1e-3),
    "dropout": OptimizerOptions(optimizer="sgd", dropout_retention=0.7),
    "ngsgd": OptimizerOptions(rank_in=3, rank_out=2, update_period=4),
    "simple": OptimizerOptions(precondition="simple"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_resume_is_exact(name):
    batches = np.random.default_rng(2).standard_normal((30, 9, 7)).astype(np.float32)
    targets = np.random.default_rng(3).integers(0, 4, (30, 9)).astype(np.int32)
    nets = [small_net(dtype=np.float32) for _ in range(2)]
    optimizers = [make_optimizer(net, OPTIONS[name], seed=1) for net in nets]
    for k, (x, t) in enumerate(zip(batches, targets, strict=True)):
        for optimizer in optimizers:
            optimizer.step(x, t, 0.02)
        if k == 17:
            state = {name: np.copy(value) for name, value in optimizers[1].state().items()}
            again = Network(nets[1].to_components())
            optimizers[1] = make_optimizer(again, OPTIONS[name], seed=1)
            optimizers[1].load_state(state)
    np.testing.assert_array_equal(optimizers[0].net.theta, optimizers[1].net.theta)
    assert np.any(optimizers[0].net.theta != small_net(dtype=np.float32).theta)


@pytest.mark.parametrize("name", OPTIONS)
def test_float32_follows_float64(name):
    x, targets, _, weights = batch()
    thetas = []
    for dtype in (np.float32, np.float64):
        net = small_net(dtype=dtype)
        optimizer = make_optimizer(net, OPTIONS[name], seed=1)
        for _ in range(6):
            optimizer.step(x.astype(dtype), targets, 0.05, weights.astype(dtype))
        thetas.append(net.theta)
    np.testing.assert_allclose(*thetas, atol=2e-5)


@pytest.mark.parametrize("name", ["sgd", "momentum", "ngsgd", "simple"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_weight_contributes_nothing(name, dtype):
    net = small_net(dtype=dtype)
    options = OPTIONS[name] if name != "momentum" else OptimizerOptions(optimizer="sgd", momentum=0.9)
    optimizer = make_optimizer(net, options)
    x, targets, _, _ = batch(dtype)
    before = net.theta.copy()
    optimizer.step(x, targets, 0.5, np.zeros(9, dtype))
    optimizer.step(x[:0], targets[:0], 0.5)
    np.testing.assert_array_equal(net.theta, before)
    np.testing.assert_array_equal(optimizer.stats, 0)


@pytest.mark.parametrize("mode", ["pre-lr", "post-lr"])
def test_max_change_modes(mode):
    x, targets, _, _ = batch()
    steps = []
    for rate in (100.0, 200.0):  # far beyond the limit
        net = small_net()
        before = net.theta.copy()
        options = OptimizerOptions(rank_in=3, rank_out=2, max_change_per_sample=0.01, max_change_mode=mode)
        make_optimizer(net, options).step(x, targets, rate)
        steps.append(net.theta - before)
    np.testing.assert_allclose(steps[1], steps[0] * (2 if mode == "pre-lr" else 1), rtol=1e-9)
    if mode == "post-lr":
        assert np.linalg.norm(steps[0][: 6 * 7]) <= 0.01 * 9  # the norm of a sum is at most the sum of norms


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_inputs_of_extreme_size(scale):
    net = Network(init_network([8, 8, 4], activation="tanh"))
    optimizer = make_optimizer(net, OptimizerOptions(rank_in=4, rank_out=4))
    x, targets, _, _ = batch(np.float32, n=16)
    x = np.concatenate([x, x[:, :1]], axis=1) * np.float32(scale)
    for _ in range(12):
        optimizer.step(x, targets, 0.1)
    assert np.all(np.isfinite(net.theta))
    assert np.isfinite(optimizer.stats[0])


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_divergence_is_seen(name, wrong):
    net = small_net("relu", dtype=np.float32)
    optimizer = make_optimizer(net, OPTIONS[name])
    x, targets, _, _ = batch(np.float32)
    optimizer.step(x, targets, 0.1)
    x[3, 2] = wrong
    for _ in range(6):
        optimizer.step(x, targets, 0.1)
    assert not np.isfinite(optimizer.stats[0])
    assert not np.isfinite(net.theta.sum())


def test_updates_go_to_theta_and_components_come_back():
    components = init_network([5, 4, 3], seed=1)
    net = Network(components)
    make_optimizer(net, OPTIONS["sgd"]).step(np.ones((2, 5), np.float32), np.array([0, 1], np.int32), 0.1)
    back = net.to_components()
    assert [type(c) for c in back] == [type(c) for c in components]
    np.testing.assert_array_equal(
        np.concatenate([np.ravel(p) for c in back[::2] for p in (c.weight, c.bias)]), net.theta
    )
    assert back[2].bias_learn_rate_coef == 0.1
    assert np.any(back[0].weight != components[0].weight)


def test_initial_values():
    first, _, second, _, output, softmax = init_network([440, 1000, 1000, 3000], seed=5)
    assert first.weight.std() == pytest.approx(3.5 * np.sqrt(2 / 1440 / 12), rel=0.01)
    assert second.weight.std() == pytest.approx(3.5 * np.sqrt(2 / 2000), rel=0.01)
    assert -4 <= first.bias.min() < -3.9
    assert -0.1 < first.bias.max() <= 0
    assert not output.bias.any()
    assert output.weight.shape == (3000, 1000)
    assert softmax.dim == 3000
    again = init_network([440, 1000, 1000, 3000], seed=5)
    np.testing.assert_array_equal(again[4].weight, output.weight)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([nnet1.Sigmoid(3)], "Sigmoid after nothing"),
        ([nnet1.Affine(np.eye(3), np.zeros(3)), nnet1.Affine(np.eye(2), np.zeros(2))], "takes 2 inputs"),
        ([nnet1.Affine(np.eye(3), np.zeros(3)), nnet1.Sigmoid(3), nnet1.Tanh(3)], "Tanh after sigmoid"),
        (
            [nnet1.Affine(np.eye(3), np.zeros(3)), nnet1.Softmax(3), nnet1.Affine(np.eye(3), np.zeros(3))],
            "softmax within",
        ),
        ([], "without an affine"),
    ],
)
def test_wrong_networks(components, message):
    with pytest.raises(PymavgError, match=message):
        Network(components)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adam"}, "found 'adam', expected ngsgd or sgd"),
        ({"momentum": 0.9}, "--momentum goes with --optimizer sgd"),
        ({"objective_function": "hinge"}, "expected xent or mse"),
        ({"dropout_retention": 0.0}, "--dropout-retention"),
        ({"update_period": 0}, "--update-period"),
        ({"max_change_mode": "both"}, "expected post-lr or pre-lr"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(PymavgError, match=message):
        make_optimizer(small_net(), OptimizerOptions(**options))


@pytest.mark.parametrize("options", [{"optimizer": "sgd"}, {"rank_in": 4, "rank_out": 3}])
def test_rows_stay_within_their_norm(options):
    components = init_network([8, 6, 4])
    components[0].max_norm = 0.5
    net = Network(components)
    x, targets = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32), np.arange(16, dtype=np.int32) % 4
    make_optimizer(net, OptimizerOptions(**options)).step(x, targets, 0.1)
    norms = np.linalg.norm(net.layers[0].weight, axis=1)
    assert norms.max() <= 0.5 + 1e-6 and norms.max() > 0.49
