"""Time to accuracy: frames and seconds until the cross-validation loss is what plain SGD ends with.

A network of moderate size is trained from the same start on the same frames by plain SGD, by NG-SGD, and where PyTorch
is installed by its Adam; the learning rate falls exponentially over the frames. Seconds are CPU seconds of training,
cross-validation apart.
"""

import tempfile
import time
from itertools import chain
from pathlib import Path

import numpy as np

from pymavg.backend import to_host
from pymavg.data.minibatches import minibatch_count
from pymavg.data.shards import Epoch, Shard
from pymavg.nnet import loss
from pymavg.nnet.benchmark import Measure, torch_model
from pymavg.nnet.initialise import init_network
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.training import frontend
from pymavg.training.inputs import write_inputs
from pymavg.training.settings import TrainOptions
from pymavg.training.targets import read_targets

HIDDEN = [512, 512, 512]
MINIBATCH = 256
EPOCHS = 3
LOOKS = 10  # cross-validations an epoch
CV_FRAMES = 20_000
FINAL = 0.05  # last learning rate by first
RATES = {"sgd": 0.008, "ngsgd": 0.016, "torch adam": 0.001}  # Adam's is for the mean over a minibatch, as usual


class Task:
    """The data: shards of training and cross-validation, and the initial network.

    Parameters
    ----------
    data, alignments : (str, str)
        Directories for training and for cross-validation.
    frames : int
        Utterances of training are taken until there are so many.
    """

    def __init__(self, data, alignments, frames):
        with tempfile.TemporaryDirectory() as folder:
            exp, options = Path(folder), TrainOptions()
            targets, classes = read_targets(data, alignments, options, lambda line: None)
            write_inputs(exp, options, data[0], alignments[0], targets[0])
            self.shards = []
            for name, part, most in zip(data, targets, (frames, CV_FRAMES), strict=True):
                source, self.transform = frontend.open_frontend(exp, name, np)
                chosen, total = [], 0
                for utterance in np.random.default_rng(0).permutation(sorted(part.lengths)):
                    if total < most:
                        chosen.append(str(utterance))
                        total += part.lengths[utterance]
                self.shards.append(Shard(source, chosen, part.lengths, part.labels, np, source.dim))
            for shard in self.shards:
                next(shard.blocks(shard.plan(None)))  # read while the folder is there
        self.dims = [self.transform.output_dim(self.shards[0].dim), *HIDDEN, classes]
        self.judge = Network(init_network(self.dims))

    def batches(self, part, numbers, size):
        """Yield (x, targets) of an epoch; x is valid until the next."""
        epoch = Epoch(self.shards[part], numbers, size)
        while epoch.left:
            block, rows = epoch.take()
            yield self.transform.gather(block.feats, rows, block.first[rows], block.last[rows]), block.targets[rows]

    def cv_loss(self, theta):
        """Return the loss per frame of flat parameters on the cross-validation shard."""
        self.judge.theta[...] = theta
        stats = loss.new_stats(np)
        for x, targets in self.batches(1, None, 1024):
            loss.evaluate(self.judge, x, targets, stats=stats)
        return float(stats[0] / stats[2])

    def train(self, learner, goal=-np.inf):
        """Train until the goal or the end; return (cross-validation loss, frames, seconds)."""
        total = EPOCHS * minibatch_count(self.shards[0].frames, MINIBATCH, False)
        every = max(1, total // (EPOCHS * LOOKS))
        epochs = (self.batches(0, (777, epoch, 0), MINIBATCH) for epoch in range(EPOCHS))
        frames, seconds, found = 0, 0.0, np.inf
        for done, (x, targets) in enumerate(chain.from_iterable(epochs), 1):
            begun = time.process_time()
            learner.step(x, targets, learner.rate * FINAL ** (done / total))
            seconds += time.process_time() - begun
            frames += len(targets)
            if done % every == 0 or done == total:
                found = self.cv_loss(learner.theta())
                if found <= goal:
                    break
        return found, frames, seconds


class Ours:
    """One of our optimisers."""

    def __init__(self, task, kind):
        self.rate, self.net = RATES[kind], Network(init_network(task.dims))
        self.step = make_optimizer(self.net, OptimizerOptions(optimizer=kind)).step

    def theta(self):
        """Return the flat parameters."""
        return self.net.theta


class Adam:
    """PyTorch's Adam from the same start; raises ImportError where there is no PyTorch."""

    def __init__(self, task):
        import torch

        self.torch, self.model, self.rate = torch, torch_model(task.dims), RATES["torch adam"]
        start = Network(init_network(task.dims))
        with torch.no_grad():
            values = [value for pair in start.views(start.theta) for value in pair]
            for parameter, value in zip(self.model.parameters(), values, strict=True):
                parameter.copy_(torch.from_numpy(value))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.rate)
        self.loss = torch.nn.CrossEntropyLoss()

    def step(self, x, targets, learn_rate):
        """Train on one minibatch."""
        torch = self.torch
        self.optimizer.param_groups[0]["lr"] = learn_rate
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(torch.from_numpy(x)), torch.from_numpy(targets.astype(np.int64))).backward()
        self.optimizer.step()

    def theta(self):
        """Return the flat parameters: PyTorch's order is nnet1's."""
        return np.concatenate([to_host(p.detach()).ravel() for p in self.model.parameters()])


def measures(data, alignments, frames=150_000):
    """Yield a Measure without bound for frames and seconds of each optimiser."""
    task = Task(data, alignments, frames)
    goal, *spent = task.train(Ours(task, "sgd"))
    yield from _lines(f"sgd to cv loss {goal:.3f}", *spent)
    makers = {"ngsgd": lambda: Ours(task, "ngsgd"), "torch adam": lambda: Adam(task)}
    for name, make in makers.items():
        try:
            reached, *spent = task.train(make(), goal)
        except ImportError:
            yield from _lines(f"{name} to cv loss {goal:.3f}", None, None)
            continue
        title = f"{name} to cv loss {goal:.3f}" if reached <= goal else f"{name} only to cv loss {reached:.3f}"
        yield from _lines(title, *spent)


def _lines(title, frames, seconds):
    speed = frames / seconds if frames else 0.0
    for name, value in (("frames", frames), ("seconds", seconds)):
        yield Measure(f"{title}: {name}", value, None, True, speed)
