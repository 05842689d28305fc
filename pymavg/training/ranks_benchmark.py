"""Two ranks against one: what averaging costs, beside what two processes of bare matrix products reach here.

One job of two ranks does everything in turn, so that all figures come from the same minutes: rank 0 trains alone, both
train a period and average, rank 0 multiplies alone, both multiply. It is started as
`mpirun -n 2 python -m mpi4py -m pymavg.training.ranks_benchmark MINIBATCH PERIOD ROUNDS DIM DIM …`, and rank 0 prints
one line of JSON.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

from pymavg.errors import PymavgError
from pymavg.nnet.benchmark import BUSY, LEARN_RATE, Measure, network_products, random_data
from pymavg.nnet.initialise import init_network
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer
from pymavg.training.averaging import Averager
from pymavg.training.combination import AveragingOptions
from pymavg.training.communicator import open_communicator
from pymavg.training.launch import find_mpirun, mpi_command, mpi_environment
from pymavg.training.progress import Clock

ALONE = 3  # minibatches of rank 0 by itself in one round
IDLE_SECONDS = 0.02  # between two looks of a rank that waits without keeping a core busy


def measures(dims, minibatch=1024, period=10, rounds=5):
    """Yield the Measures of two ranks; without figures where there is no MPI.

    Parameters
    ----------
    dims : list of int
        Layers.
    minibatch, period : int
        Frames; minibatches between two averages.
    rounds : int
        The median of so many counts.
    """
    names = f"2 ranks/2 processes of products {minibatch}", f"averaging share {minibatch}, period {period}"
    found = _run([minibatch, period, rounds, *dims])
    if found is None:
        yield from (Measure(names[0], None, 0.95, False), Measure(names[1], None, 0.02, True))
        return
    alone, both, products, averaging = (np.array(found[k]) for k in ("alone", "both", "products", "averaging"))
    speed_up = (period * 2 / both) / (ALONE / alone)
    busy = bool(np.median(products) < BUSY)
    fps = 2 * period * minibatch / np.median(both)
    yield Measure(names[0], float(np.median(speed_up / products)), 0.95, False, fps, busy)
    yield Measure(names[1], float(np.median(averaging / both)), 0.02, True, fps, busy)


def _run(words):
    """Return what rank 0 of the job prints, or None where no job of two ranks can be started."""
    try:
        import mpi4py  # noqa: F401  (only whether it is there)
    except ImportError:
        return None
    if find_mpirun() is None:
        return None
    command = mpi_command(2, [])
    command = [*command[: command.index("mpi4py") + 2], __name__, *map(str, words)]
    done = subprocess.run(command, env=mpi_environment(os.environ), capture_output=True, text=True)
    if done.returncode:
        raise PymavgError(f"two ranks under {command[0]} failed: {' / '.join(done.stderr.splitlines()[-3:])}")
    return json.loads(done.stdout.splitlines()[-1])


class Job:
    """What one of the two ranks holds."""

    def __init__(self, comm, dims, minibatch, period):
        self.comm, self.period = comm, period
        net = Network(init_network(dims))
        self.optimizer = make_optimizer(net, OptimizerOptions(optimizer="sgd"))
        self.x, self.targets = random_data(minibatch, dims)
        self.averager = Averager(comm, np, [net.theta], AveragingOptions(), Clock())
        self.multiply = network_products(dims, minibatch)

    def train(self, count):
        """Train on so many minibatches."""
        for _ in range(count):
            self.optimizer.step(self.x, self.targets, LEARN_RATE)

    def train_period(self):
        """Train a period and average; return the seconds that the average took."""
        self.train(self.period)
        self.comm.gather([0.0])  # as in training: who waits is not charged to the average
        begun = time.perf_counter()
        self.averager.average([1, 1], 0)
        return time.perf_counter() - begun

    def seconds(self, work, alone):
        """Return (wall seconds of work() until both ranks are done, its result); only rank 0 works where `alone`."""
        self.comm.gather([0.0])
        begun, result = time.perf_counter(), 0.0
        if self.comm.rank == 0 or not alone:
            result = work()
        if alone:
            self._wait_idly()
        else:
            self.comm.gather([0.0])
        return time.perf_counter() - begun, result

    def _wait_idly(self):
        """Wait for the other rank without taking its core: MPI's own waiting spins."""
        request = self.comm.comm.Ibarrier()
        while not request.Test():
            time.sleep(IDLE_SECONDS)


def main(words):
    """Measure, on each rank; rank 0 prints."""
    minibatch, period, rounds, *dims = map(int, words)
    job = Job(open_communicator(), dims, minibatch, period)
    found = {"alone": [], "both": [], "products": [], "averaging": []}
    job.train_period()  # compiles, touches all memory
    for _ in range(rounds):
        alone, _ = job.seconds(lambda: job.train(ALONE), alone=True)
        both, averaging = job.seconds(job.train_period, alone=False)
        one, _ = job.seconds(job.multiply, alone=True)
        two, _ = job.seconds(job.multiply, alone=False)
        for name, value in zip(found, (alone, both, 2 * one / two, averaging), strict=True):
            found[name].append(value)
    if job.comm.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
