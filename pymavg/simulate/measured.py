"""Real trainings beside the model: what one worker does, what a second run adds, and what others should take then."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pymavg.errors import PymavgError
from pymavg.simulate.networks import NETWORKS
from pymavg.simulate.scaling import Loss, Training, predict, waiting
from pymavg.training.progress import KINDS
from pymavg.training.records import read_records


class Measured(NamedTuple):
    """An epoch of a training: seconds in all, and by KINDS as the mean over its workers (read, compute, …)."""

    exp: str
    workers: int
    training: Training
    seconds: float
    kinds: dict


def read_measured(exp):
    """Return the Measured of an experiment directory, the median over its epochs.

    The first epoch, in which data are loaded and kernels compiled, does not count where there are others.

    Raises
    ------
    PymavgError
        When the log lacks what is needed.
    """
    path = Path(exp) / "log" / "train.jsonl"
    records = read_records(path)
    run = next((r for r in reversed(records) if r["event"] == "run"), None)
    epochs = [r for r in records if r["event"] == "epoch" and "elapsed" in r]
    if run is None or not epochs:
        raise PymavgError(f"{path}: no whole epoch with its frames and seconds; train again with this version")
    epochs = epochs[1:] or epochs
    elapsed = float(np.median([r["elapsed"] for r in epochs]))
    frames = float(np.median([r["frames"] for r in epochs]))
    kinds = {k: float(np.median([np.mean(r["seconds"][k]) for r in epochs])) for k in KINDS}
    config = run["config"]
    period = config["average_frames"] / config["minibatch_size"] or config["average_period"]
    training = Training(frames, frames / elapsed, run["parameter_bytes"], config["minibatch_size"], max(1, period))
    return Measured(str(exp), run["workers"], training, elapsed, kinds)


def alone(run):
    """Return `run` as one worker would do it, by its seconds of reading and computing: no slowdown shows then."""
    busy = run.kinds["read"] + run.kinds["compute"]
    t = replace(run.training, frames_per_second=run.training.frames / run.workers / busy)
    return run._replace(workers=1, training=t, seconds=busy * run.workers)


def calibrate(reference, run):
    """Return (Network, Loss) as a run on several workers shows them beside one on a single worker.

    Parameters
    ----------
    reference, run : Measured
        Of 1 and of several workers, on the same data.
    """
    if reference.workers != 1 or run.workers < 2:
        raise PymavgError(
            f"{reference.exp} has {reference.workers} workers and {run.exp} {run.workers}: expected 1, then several"
        )
    t, n = run.training, run.workers
    averages = t.frames / (n * t.minibatch * t.period)
    compute = run.kinds["read"] + run.kinds["compute"]
    slowdown = compute * n / (t.frames / reference.training.frames_per_second)
    period = compute / averages
    jitter = run.kinds["wait"] / averages / (waiting(n) * period / np.sqrt(t.period))
    reduction = (run.kinds["reduce"] + run.kinds["copy"]) / averages
    one_second = replace(NETWORKS["one-machine"], latency=0.0, bandwidth=1.0)
    bandwidth = one_second.reduce_seconds(t.parameter_bytes, n) / max(reduction, 1e-9)
    fixed = max(0.0, run.seconds - sum(run.kinds.values()))
    network = replace(NETWORKS["one-machine"], bandwidth=bandwidth)
    return network, Loss(float(slowdown), float(fixed), float(jitter))


def beside(reference, runs, network, loss):
    """Yield (run, Prediction) for each run, from the speed of the reference."""
    for run in runs:
        training = replace(run.training, frames_per_second=reference.training.frames_per_second)
        yield run, predict(training, network, loss, run.workers)
