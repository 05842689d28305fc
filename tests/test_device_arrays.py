"""Networks, optimisers and RBMs on strict device arrays: no mixing with host arrays, no waiting, the same results."""

import numpy as np
import pytest
import strict_device
from strict_device import StrictArray, xp

from pymavg.backend import to_device, to_host
from pymavg.kaldi import nnet1
from pymavg.nnet import network, rbm
from pymavg.nnet.cuda_operations import CudaOperations
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.loss import evaluate
from pymavg.nnet.operations import Operations
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer

RNG = np.random.default_rng(4)


def cuda():
    return CudaOperations(xp, strict_device.cublas)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_the_stand_in_is_strict():
    a, host = xp.asarray(np.ones(3)), np.ones(3)
    for wrong in (lambda: a + host, lambda: host + a, lambda: np.asarray(a), lambda: xp.maximum(a, host)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        a[...] = host
    assert isinstance(a + 1 + a.sum(), StrictArray)


@pytest.fixture(params=["cuda", "plain"])
def device(request, monkeypatch):
    """Let networks and RBMs on strict arrays use either set of operations."""

    def choose(module, dtype, precision="float32"):
        return HostOperations() if module is np else cuda() if request.param == "cuda" else Operations(module)

    monkeypatch.setattr(network, "operations", choose)
    monkeypatch.setattr(rbm, "operations", choose)
    return xp


TRAININGS = {
    "sgd": OptimizerOptions(optimizer="sgd"),
    "momentum": OptimizerOptions(optimizer="sgd", momentum=0.5, l2_penalty=1e-3, l1_penalty=1e-4),
    "dropout": OptimizerOptions(optimizer="sgd", dropout_retention=0.8),
    "ngsgd": OptimizerOptions(rank_in=4, rank_out=3, update_period=2),
    "simple": OptimizerOptions(precondition="simple"),
    "mse": OptimizerOptions(objective_function="mse", rank_in=4, rank_out=3),
}


@pytest.mark.parametrize(
    ("name", "activation"),
    [*((name, "sigmoid") for name in TRAININGS), ("ngsgd", "tanh"), ("dropout", "tanh"), ("dropout", "relu")],
)
def test_training_on_the_device(device, name, activation):
    splice = [nnet1.Splice(np.arange(-1, 2), 6), nnet1.AddShift(normal(18)), nnet1.Rescale(abs(normal(18)))]
    feats, thetas, losses = normal(200, 6), [], []
    rows, targets = RNG.integers(0, 200, (13, 16)), RNG.integers(0, 5, (13, 16)).astype(np.int32)
    weights = RNG.random(16).astype(np.float32)
    for module in (np, device):
        net = network.Network(init_network([18, 12, 9, 5], activation=activation), module)
        optimizer, transform = make_optimizer(net, TRAININGS[name], seed=2), FeatureTransform(splice, module)
        on_device = to_device(module, feats)
        for r, t in zip(rows, targets, strict=True):
            x = transform.gather(on_device, to_device(module, r))
            optimizer.step(x, to_device(module, t), 0.02, to_device(module, weights))
        optimizer.load_state(optimizer.state())
        losses.append(to_host(evaluate(net, x, to_device(module, targets[0]), stats=optimizer.stats)))
        thetas.append(to_host(net.theta))
    np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-4)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


@pytest.mark.parametrize("visible", ["bern", "gauss"])
def test_rbm_on_the_device(device, visible):
    v, thetas = RNG.random((8, 20, 10)).astype(np.float32), []
    for module in (np, device):
        machine = rbm.Rbm.from_component(init_rbm(10, 7, visible), module)
        for key, part in enumerate(v):
            machine.step(to_device(module, part), 0.05, 0.5, 2e-4, key << 40)
        machine.load_state(machine.state())
        thetas.append(to_host(machine.theta))
        assert to_host(machine.hidden_probs(to_device(module, v[0]))).shape == (20, 7)
    np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-5)


@pytest.mark.parametrize("name", ["sgd", "momentum", "dropout", "ngsgd"])
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_no_step_waits_for_the_device(device, name):
    net = network.Network(init_network([18, 12, 5]), device)
    optimizer = make_optimizer(net, TRAININGS[name])
    x, targets = to_device(device, normal(16, 18)), to_device(device, np.zeros(16, np.int32))
    for _ in range(20):
        optimizer.step(x, targets, 0.01)
    before = device.waits
    for rate in (0.01, device.full((), 0.01, np.float32)):  # a rate on the device, as a captured graph needs it
        for _ in range(5):
            optimizer.step(x, targets, rate)
    assert device.waits == before


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_rbm_step_does_not_wait(device):
    machine = rbm.Rbm.from_component(init_rbm(10, 7, "gauss"), device)
    v, before = to_device(device, normal(16, 10)), device.waits
    for _ in range(3):
        machine.step(v, 0.01, 0.5, 2e-4, 7)
    assert device.waits == before
