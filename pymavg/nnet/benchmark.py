"""How fast training is on this machine's CPU, beside what its matrix products alone allow, and beside PyTorch.

One thread, float32. Two things are timed in turn, in CPU time, and the median of the ratios of five pairs counts; a
machine on which two processes of bare products together get less than 1.8 times as far as one is called busy.
"""

import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.nnet.rbm import Rbm

PAIRS = 5
STEPS = 4  # of natural gradient in one measurement: one update period
BUSY = 1.8
LEARN_RATE = 1e-4
PROBE = """
import time, numpy as np
a = np.ones((1024, 1024), np.float32); out = a.copy(); end = time.time() + 1.5; n = 0
while time.time() < end:
    np.matmul(a, a, out=out); n += 1
print(n)
"""


class Measure(NamedTuple):
    """One line of the report; `figure` None where the comparison is not possible here."""

    name: str
    figure: float | None
    bound: float | None  # None: told, not judged
    at_most: bool  # whether the bound is an upper one
    frames_per_second: float = 0.0
    busy: bool = False  # whether the machine was, while this was measured

    def verdict(self, busy):
        """Return ok, skipped, or for a missed bound short, busy on a busy machine."""
        if self.figure is None:
            return "skipped"
        met = self.bound is None or (self.figure <= self.bound if self.at_most else self.figure >= self.bound)
        return "ok" if met else "busy" if busy or self.busy else "short"

    def line(self, busy):
        """Return name, figure, bound, verdict and frames/s, tab-separated."""
        figure = "-" if self.figure is None else f"{self.figure:.3f}" if self.figure < 1000 else f"{self.figure:.0f}"
        bound = "-" if self.bound is None else f"{'<=' if self.at_most else '>='}{self.bound}"
        return "\t".join((self.name, figure, bound, self.verdict(busy), f"{self.frames_per_second:.0f}"))


def step_measures(dims, sizes=(256, 1024)):
    """Yield Measures of SGD and NG-SGD.

    Parameters
    ----------
    dims : list of int
        Layers.
    sizes : tuple of int
        Minibatches.
    """
    for n in sizes:
        x, targets = random_data(n, dims)
        sgd, natural = (
            make_optimizer(Network(init_network(dims)), OptimizerOptions(optimizer=kind)) for kind in ("sgd", "ngsgd")
        )

        def step(optimizer=sgd, x=x, targets=targets):
            optimizer.step(x, targets, LEARN_RATE)

        ratio, seconds = compare(step, network_products(dims, n))
        yield Measure(f"sgd/products {n}", ratio, 0.90, False, n / seconds)
        other = _torch_step(dims, x, targets)
        ratio = compare(step, other)[0] if other else None
        yield Measure(f"sgd/torch {n}", ratio, 0.97, False, n / seconds)
        for _ in range(12):  # past the first ten calls, which all renew the estimate
            natural.step(x[:16], targets[:16], LEARN_RATE)
        ratio, seconds = compare(lambda s=step, o=natural: _repeat(s, o), lambda s=step: _repeat(s))
        yield Measure(f"ngsgd/sgd time {n}", 1 / ratio, 1.2 if n < 1024 else 1.12, True, STEPS * n / seconds)


def rbm_measures(dim, sizes=(100, 1024)):
    """Yield Measures of CD-1 with `dim` visible and hidden units, for each minibatch size."""
    for n in sizes:
        rbm = Rbm.from_component(init_rbm(dim, dim, "bern"))
        v = np.random.default_rng(0).random((n, dim), dtype=np.float32)
        ratio, seconds = compare(lambda r=rbm, v=v: r.step(v, LEARN_RATE, 0.9, 2e-4, 1), _rbm_products(dim, n))
        yield Measure(f"rbm/products {n}", ratio, 0.75, False, n / seconds)


def compare(ours, other, pairs=PAIRS):
    """Return (median of other's time over ours, median of our seconds), measured in turn."""
    times = [(_seconds(ours), _seconds(other)) for _ in range(pairs + 1)][1:]  # the first is for compiling and caches
    return np.median([b / a for a, b in times]), np.median([a for a, _ in times])


def is_busy():
    """Return whether two processes of products together get less than BUSY times as far as one."""
    alone = _probe(1)
    return _probe(2) < BUSY * alone


def _probe(count):
    command = [sys.executable, "-c", PROBE]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    return sum(int(process.communicate()[0]) for process in running)


def _seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def _repeat(step, *optimizer):
    for _ in range(STEPS):
        step(*optimizer)


def random_data(n, dims):
    """Return a minibatch of noise, and its targets."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, dims[0]), dtype=np.float32), rng.integers(0, dims[-1], n).astype(np.int32)


def network_products(dims, n):
    """Return a function that does the matrix products of one step, and nothing else."""
    weights = [np.zeros((rows, columns), np.float32) for columns, rows in zip(dims[:-1], dims[1:], strict=True)]
    values = [np.zeros((n, dim), np.float32) for dim in dims]
    gradients = [np.zeros_like(w) for w in weights]

    def products():
        for k, w in enumerate(weights):
            np.matmul(values[k], w.T, out=values[k + 1])
        for k in reversed(range(len(weights))):
            if k > 0:
                np.matmul(values[k + 1], weights[k], out=values[k])
            np.matmul(values[k + 1].T, values[k], out=gradients[k])

    return products


def _rbm_products(dim, n):
    """Return a function that does the five matrix products of CD-1."""
    v, h = np.zeros((2, n, dim), np.float32)
    weight, gradient = np.zeros((2, dim, dim), np.float32)

    def products():
        np.matmul(v, weight.T, out=h)
        np.matmul(h, weight, out=v)
        np.matmul(v, weight.T, out=h)
        np.matmul(h.T, v, out=gradient)
        np.matmul(h.T, v, out=gradient)

    return products


def torch_model(dims):
    """Return the sigmoid network in PyTorch, on one thread; its last layer is linear."""
    import torch

    torch.set_num_threads(1)
    layers = [
        part for pair in zip(dims[:-1], dims[1:], strict=True) for part in (torch.nn.Linear(*pair), torch.nn.Sigmoid())
    ]
    return torch.nn.Sequential(*layers[:-1])


def _torch_step(dims, x, targets):
    """Return the same step in PyTorch, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    model, loss = torch_model(dims), torch.nn.CrossEntropyLoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARN_RATE)
    x, targets = torch.from_numpy(x), torch.from_numpy(targets.astype(np.int64))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), targets).backward()
        optimizer.step()

    return step
