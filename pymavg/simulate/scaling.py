"""The scaling model: seconds of an epoch on N workers, from what one worker does and what the network gives.

    T(1) = F / r
    T(N) = s F / (N r)  +  d  +  A (w + c + t),        A = F / (N m p)

F frames of an epoch, r frames per second of one worker alone, m frames of a minibatch, p minibatches between two
averages, A averages of an epoch. Beside the network's c (copies) and t (reduction) three numbers describe the loss:

    s  slowdown: what a worker among many needs for a frame, beside what it needs alone (shared memory, disks, hosts);
    d  fixed seconds of an epoch, the same for any N (start of the job, the model's way to all, cross-validation);
    σ  jitter: standard deviation of the time of a minibatch, relative to it. Workers wait for the slowest:
       w = σ √p (s m / r) E_N, E_N the expected largest of N standard normal numbers.

With uneven shards the largest is (1 + u) F/N; the others wait for it. With overlap t is hidden behind the next period.
Everything but the time of a period is an expected value; none of the numbers depends on N.
"""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from pymavg.training.gossip import PARTNERS

LARGEST = 1024  # workers


@dataclass(frozen=True)
class Training:
    """What is trained: frames of an epoch, frames/s of one worker, bytes of its parameters, frames, minibatches."""

    frames: float
    frames_per_second: float
    parameter_bytes: float
    minibatch: int = 1024
    period: int = 10

    @property
    def minibatch_seconds(self):
        """Seconds of a minibatch on one worker alone."""
        return self.minibatch / self.frames_per_second


@dataclass(frozen=True)
class Loss:
    """What is lost outside the network; see the module's text for s, d, σ and u."""

    slowdown: float = 1.0
    fixed_seconds: float = 0.0
    jitter: float = 0.0
    uneven: float = 0.0


# By network. The K20's are those that the paper's own times show (paper.fit, rounded), at 2 to 32 workers alike; the
# jitter of the others is an assumption, to be replaced by what `pymavg scaling --check-runs` finds.
LOSSES = {
    "k20-fdr": Loss(slowdown=1.26, fixed_seconds=175.0, jitter=0.20),
    "10gbe": Loss(jitter=0.05),
    "nvlink-ndr": Loss(jitter=0.05),
    "one-machine": Loss(jitter=0.05),
}


class Prediction(NamedTuple):
    """An epoch on `workers`: seconds in all and by kind (a worker's mean), speed-up over one worker."""

    workers: int
    seconds: float
    compute: float
    wait: float
    copy: float
    reduce: float
    fixed: float
    speed_up: float

    @property
    def efficiency(self):
        """Speed-up by worker."""
        return self.speed_up / self.workers

    @property
    def averaging(self):
        """Seconds in averages: what the paper calls MPI time."""
        return self.wait + self.copy + self.reduce

    @property
    def share(self):
        """Averages' part of the time."""
        return self.averaging / self.seconds


def predict(training, network, loss, workers, reduce_type="allreduce", overlap=False):
    """Return the Prediction for `workers`.

    Parameters
    ----------
    training : Training
    network : networks.Network
    loss : Loss
    workers : int
    reduce_type : str
        As of `pymavg train`: allreduce, butterfly, ring or hoppingring.
    overlap : bool
        Reductions run while the next period is computed; copies and waiting do not.
    """
    alone = training.frames / training.frames_per_second
    if workers == 1:
        return Prediction(1, alone, alone, 0.0, 0.0, 0.0, 0.0, 1.0)
    compute = loss.slowdown * alone / workers
    period = loss.slowdown * training.minibatch_seconds * training.period
    averages = compute * (1 + loss.uneven) / period
    deviation = loss.jitter * period / math.sqrt(training.period)
    wait = loss.uneven * compute + averages * deviation * waiting(workers, reduce_type)
    copy = averages * network.copy_seconds(training.parameter_bytes)
    one = network.reduce_seconds(training.parameter_bytes, workers, reduce_type)
    reduce = averages * (max(0.0, one - period) if overlap else one)
    seconds = compute + wait + copy + reduce + loss.fixed_seconds
    return Prediction(workers, seconds, compute, wait, copy, reduce, loss.fixed_seconds, alone / seconds)


def waiting(workers, reduce_type="allreduce"):
    """Return by how many standard deviations of a period a round takes longer than its mean."""
    if reduce_type == "allreduce":
        return expected_largest(workers)
    return _gossip_waiting(workers, reduce_type)


@functools.cache
def expected_largest(count):
    """Return E_N = ∫ (1 − Φ(x)^N) dx over x > 0 minus ∫ Φ(x)^N dx over x < 0, of N standard normal numbers."""
    x = np.linspace(-10, 10, 4001)
    below = ndtr(x) ** count
    return float(np.trapezoid(np.where(x > 0, 1 - below, -below), x))


@functools.cache
def _gossip_waiting(workers, kind, rounds=400, seed=0):
    """The same where a worker waits for its partners of the round only: begin_g ← max(end_g, end_partner), played."""
    rng = np.random.default_rng(seed)
    ends = np.zeros(workers)
    for count in range(rounds):
        ends += rng.standard_normal(workers)
        senders = [PARTNERS[kind](g, workers, count)[1] for g in range(workers)]
        ends = np.maximum(ends, ends[senders])
    return float(ends.mean() / rounds)
