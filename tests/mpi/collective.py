"""Run under mpirun by test_mpi.py: every rank checks what it sees, a failed assertion ends the job.

usage: mpirun -n N python -m mpi4py collective.py checks DIR | raise | kill
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from pymavg.data.shards import Shard
from pymavg.training import communicator
from pymavg.training.averaging import Averager
from pymavg.training.combination import AveragingOptions
from pymavg.training.loop import Diverged, Loop, LoopOptions, Worker
from pymavg.training.progress import Clock, Progress
from pymavg.training.session import Signals

COMM = communicator.open_communicator()
RANKS = range(COMM.size)
SIZE = 101


class Source:
    def get(self, utterance):
        return np.full((16, 1), float(utterance[1:]), np.float32)


class Learner:
    """Moves its parameters by what it sees, so that nothing can be seen twice or left out unnoticed."""

    told = "loss {loss:.4f}"

    def __init__(self, number, accident=None):
        self.theta, self.number, self.accident = np.linspace(-1, 1, SIZE, dtype=np.float32), number, accident
        self.sums = np.zeros(3)
        self.batches = 0

    def learn(self, block, rows, learn_rate, numbers):
        self.batches += 1
        if self.accident and self.number == COMM.size - 1 and self.batches == 5:
            self.accident(self)
        rng = np.random.default_rng(int(block.feats[rows].sum()))
        self.theta += learn_rate * rng.normal(size=SIZE).astype(np.float32)
        self.sums += 1.0, 0.0, len(rows)

    def is_sound(self):
        return np.isfinite(self.theta).all()

    def measures(self):
        sums, self.sums = self.sums, np.zeros(3)
        return sums.tolist()

    def loss_so_far(self):
        return self.sums[0]

    def momenta(self):
        return None


def loop(minibatches, period, virtual=1, accident=None, **options):
    """Return a Loop whose worker k has minibatches[k] minibatches of 16 frames."""
    first = COMM.rank * virtual
    learners = [Learner(first + v, accident) for v in range(virtual)]
    offsets = np.cumsum([0, *minibatches])
    lengths = {f"u{i:03d}": 16 for i in range(offsets[-1])}
    names = sorted(lengths)
    walk = LoopOptions(minibatch_size=16, average_period=period)
    workers = []
    for learner in learners:
        own = names[offsets[learner.number] : offsets[learner.number + 1]]
        workers.append(Worker(learner.number, learner, Shard(Source(), own, lengths, None, np, 1), walk))
    clock = Clock()
    averager = Averager(COMM, np, [x.theta for x in learners], AveragingOptions(**options), clock)
    return Loop(COMM, workers, averager, walk, Progress(None), clock)


def train(one, epochs=2):
    """Train and return the frames counted in the last epoch."""
    return [one.run(epoch, lambda _: 0.1, "test", Signals(0), None)[2] for epoch in range(1, epochs + 1)][-1]


def equal_everywhere(theta):
    """Return whether theta has the same bits on all ranks."""
    return np.ptp(COMM.gather(theta.astype(np.float64)), axis=0).max() == 0


def check_gather():
    table = COMM.gather([COMM.rank, 0.5])
    assert table[:, 0].tolist() == list(RANKS) and (table[:, 1] == 0.5).all()
    assert len(COMM.names()) == COMM.size and COMM.names()[COMM.rank] == COMM.host


def check_a_long_wait_names_the_missing():
    said = []
    communicator.PATIENCE_SECONDS, communicator.log = 0.1, said.append
    if COMM.rank == COMM.size - 1 > 0:
        time.sleep(0.5)
    COMM.gather([0.0])
    communicator.PATIENCE_SECONDS = 60
    if COMM.rank == 0 and COMM.size > 1:
        assert said[0].endswith(f"for rank {COMM.size - 1}"), said


def check_sum_in_chunks():
    whole = np.random.default_rng(COMM.rank).normal(size=SIZE).astype(np.float32)
    parts, started = whole.copy(), whole.copy()
    COMM.sum(whole)
    communicator.CHUNK_BYTES = 64
    COMM.sum(parts)
    reduction = COMM.start_sum(started)
    reduction.wait()
    assert reduction.test()
    root = np.full(SIZE, COMM.rank, np.float32)
    COMM.broadcast(root)
    communicator.CHUNK_BYTES = 1 << 30
    assert np.array_equal(whole, parts) and np.array_equal(whole, started) and not root.any()


def check_uneven_shards():
    cases = [(counts, 3, {}) for counts in ([7, 4, 0], [1, 0, 0], [0, 0, 5], [3, 3, 3], [0, 0, 0])]
    cases += [([7, 4, 0], 100, {})]
    cases += [
        ([7, 4, 0], 3, options) for options in ({"block_momentum": 0.5}, {"overlap": True}, {"average_start": 64})
    ]
    for counts, period, options in cases:
        counts = counts[: COMM.size]
        one = loop(counts, period, **options)
        assert train(one) == 16 * sum(counts)
        assert one.total == 2 * 16 * sum(counts)
        assert equal_everywhere(one.averager.thetas[0])
        assert [w.learner.batches for w in one.workers] == [2 * counts[COMM.rank]]


def check_gossip():
    for kind in ("butterfly", "ring", "hoppingring"):
        if COMM.size > 1 and (kind != "butterfly" or COMM.size != 3):
            for virtual in (1, 2):
                one = loop([5, 4, 5, 3, 2, 5][: COMM.size * virtual], 1, virtual, reduce_type=kind)
                train(one)
                assert equal_everywhere(one.averager.thetas[0])
                assert np.array_equal(one.averager.thetas[0], one.averager.thetas[-1])


def check_trouble_reaches_all():
    def spoil(learner):
        learner.theta[3] = np.nan

    one = loop([20] * COMM.size, 3, accident=spoil)
    try:
        train(one)
    except Diverged as error:
        assert str(error) == f"rank {COMM.size - 1} ({COMM.names()[-1]})"
        assert one.averager.rounds == 1  # minibatches 1 to 3 were averaged, 4 and 5 never
    else:
        raise AssertionError("nan went unnoticed")
    finite = np.isfinite(one.averager.thetas[0]).all()
    assert finite or COMM.rank == COMM.size - 1


def write_six_workers(directory):
    """Save what six workers reach when they are spread over these ranks."""
    for name, options in (("plain", {}), ("bmuf", {"block_momentum": 0.6, "block_nesterov": True})):
        one = loop([7, 5, 6, 7, 0, 3], 2, 6 // COMM.size, **options)
        train(one)
        if COMM.rank == 0:
            np.save(Path(directory, f"{name}.{COMM.size}.npy"), one.averager.model)


def fail(learner):
    raise RuntimeError("boom")


def die(learner):
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "checks":
        for name, check in sorted(globals().items()):
            if name.startswith("check_"):
                check()
        write_six_workers(sys.argv[2])
        print(f"rank {COMM.rank} of {COMM.size}: all checks passed", flush=True)
    else:
        train(loop([1000] * COMM.size, 3, accident={"raise": fail, "kill": die}[sys.argv[1]]))
