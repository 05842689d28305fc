"""Is training on this GPU right? Operations, optimisers, RBMs and averages against NumPy, each by itself.

Every check is a function of the array module that returns the largest error beside what is allowed; what one raises is
reported as its result, and the others go on.
"""

import traceback
from typing import NamedTuple

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.data.shards import Epoch, Shard
from pymavg.kaldi import nnet1
from pymavg.nnet import dispatch
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.network import Network
from pymavg.nnet.operations import Operations
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.nnet.rbm import Rbm
from pymavg.training.averaging import Averager
from pymavg.training.combination import AveragingOptions
from pymavg.training.communicator import Local
from pymavg.training.learners import FrameLearner, RbmLearner
from pymavg.training.progress import Clock

FRAMES, DIM, PDFS, MINIBATCH = 30, 40, 50, 64  # of each of 24 utterances of noise; classes
UTTERANCES = [f"u{i:02d}" for i in range(24)]
OPTIMIZERS = {
    "sgd": {"optimizer": "sgd"},
    "sgd with momentum and penalties": {"optimizer": "sgd", "momentum": 0.5, "l2_penalty": 1e-3, "l1_penalty": 1e-4},
    "dropout": {"optimizer": "sgd", "dropout_retention": 0.8},
    "ngsgd": {},
    "ngsgd simple": {"precondition": "simple"},
    "mse": {"objective_function": "mse"},
}
TOLERANCE = {"float32": 1e-4, "tf32": 5e-3, "bf16": 3e-2}


class Result(NamedTuple):
    """One line: the largest error beside the allowed one, or what went wrong."""

    name: str
    error: float
    allowed: float
    trouble: str = ""

    def line(self):
        """Return name, error, bound and verdict, tab-separated."""
        good = not self.trouble and self.error <= self.allowed
        told = [self.name, f"{self.error:.2e}", f"<={self.allowed:.0e}", "ok" if good else "FAILED", self.trouble]
        return "\t".join(part for part in told if part)

    @property
    def good(self):
        """Return whether the check passed."""
        return not self.trouble and self.error <= self.allowed


def results(xp):
    """Yield the Result of every check on the device of module `xp`."""
    for name, allowed, check in checks(xp):
        try:
            yield Result(name, check(), allowed)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(f"{error!r}".split())[:300]
            yield Result(name, np.inf, allowed, f"{text} at {where.filename}:{where.lineno}")


def checks(xp):
    """Yield (name, allowed error, function without arguments that returns the error)."""
    for name, call in operation_calls().items():
        yield f"operation {name}", 1e-5, lambda c=call: operation_error(xp, *c)
    for precision, allowed in TOLERANCE.items():
        yield f"products in {precision}", allowed, lambda p=precision: product_error(xp, p)
    for name, options in OPTIMIZERS.items():
        yield f"training: {name}", 1e-3, lambda o=options: training_error(xp, o)
    yield "training: streamed float16 features", 1e-3, lambda: training_error(xp, {}, streamed=True)
    for visible in ("gauss", "bern"):
        yield f"training: RBM {visible}", 1e-3, lambda v=visible: rbm_error(xp, v)
    for options in ({}, {"block_momentum": 0.5, "block_nesterov": True, "ema_decay": 0.9}, {"overlap": True}):
        yield f"average of 3 workers {' '.join(options)}".strip(), 1e-5, lambda o=options: average_error(xp, o)


def operation_calls():
    """Return {name: (method of Operations, its arguments)}."""
    rng = np.random.default_rng(4)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    rows = np.array([0, 8, 4, 4], np.int32), np.array([0, 5, 4, 3], np.int32), np.array([4, 8, 4, 8], np.int32)
    calls = {
        "gemm": ("gemm", normal(70, 33), normal(33, 90), normal(70, 90), 0.5, 2.0),
        "gemm transposed": ("gemm", normal(33, 70), normal(90, 33), normal(70, 90), -0.5, 0.0, True, True),
        "product in float64": ("product", normal(9, 70).astype(float), normal(70, 9).astype(float)),
        "add_rows": ("add_rows_", normal(60), normal(500, 60), 0.3, 0.9),
        "scale_add": ("scale_add_", normal(50, 60), 0.9, normal(50, 60), -0.1),
        "add_correction": ("add_correction_", normal(50, 60), normal(50, 60), 0.01, 0.9),
        "row_squares": ("row_squares", normal(50, 3000) / 50),
        "dropout": ("dropout_", normal(500, 600), 0.7, 12345 << 30),
        "sample_hidden": ("sample_hidden", normal(50, 60), normal(60), normal(50, 60), 98765 << 30),
        "softmax_xent": ("softmax_xent_", normal(50, 3000), np.arange(50, dtype=np.int32) * 9, None, np.zeros(3)),
        "softmax_xent of ties": (
            "softmax_xent_",
            0 * normal(4, 3),
            np.array([0, 1, 2, 0], np.int32),
            None,
            np.zeros(3),
        ),
        "softmax_xent weighted": (
            *("softmax_xent_", normal(50, 300), np.arange(50, dtype=np.int32), abs(normal(50)), np.zeros(3)),
        ),
        "gather": (
            *("gather", normal(9, 3), *rows, np.arange(-2, 3, dtype=np.int32), normal(15), normal(15), normal(4, 15)),
        ),
        "limit_rows": ("limit_rows_", normal(50, 60), 2.0),
        "shrink_l1": ("shrink_l1_", normal(50, 60), normal(50, 60), 0.3, 0.5),
    }
    for kind in ("linear", "sigmoid", "tanh", "relu"):
        calls[f"activate {kind}"] = "activate_", kind, normal(50, 60) * 9, normal(60)
        calls[f"derive {kind}"] = "derive_", kind, normal(50, 60), abs(normal(50, 60)), 0.5
    return calls


def operation_error(xp, method, *arguments):
    """Return the largest difference between an operation on the device and its plain formula in NumPy."""
    outcomes = []
    for operations in (Operations(np), dispatch.operations(xp, np.float32)):
        own = [to_device(operations.xp, a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
        returned = getattr(operations, method)(*own)
        outcomes.append([to_host(a) for a in [*own, returned] if not isinstance(a, str | type(None))])
    return largest_difference(*outcomes)


def largest_difference(found, expected):
    """Return the largest difference of two lists of arrays; beside an array's largest element where that is over 1."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        difference = np.abs(a - b).max(initial=0) / max(1.0, np.abs(b).max(initial=0))
        worst = max(worst, np.inf if np.isnan(difference) else float(difference))
    return worst


def product_error(xp, precision):
    """Return the error of a product of 512 x 1024 and 1024 x 768 beside the size of its elements."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((512, 1024), (1024, 768)))
    out = xp.empty((512, 768), np.float32)
    dispatch.operations(xp, np.float32, precision).gemm(to_device(xp, a), to_device(xp, b), out)
    exact = a.astype(np.float64) @ b
    return float(np.abs(to_host(out) - exact).max() / np.abs(exact).max())


class Noise:
    """Features without meaning."""

    def get(self, utterance):
        """Return (FRAMES, DIM) float32."""
        return np.random.default_rng(int(utterance[1:])).standard_normal((FRAMES, DIM)).astype(np.float32)


def noise_shard(xp, streamed=False):
    """Return a shard of noise; in blocks and in float16 where `streamed`."""
    labels = {u: (np.arange(FRAMES) * 7 % PDFS).astype(np.int32) for u in UTTERANCES}
    budget, dtype = (2 * 10 * FRAMES * (2 * DIM + 12), np.float16) if streamed else (0, np.float32)
    return Shard(Noise(), UTTERANCES, dict.fromkeys(UTTERANCES, FRAMES), labels, xp, DIM, budget, dtype)


def splicing(xp):
    """Return a transform of three frames into one input."""
    return FeatureTransform([nnet1.Splice(np.arange(-1, 2, dtype=np.int32), DIM)], xp)


def learn(learner, shard):
    """Train four epochs; return [sums of measures, parameters]."""
    for epoch in range(1, 5):
        batches = Epoch(shard, (1, epoch, 0), MINIBATCH)
        while batches.left:
            block, rows = batches.take()
            learner.learn(block, rows, 0.002, (1, epoch, 0, batches.done))
    return [np.array(learner.measures()), to_host(learner.theta)]


def demand_graphs(learner):
    """Raise RuntimeError where steps were not replayed though the device can."""
    captured = learner.captured
    if captured is not None and learner.parts(None, None, None, None) is not None and not captured.replayed:
        raise RuntimeError("steps were not replayed as CUDA graphs; see the warning above")


def training_error(xp, options, streamed=False):
    """Return the largest difference after training on the device and on the host."""
    outcomes = []
    for module in (np, xp):
        net = Network(init_network([3 * DIM, 64, 64, PDFS]), module)
        learner = FrameLearner(make_optimizer(net, OptimizerOptions(**options), 3), splicing(module))
        outcomes.append(learn(learner, noise_shard(module, streamed)))
    demand_graphs(learner)
    return largest_difference(*outcomes)


def rbm_error(xp, visible):
    """Return the largest difference of an RBM trained on the device and on the host, under a layer when binary."""
    outcomes = []
    for module in (np, xp):
        below = None if visible == "gauss" else Network(init_network([3 * DIM, 48, 3])[:2], module)
        component = init_rbm(3 * DIM if below is None else 48, 32, visible)
        learner = RbmLearner(Rbm.from_component(component, module), splicing(module), below, 2e-4, 1)
        outcomes.append(learn(learner, noise_shard(module)))
    demand_graphs(learner)
    return largest_difference(*outcomes)


def average_error(xp, options):
    """Return the largest difference of models averaged on the device and on the host."""
    outcomes = []
    for module in (np, xp):
        rng = np.random.default_rng(2)
        start = rng.standard_normal(10_000).astype(np.float32)
        thetas = [to_device(module, start.copy()) for _ in range(3)]
        averager = Averager(Local(), module, thetas, AveragingOptions(**options), Clock())
        for frames in ([9, 9, 9], [9, 5, 0], [4, 0, 0]):
            for theta in thetas:
                theta += to_device(module, rng.standard_normal(10_000).astype(np.float32))
            averager.average(frames, 0)
        averager.synchronise([22, 14, 9])
        outcomes.append([to_host(thetas[0]), to_host(averager.model)])
    return largest_difference(*outcomes)
