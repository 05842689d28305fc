"""Frames/s of training steps on a GPU, beside the bare matrix products of the step and beside PyTorch."""

import time
from typing import NamedTuple

import numpy as np

from pymavg.backend import to_device
from pymavg.data.shards import Block
from pymavg.kaldi import nnet1
from pymavg.nnet.dispatch import PRECISIONS, operations
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.initialise import init_network
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.nnet.replay import Replay
from pymavg.training.learners import FrameLearner

HIDDEN = [2048] * 6
OUTPUTS, SIZES = (8806, 3000), (1024, 256)
FRAMES, DIM, CONTEXT = 200_000, 40, 5
STEPS = 40  # between two looks at the clock
LEARN_RATE = 1e-4


class Speed(NamedTuple):
    """One line."""

    name: str
    frames_per_second: float
    share: float | None = None  # of the speed of the bare products
    trouble: str = ""

    def line(self):
        """Return name, frames/s, and speed beside the bare products, tab-separated."""
        share = "" if self.share is None else f"{self.share:.2f} of products"
        return "\t".join(x for x in (self.name, f"{self.frames_per_second:.0f} frames/s", share, self.trouble) if x)


def speeds(xp, seconds=0.6, hidden=HIDDEN, outputs=OUTPUTS, sizes=SIZES):
    """Yield a Speed for each size, precision and way; one that raises is told, the others go on.

    Parameters
    ----------
    xp : module
        `cupy`.
    seconds : float
        For each.
    hidden : list of int
    outputs, sizes : tuple of int
        Classes; minibatches.
    """
    for classes in outputs:
        components = init_network([DIM * (2 * CONTEXT + 1), *hidden, classes])
        block = noise(xp, classes)
        for n in sizes:
            for precision in PRECISIONS:
                yield from _compared(xp, components, block, n, precision, seconds)


def _compared(xp, components, block, n, precision, seconds):
    makers = {
        "products": lambda: products(xp, components, n, precision),
        "sgd": lambda: training(xp, components, block, n, precision, "sgd"),
        "ngsgd": lambda: training(xp, components, block, n, precision, "ngsgd"),
        "torch sgd": lambda: torch_training(components, n, precision),
    }
    bare = None
    for way, make in makers.items():
        name = f"{components[-1].dims[0]} outputs, minibatch {n}, {precision}: {way}"
        try:
            found = n / _seconds(*make(), seconds)
        except ImportError:
            yield Speed(name, 0.0, None, "skipped: PyTorch is not installed")
        except Exception as error:
            yield Speed(name, 0.0, None, "FAILED " + " ".join(f"{error!r}".split())[:300])
        else:
            bare = found if way == "products" else bare
            yield Speed(name, found, found / bare if bare and way != "products" else None)


def noise(xp, classes):
    """Return a Block of noise in one utterance."""
    rng = np.random.default_rng(0)
    feats = rng.standard_normal((FRAMES, DIM), dtype=np.float32)
    first, last = np.zeros(FRAMES, np.int32), np.full(FRAMES, FRAMES - 1, np.int32)
    targets = rng.integers(0, classes, FRAMES).astype(np.int32)
    arrays = (to_device(xp, a) for a in (feats, first, last, targets))
    return Block(*arrays, ["noise"], np.array([0, FRAMES]))


def training(xp, components, block, n, precision, kind):
    """Return (function that trains on the next minibatch, function that waits for the device)."""
    net = Network(components, xp, precision=precision)
    transform = FeatureTransform([nnet1.Splice(np.arange(-CONTEXT, CONTEXT + 1, dtype=np.int32), DIM)], xp)
    learner = FrameLearner(make_optimizer(net, OptimizerOptions(optimizer=kind)), transform)
    order = to_device(xp, np.random.default_rng(0).permutation(FRAMES).astype(np.int32))
    count = 0

    def step():
        nonlocal count
        start = count * n % (FRAMES - n)
        learner.learn(block, order[start : start + n], LEARN_RATE, (0,))
        count += 1

    for _ in range(16):  # past the first renewals and captures
        step()
    if learner.captured is not None and not learner.captured.replayed:
        raise RuntimeError("steps are not replayed as CUDA graphs; see the warning above")
    return step, _waiting(xp)


def products(xp, components, n, precision):
    """Return the same for the matrix products of a step and nothing else, replayed as one graph."""
    ops = operations(xp, np.float32, precision)
    weights = [xp.zeros(c.weight.shape, np.float32) for c in components if hasattr(c, "weight")]
    values = [xp.zeros((n, w), np.float32) for w in (weights[0].shape[1], *(w.shape[0] for w in weights))]

    def multiply():
        for k, w in enumerate(weights):
            ops.gemm(values[k], w, values[k + 1], trans_b=True)
        for k in reversed(range(len(weights))):
            if k > 0:
                ops.gemm(values[k + 1], weights[k], values[k])
            ops.gemm(values[k + 1], values[k], weights[k], -LEARN_RATE, 1.0, trans_a=True)

    multiply()
    replay = Replay(xp)
    replay.capture("products", multiply)

    def launch(_used=(weights, values)):  # arrays must live as long as the graph
        replay.launch("products")

    return launch, _waiting(xp)


def torch_training(components, n, precision):
    """Return the same for an SGD step of PyTorch."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dims = [c.weight.shape for c in components if hasattr(c, "weight")]
    parts = [p for rows, columns in dims for p in (torch.nn.Linear(columns, rows), torch.nn.Sigmoid())]
    model, loss = torch.nn.Sequential(*parts[:-1]).cuda(), torch.nn.CrossEntropyLoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARN_RATE)
    x = torch.randn(n, dims[0][1], device="cuda")
    targets = torch.randint(0, dims[-1][0], (n,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            value = loss(model(x), targets)
        value.backward()
        optimizer.step()

    for _ in range(5):
        step()
    return step, torch.cuda.synchronize


def _waiting(xp):
    return xp.cuda.get_current_stream().synchronize


def _seconds(step, wait, seconds):
    """Return the time of one step: the median over groups of STEPS, for about so many seconds."""
    times, end = [], time.perf_counter() + seconds
    wait()
    while not times or time.perf_counter() < end:
        begun = time.perf_counter()
        for _ in range(STEPS):
            step()
        wait()
        times.append((time.perf_counter() - begun) / STEPS)
    return float(np.median(times))
