"""Training by captured graphs equals training step by step: on a model of a device that replays on the same memory."""

from types import SimpleNamespace

import numpy as np
import pytest
import strict_device
from strict_device import xp

from pymavg.backend import to_host
from pymavg.data.shards import Epoch, Shard
from pymavg.kaldi import nnet1
from pymavg.nnet import network, rbm
from pymavg.nnet.cuda_operations import CudaOperations
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.training.captured import WARM_UP
from pymavg.training.learners import FrameLearner, RbmLearner

UTTERANCES = [f"u{i}" for i in range(12)]
TRAININGS = {
    "sgd": OptimizerOptions(optimizer="sgd"),
    "momentum": OptimizerOptions(optimizer="sgd", momentum=0.5, l2_penalty=1e-3, l1_penalty=1e-4),
    "dropout": OptimizerOptions(optimizer="sgd", dropout_retention=0.8),
    "ngsgd": OptimizerOptions(rank_in=4, rank_out=2, update_period=3),
    "pre-lr": OptimizerOptions(rank_in=4, rank_out=2, max_change_mode="pre-lr", dropout_retention=0.9),
    "simple": OptimizerOptions(precondition="simple"),
}


class Source:
    def get(self, utterance):
        return np.random.default_rng(int(utterance[1:])).normal(size=(20, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """Give the device its graphs, and networks the operations of CUDA."""
    monkeypatch.setattr(xp.cuda, "MemoryPool", lambda: SimpleNamespace(malloc=None), raising=False)
    operations = CudaOperations(xp, strict_device.cublas)
    for module in (network, rbm):
        monkeypatch.setattr(module, "operations", lambda m, *rest: HostOperations() if m is np else operations)


def shard(module, budget=0, weights=None):
    labels = {u: (np.arange(20) % 3).astype(np.int32) for u in UTTERANCES}
    return Shard(Source(), UTTERANCES, dict.fromkeys(UTTERANCES, 20), labels, module, 4, budget, weights=weights)


def transform(module):
    return FeatureTransform([nnet1.Splice(np.arange(-1, 2, dtype=np.int32), 4)], module)


def frame_learner(module, options):
    net = network.Network(init_network([12, 8, 3]), module)
    return FrameLearner(make_optimizer(net, options, seed=3), transform(module))


def train(learner, data, rate, evaluations=False):
    """Train two epochs of minibatches of 16 with a partial one at the end; return sums, theta, state."""
    for epoch in (1, 2):
        batches = Epoch(data, (1, epoch, 0), 16)
        while batches.left:
            block, rows = batches.take()
            learner.learn(block, rows, rate(batches.done), (1, epoch, 0, batches.done))
        if evaluations:  # with larger minibatches: workspaces are replaced
            learner.evaluate(Epoch(data, None, 70))
        learner.load_state(learner.state())
    return learner.measures(), to_host(learner.theta), learner.state()


def assert_equal(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-4)
    for name, value in expected[2].items():
        if "counts" in name or name in ("steps", "frames"):
            np.testing.assert_array_equal(found[2][name], value)


@pytest.mark.parametrize("case", ["constant", "warm-up", "evaluated", "streamed", "weighted"])
@pytest.mark.parametrize("name", TRAININGS)
def test_network(name, case):
    results = []
    for module in (np, xp):
        learner = frame_learner(module, TRAININGS[name])
        weights = {u: np.linspace(0, 1, 20, dtype=np.float32) for u in UTTERANCES} if case == "weighted" else None
        data = shard(module, 28 * 200 if case == "streamed" else 0, weights)
        rates = (lambda done: 0.002 * done) if case == "warm-up" else lambda done: 0.02
        results.append(train(learner, data, rates, case == "evaluated"))
    assert_equal(results[1], results[0])
    replayed = learner.captured.replayed
    assert replayed == 0 if name == "simple" else replayed >= (4 if case == "streamed" else 20)
    assert not learner.captured.failed


@pytest.mark.parametrize("visible", ["bern", "gauss"])
def test_rbm(visible):
    results = []
    for module in (np, xp):
        below = None if visible == "gauss" else network.Network(init_network([12, 10, 3])[:2], module)
        component = init_rbm(12 if below is None else 10, 5, visible)
        learner = RbmLearner(rbm.Rbm.from_component(component, module), transform(module), below, 2e-4, 10_000)
        results.append(train(learner, shard(module), lambda done: 0.05))
    assert_equal(results[1], results[0])
    assert learner.captured.replayed > 20


def test_without_graphs_training_goes_on(monkeypatch, capsys):
    def refuse(self):
        raise RuntimeError("not permitted")

    monkeypatch.setattr(strict_device.Stream, "begin_capture", refuse)
    learner = frame_learner(xp, TRAININGS["ngsgd"])
    found = train(learner, shard(xp), lambda done: 0.02)
    assert_equal(found, train(frame_learner(np, TRAININGS["ngsgd"]), shard(np), lambda done: 0.02))
    assert learner.captured.failed and learner.captured.replayed == 0
    told = capsys.readouterr().err
    assert told.count("no CUDA graphs") == 1 and "not permitted" in told


def test_nothing_waits_between_replays():
    learner, data = frame_learner(xp, TRAININGS["ngsgd"]), shard(xp)
    batches = Epoch(data, (1, 1, 0), 16)
    for count in range(batches.total - 1):
        block, rows = batches.take()
        if count == WARM_UP + 10:  # both kinds of steps are captured
            before = xp.waits
        learner.learn(block, rows, 0.02, (1, 1, 0, 1))
    assert xp.waits == before


def test_the_model_of_a_graph():
    a, stream = xp.zeros(3), strict_device.Stream(True)
    with stream:
        stream.begin_capture()
        a += 1
        b = a * 2
        graph = stream.end_capture()
    assert to_host(a).tolist() == [0, 0, 0]  # recorded, not done
    a[...] = 5.0
    graph.launch()
    assert to_host(b).tolist() == [12, 12, 12]
    with stream:
        graph.launch()
    assert to_host(a).tolist() == [6, 6, 6]  # nobody has waited yet
    stream.synchronize()
    assert to_host(a).tolist() == [7, 7, 7]
