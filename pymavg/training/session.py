"""What every training holds while it runs: ranks, device, directory, lock, reports and the wishes of its user."""

import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np

from pymavg import provenance
from pymavg.data.minibatches import partition
from pymavg.data.shards import Shard, used_frames
from pymavg.errors import PymavgError
from pymavg.options import log
from pymavg.training.averaging import Averager
from pymavg.training.checkpoint import Checkpoints, Lock
from pymavg.training.communicator import open_communicator
from pymavg.training.devices import bind, device_name
from pymavg.training.loop import Loop, Worker
from pymavg.training.progress import Clock, Progress

GIB = 1 << 30
GRACE_SECONDS = 2.0  # by which rank 0 may speak first where all ranks found the same fault


class Session:
    """A training in the directory `exp`, on all ranks; use it as a context manager.

    Parameters
    ----------
    exp : str or Path
    options : settings.RunOptions
    name : str
        Of the JSON-lines log, exp/log/NAME.jsonl.
    """

    def __init__(self, exp, options, name):
        options.check()
        self.exp, self.options = Path(exp), options
        self.comm = open_communicator()
        self.lock = Lock(self.exp) if self.comm.rank == 0 else None
        self.comm.gather([0.0])  # nobody touches the directory before it is locked
        self.xp = bind(self.comm, options.use_gpu, options.share_gpu)
        self.workers = self.comm.size * options.virtual_workers
        self.clock = Clock()
        log_path = self.exp / "log" / f"{name}.jsonl" if self.comm.rank == 0 else None
        self.progress = Progress(log_path, options.report_seconds)
        self.checkpoints = Checkpoints(self.exp / "checkpoint", self.comm)
        self.signals = Signals(options.checkpoint_minutes if self.comm.rank == 0 else 0)

    @property
    def first_worker(self):
        """Number of this rank's first worker."""
        return self.comm.rank * self.options.virtual_workers

    @property
    def own_workers(self):
        """Numbers of this rank's workers."""
        return range(self.first_worker, self.first_worker + self.options.virtual_workers)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.signals.restore()
        self.progress.close()
        if self.lock:
            self.lock.release()
        if kind is not None and kind.__name__ == "OutOfMemoryError":  # CuPy's, with what was wanted and what there is
            error = PymavgError(f"{error}; lower --minibatch-size, or --memory-budget to stream the features")
            if self.comm.size == 1:
                raise error
        if error is not None and self.comm.size > 1:
            if self.comm.rank:
                time.sleep(GRACE_SECONDS)
            place = f"rank {self.comm.rank} ({self.comm.host})"
            if isinstance(error, PymavgError):
                raise PymavgError(f"{place}: {error}") from error
            log(f"{place} failed: {error!r}")

    def record_run(self, **values):
        """Write into the log which training this is: command, commit, machine, seed and the given values."""
        hosts = sorted(set(self.comm.names()))
        if self.comm.rank == 0:
            self.progress.record(
                "run",
                **provenance.here(self.comm.size),
                hosts=hosts,
                device=device_name(self.xp),
                workers=self.workers,
                seed=self.options.seed,
                continued=self.checkpoints.current() is not None,
                **values,
            )

    def first_rank_does(self, action):
        """Run `action()` on rank 0 while the others wait for its end."""
        if self.comm.rank == 0:
            action()
        self.comm.gather([0.0])

    def clear(self, *names):
        """Remove what an earlier run left: checkpoints and the named files or folders of `exp` (rank 0)."""
        self.checkpoints.remove()
        for name in names:
            path = self.exp / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def shards(self, source, targets):
        """Return the shards of this rank's workers; `targets` is an inputs.Targets."""
        parts = partition(used_frames(targets.lengths, targets.weights), self.workers)
        return [self.shard(source, parts[number], targets) for number in self.own_workers]

    def shard(self, source, utterances, targets):
        """Return one shard."""
        budget = int(self.options.memory_budget * GIB / self.options.virtual_workers)
        dtype = np.dtype(self.options.shard_dtype)
        return Shard(
            source,
            utterances,
            targets.lengths,
            targets.labels,
            self.xp,
            source.dim,
            budget,
            dtype,
            targets.weights,
            targets.num_classes,
        )

    def loop(self, learners, shards, averaging, limit):
        """Return the Loop over this rank's workers, their models made equal to rank 0's."""
        loop_options = self.options.loop()
        numbered = zip(self.own_workers, learners, shards, strict=True)
        workers = [Worker(number, learner, shard, loop_options) for number, learner, shard in numbered]
        averager = Averager(self.comm, self.xp, [learner.theta for learner in learners], averaging, self.clock)
        averager.synchronise(np.zeros(self.workers))
        return Loop(self.comm, workers, averager, loop_options, self.progress, self.clock, limit)


class Signals:
    """SIGTERM: write a checkpoint and stop; SIGUSR1, or the time for it: write a checkpoint and go on.

    Parameters
    ----------
    minutes : float
        Between checkpoints; 0 for none by time.
    """

    def __init__(self, minutes):
        self.seconds = 60 * minutes
        self.since = time.monotonic()
        self.asked = self.ended = False
        self.previous = {}
        if threading.current_thread() is threading.main_thread():
            for number, handle in ((signal.SIGTERM, self._end), (signal.SIGUSR1, self._ask)):
                self.previous[number] = signal.signal(number, handle)

    def _end(self, *_):
        self.ended = True

    def _ask(self, *_):
        self.asked = True

    def save(self):
        """Return whether a checkpoint is due."""
        return self.asked or (self.seconds > 0 and time.monotonic() - self.since > self.seconds)

    def stop(self):
        """Return whether to stop."""
        return self.ended

    def saved(self):
        """Begin to wait for the next checkpoint."""
        self.asked, self.since = False, time.monotonic()

    def restore(self):
        """Give the signals back."""
        for number, handle in self.previous.items():
            signal.signal(number, handle)
