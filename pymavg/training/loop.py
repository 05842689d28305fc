"""The loop at the heart: train a period, compare notes, average; until every worker has used up its shard.

Each period ends in two reductions. The small one brings the notes of all ranks to all: frames, what is left, trouble,
wishes, time. It comes first, because a model that is not finite must not enter the large one (0 × nan is nan), and
because every rank must draw the same conclusion from the same numbers: go on, stop, save.
"""

import math
from dataclasses import dataclass

import numpy as np

from pymavg.data.shards import names_of
from pymavg.options import warn
from pymavg.training.progress import KINDS

TROUBLE, SAVE, STOP = 0, 1, 2  # the flags at the head of a rank's notes
PER_WORKER = 5  # frames, minibatches left, loss, correct, counted frames
HEAD = 3 + len(KINDS)


class Diverged(Exception):
    """The parameters or the loss of some worker are no longer finite or sensible; raised on all ranks together."""


class Stopped(Exception):
    """Some rank was asked to stop; raised on all ranks together, after the checkpoint."""


@dataclass
class LoopOptions:
    """How a worker walks through its shard."""

    minibatch_size: int = 256
    randomizer_size: int = 0
    randomize: bool = True
    drop_last: bool = False
    seed: int = 777
    average_period: int = 10  # minibatches
    average_frames: int = 0  # of a worker, after which its period ends early; 0: not used


class Worker:
    """A learner with its shard and its place in it.

    Parameters
    ----------
    number : int
        Among all workers of all ranks.
    learner : learners.FrameLearner or learners.RbmLearner
    shard : pymavg.data.shards.Shard
    options : LoopOptions
    """

    def __init__(self, number, learner, shard, options):
        self.number, self.learner, self.shard, self.options = number, learner, shard, options
        self.epoch_frames = self.frames = 0
        self.trouble, self.trail = None, []

    def begin(self, epoch, done=0):
        """Stand before minibatch `done` of an epoch."""
        options = self.options
        self.numbers = (options.seed, epoch, self.number)
        self.pass_ = self.shard.epoch(
            self.numbers if options.randomize else None,
            options.minibatch_size,
            options.randomizer_size,
            options.drop_last,
            done,
        )
        self.frames, self.trouble = 0, None
        if not done:
            self.epoch_frames = 0

    def train(self, count, learn_rate, clock, poll):
        """Train on at most `count` minibatches; afterwards `frames` is their number of frames."""
        self.frames, self.trail = 0, []
        for _ in range(min(count, self.pass_.left)):
            with clock("read"):
                block, rows = self.pass_.take()
            try:
                with clock("compute"):
                    self.learner.learn(block, rows, learn_rate, (*self.numbers, self.pass_.done))
            except Exception as error:
                error.add_note(
                    f"in minibatch {self.pass_.done}: {_some(names_of(block.utterances, block.starts, rows))}"
                )
                raise
            self.frames += len(rows)
            poll()
            self.trail.append((self.pass_.done, block.utterances, block.starts, rows, self.learner.loss_so_far()))
            if not self.learner.is_sound():
                self.trouble = self._place(-1)
                break
            if 0 < self.options.average_frames <= self.frames:
                break
        self.epoch_frames += self.frames

    def notes(self, clock, limit):
        """Return (frames, left, loss, correct, counted) of the period and look for trouble."""
        with clock("compute"):
            loss, correct, counted = self.learner.measures()
            total = float(self.learner.theta.sum())
        sound = math.isfinite(loss) and math.isfinite(total) and loss <= limit * max(1.0, counted)
        if self.frames and not sound and self.trouble is None:
            self.trouble = f"{self._place(self._worst())}; loss {loss / max(1.0, counted):.4g} per frame"
        return self.frames, self.pass_.left, loss, correct, counted

    def _worst(self):
        """Return the place in the trail where the loss stopped being finite, or grew most."""
        losses = np.array([float(mark) for *_, mark in self.trail])
        lost = np.flatnonzero(~np.isfinite(losses))
        return int(lost[0]) if len(lost) else int(np.diff(losses, prepend=0.0).argmax())

    def _place(self, index):
        number, utterances, starts, rows, _ = self.trail[index]
        return f"minibatch {number}: {_some(names_of(utterances, starts, rows))}"


def _some(names):
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more utterances" if len(names) > 5 else "")


class Loop:
    """Epochs of all workers, in step.

    Parameters
    ----------
    comm : communicator.Local or communicator.Mpi
    workers : list of Worker
        Of this rank.
    averager : averaging.Averager
    options : LoopOptions
    progress, clock : progress.Progress, progress.Clock
    limit : float
        Loss per frame above which the training has diverged.
    """

    def __init__(self, comm, workers, averager, options, progress, clock, limit=math.inf):
        self.comm, self.workers, self.averager, self.options = comm, workers, averager, options
        self.progress, self.clock, self.limit = progress, clock, limit
        self.total = 0  # frames of all workers since training began
        self.sums = np.zeros(3)  # loss, correct, frames of the epoch
        self.host = comm.names()

    def run(self, epoch, rate, title, signals, save, done=None):
        """Train one epoch; return its (loss, correct, frames) over all workers.

        Parameters
        ----------
        epoch : int
        rate : function of the frames so far -> learning rate
        title : str
            For the reports.
        signals : object with save and stop
            This rank's wishes (signals, the time for a checkpoint).
        save : function()
            Writes a checkpoint within the epoch.
        done : list of int or None
            Minibatches each of this rank's workers has behind it, after a resumed checkpoint.

        Raises
        ------
        Diverged, Stopped
        """
        if done is None:
            self.sums[:] = 0
        for worker, skip in zip(self.workers, done or [0] * len(self.workers), strict=True):
            worker.begin(epoch, skip)
        done_frames = int(self._epoch_frames_by_worker().sum())
        self.progress.begin(title, self._epoch_frames(), done_frames, self.workers[0].learner.told)
        _, left, flags = self._exchange(signals)
        while left.any():
            if flags[SAVE] or flags[STOP]:
                save()
            if flags[STOP]:
                raise Stopped
            for worker in self.workers:
                worker.train(self.options.average_period, rate(self.total), self.clock, self.averager.poll)
            frames, left, flags = self._exchange(signals)
            self.averager.average(frames, self.total)
            self._momenta(frames)
            self.total += int(frames.sum())
        self.averager.synchronise(self._epoch_frames_by_worker())
        self.progress.end()
        return self.sums.copy()

    def _exchange(self, signals):
        """Compare notes; return frames and minibatches left of all workers, and the flags."""
        notes = [worker.notes(self.clock, self.limit) for worker in self.workers]
        trouble = [w for w in self.workers if w.trouble]
        for worker in trouble:
            warn(f"rank {self.comm.rank} ({self.host[self.comm.rank]}), worker {worker.number}: {worker.trouble}")
        with self.clock("wait"):
            row = [bool(trouble), signals.save(), signals.stop(), *self.clock.take(), *np.ravel(notes)]
            table = self.comm.gather(row)
        if table[:, TROUBLE].any():
            ranks = [f"rank {r} ({self.host[r]})" for r in np.flatnonzero(table[:, TROUBLE])]
            raise Diverged(", ".join(ranks))
        notes = table[:, HEAD:].reshape(-1, PER_WORKER)
        loss, correct, counted = notes[:, 2:].sum(axis=0)
        self.sums += loss, correct, counted
        self.progress.update(loss, correct, counted, notes[:, 0].sum(), table[:, 3:HEAD])
        return notes[:, 0], notes[:, 1], table[:, :3].any(axis=0)

    def _momenta(self, frames):
        if self.averager.options.average_momentum != "keep":
            vectors = [worker.learner.momenta() for worker in self.workers]
            if vectors[0] is not None:
                self.averager.momenta(vectors, frames)

    def _epoch_frames(self):
        return int(self.comm.gather([sum(w.shard.frames for w in self.workers)]).sum())

    def _epoch_frames_by_worker(self):
        return self.comm.gather([float(w.epoch_frames) for w in self.workers]).ravel()

    def state(self):
        """Return (common values, values of each of this rank's workers) for a checkpoint."""
        common, workers = self.averager.state()
        common.update(total=np.int64(self.total), sums=self.sums)
        for worker, own in zip(self.workers, workers, strict=True):
            own.update(done=np.int64(worker.pass_.done), epoch_frames=np.int64(worker.epoch_frames))
            own["theta"] = self.averager.staging.to_host(worker.learner.theta)
            own.update({f"learner.{name}": value for name, value in worker.learner.state().items()})
        return common, workers

    def load_state(self, common, workers):
        """Restore what `state` returned; return the minibatches each worker has behind it."""
        self.total, self.sums = int(common["total"]), np.array(common["sums"])
        self.averager.load_state(common, workers)
        for worker, own in zip(self.workers, workers, strict=True):
            worker.learner.theta[...] = self.averager.staging.to_device(own["theta"])
            prefix = "learner."
            worker.learner.load_state({n[len(prefix) :]: v for n, v in own.items() if n.startswith(prefix)})
            worker.epoch_frames = int(own["epoch_frames"])
        return [int(own["done"]) for own in workers]
