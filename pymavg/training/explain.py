"""What a training is going to do, before it does it; and small JSON files."""

import json
import time
from pathlib import Path

import numpy as np

from pymavg.data.minibatches import minibatch_count
from pymavg.data.shards import BYTES_BESIDE_FEATURES, Epoch
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.training.progress import duration

FEWEST_AVERAGES = 20  # an epoch
TIMED_MINIBATCHES = 4


def plain(values):
    """Return values as they look after a round trip through JSON."""
    return json.loads(json.dumps(values))


def write_json(path, values):
    """Write a dict, one value a line."""
    with atomic_open(path) as stream:
        stream.write(json.dumps(values, indent=1, sort_keys=True) + "\n")


def read_json(path):
    """Read what `write_json` wrote."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise PymavgError(f"{path}: not JSON ({error}); --restart true begins anew") from error


def tell(trainer):
    """Print frames per worker, minibatches and averages per epoch, parameters, memory and expected time.

    Parameters
    ----------
    trainer : trainer.Trainer
        With its workers built.
    """
    session, options, loop = trainer.session, trainer.options, trainer.loop
    frames = session.comm.gather([float(w.shard.frames) for w in loop.workers]).ravel()
    batches = minibatch_count(int(frames.max()), options.minibatch_size, options.drop_last)
    averages = -(-batches // options.period())
    speed = session.comm.gather([_frames_per_second(trainer)]).min() / options.virtual_workers
    epochs = trainer.rule.epochs if options.schedule == "exponential" else trainer.rule.max_iters
    say = session.progress.say
    say(f"frames: {frames.sum():,.0f}, per worker {frames.min():,.0f} to {frames.max():,.0f}")
    say(f"an epoch: {batches} minibatches of {options.minibatch_size} per worker, {averages} averages")
    say(f"memory of a worker: {_megabytes(loop.workers[0], loop.averager):,.0f} MB")
    one = frames.max() / speed
    say(f"expected time: {duration(one)} an epoch, at most {duration(one * epochs)} for {epochs} epochs")
    if averages < FEWEST_AVERAGES and session.workers > 1:
        period = max(1, batches // FEWEST_AVERAGES)
        say(f"WARNING: only {averages} averages an epoch; try --average-period {period}")


def _megabytes(worker, averager):
    """Return the memory of a worker for its features, models and, when streaming, both blocks."""
    shard, theta = worker.shard, worker.learner.theta
    frames = shard.stored if shard.fits else 2 * shard.block_frames
    state = sum(np.asarray(v).nbytes for v in worker.learner.state().values())
    aside = sum(getattr(averager, n) is not None for n in ("reference", "block", "delta", "ema"))
    models = theta.nbytes * (2 + aside + 2 * averager.overlap)  # its own, the best; snapshot and sum in flight
    return (frames * (shard.dim * shard.dtype.itemsize + BYTES_BESIDE_FEATURES) + state + models) / 1e6


def _frames_per_second(trainer):
    """Return the speed of one worker, from a few minibatches of a network that is thrown away."""
    worker = max(trainer.loop.workers, key=lambda w: w.shard.frames)
    if not worker.shard.frames:
        return np.inf
    learner = trainer.make_learner(trainer.transform, 0)
    epoch = Epoch(worker.shard, None, trainer.options.minibatch_size)
    count, begun = 0, 0.0
    for i in range(min(1 + TIMED_MINIBATCHES, epoch.left)):
        block, rows = epoch.take()
        learner.learn(block, rows, 0.0, (0,))
        learner.measures()  # waits for the device
        if i == 0 and epoch.left:  # the first one loads data and compiles
            begun = time.perf_counter()
        else:
            count += len(rows)
    return count / max(1e-9, time.perf_counter() - begun)
