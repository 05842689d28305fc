"""Averaging, shards and learners on strict device arrays: nothing passes between host and device unnoticed."""

import numpy as np
import pytest
from strict_device import xp

from pymavg.backend import to_host
from pymavg.data.shards import Epoch, Shard
from pymavg.kaldi import nnet1
from pymavg.nnet import network, rbm
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.operations import Operations
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.training import staging
from pymavg.training.averaging import Averager
from pymavg.training.combination import AveragingOptions
from pymavg.training.communicator import Done, Local
from pymavg.training.learners import FrameLearner, RbmLearner
from pymavg.training.loop import Loop, LoopOptions, Worker
from pymavg.training.progress import Clock, Progress
from pymavg.training.session import Signals

UTTERANCES = [f"u{i}" for i in range(9)]


class Twin(Local):
    """Rank 0 of two that always do the same."""

    size = 2

    def gather(self, row):
        return np.array([row, row], dtype=np.float64)

    def sum(self, array):
        assert isinstance(array, np.ndarray)
        array *= 2

    def start_sum(self, array):
        self.sum(array)
        return Done()

    def broadcast(self, array, root=0):
        assert isinstance(array, np.ndarray)

    def exchange(self, sends, receives):
        for (sent, _, _), (received, _, _) in zip(sends, receives, strict=True):
            received[:] = sent

    def names(self):
        return ["here", "there"]


class Source:
    def get(self, utterance):
        return np.random.default_rng(int(utterance[1:])).normal(size=(20, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """Let buffers lie in plain memory, and networks use the plain formulas."""
    monkeypatch.setattr(staging, "host_buffer", lambda module, shape, dtype: np.empty(shape, dtype))
    for module in (network, rbm):
        monkeypatch.setattr(module, "operations", lambda module, *rest: Operations(module))


def shard(module):
    labels = {u: (np.arange(20) % 3).astype(np.int32) for u in UTTERANCES}
    return Shard(Source(), UTTERANCES, dict.fromkeys(UTTERANCES, 20), labels, module, 4)


def transform(module):
    return FeatureTransform([nnet1.Splice(np.arange(-1, 2, dtype=np.int32), 4)], module)


def frame_learner(module):
    options = OptimizerOptions(rank_in=4, rank_out=2)
    return FrameLearner(make_optimizer(network.Network(init_network([12, 8, 3]), module), options), transform(module))


def rbm_learner(module):
    below = network.Network(init_network([12, 6, 3])[:2], module)
    return RbmLearner(rbm.Rbm.from_component(init_rbm(6, 5, "bern"), module), transform(module), below, 2e-4, 2)


def train(make, module, **options):
    learner, clock = make(module), Clock()
    walk = LoopOptions(minibatch_size=16, average_period=2)
    averager = Averager(Twin(), module, [learner.theta], AveragingOptions(**options), clock)
    loop = Loop(Twin(), [Worker(0, learner, shard(module), walk)], averager, walk, Progress(None), clock)
    for epoch in (1, 2):
        sums = loop.run(epoch, lambda _: 0.02, "test", Signals(0), None)
    common, workers = loop.state()
    assert all(isinstance(v, np.ndarray | np.generic) for v in {**common, **workers[0]}.values())
    loop.load_state(common, workers)
    return to_host(loop.averager.model), sums


@pytest.mark.parametrize("make", [frame_learner, rbm_learner])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"block_momentum": 0.5, "block_nesterov": True, "ema_decay": 0.9},
        {"overlap": True},
        {"reduce_type": "butterfly"},
    ],
)
def test_training_on_the_device_is_training_on_the_host(make, options):
    model, sums = train(make, xp, **options)
    expected, expected_sums = train(make, np, **options)
    np.testing.assert_allclose(model, expected, atol=2e-4)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-3)


def test_cross_validation_on_the_device():
    found = [frame_learner(m).evaluate(Epoch(shard(m), None, 50)) for m in (xp, np)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert found[1][2] == 180


def test_divergence_on_the_device_names_minibatch_and_utterances():
    learner, clock = frame_learner(xp), Clock()
    walk = LoopOptions(minibatch_size=16, average_period=6, randomize=False)
    worker = Worker(0, learner, shard(xp), walk)
    worker.begin(1)
    learner_step = learner.learn

    def spoil(block, rows, *rest):
        if worker.pass_.done == 4:
            learner.theta[3] = float("nan")
        learner_step(block, rows, *rest)

    learner.learn = spoil
    worker.train(6, 0.02, clock, lambda: None)
    worker.notes(clock, 10.0)
    assert worker.trouble.startswith("minibatch 4: u2, u3; loss nan")
