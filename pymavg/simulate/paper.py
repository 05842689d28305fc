"""What Su and Chen measured (arXiv 1507.01239, the numbers behind the speed-up figure), and the model fitted to it.

A K20 for each worker, 39.9 M parameters, an average every ten minibatches of 1024. Times are minutes of an epoch, as
far as can be told: the paper names no unit. That the loss outside MPI is a factor and a constant, and is not paid by
average, shows in a further measurement: with half the averages at 16 workers, only half of MPI's time is saved.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pymavg.simulate.networks import NETWORKS
from pymavg.simulate.scaling import LOSSES, Loss, Training, predict, waiting

MINUTE = 60.0
FRAMES = 92.7e6  # 90 % of 286 hours at 100 frames a second
ALONE = 254.5  # minutes
PARAMETERS = 39_928_422
TRAINING = Training(FRAMES, FRAMES / (ALONE * MINUTE), 4 * PARAMETERS, minibatch=1024, period=10)
# N -> minutes in all, minutes in MPI
ALL_REDUCE = {2: (183.4, 19.9), 4: (96.0, 12.9), 8: (51.0, 7.62), 16: (27.3, 4.31), 32: (15.24, 2.31)}
BUTTERFLY = {2: (175.6, 12.1), 4: (90.0, 6.69), 8: (46.8, 3.39), 16: (25.2, 2.17), 32: (14.12, 1.16)}
TWENTY = (16, 20, 10.07)  # N, minibatches between two averages, speed-up
FITTED_ON = 8  # the most workers that the fit of `check` sees
TOLERANCE = 0.10


class Row(NamedTuple):
    """One number of the paper beside the model's: by the preset, and fitted on few workers."""

    what: str
    workers: int
    paper: float
    preset: float
    fitted: float

    @property
    def errors(self):
        """Relative errors of both."""
        return self.preset / self.paper - 1, self.fitted / self.paper - 1


def fit(table, training=TRAINING, network=NETWORKS["k20-fdr"]):
    """Fit the loss and the speed of the copies to measured times, by least squares of the relative errors.

    Parameters
    ----------
    table : dict N -> (minutes in all, minutes in MPI)
        Of all-reduces.
    training : scaling.Training
    network : networks.Network
        Its bandwidth and latency are believed.

    Returns
    -------
    loss : scaling.Loss
    copy_bandwidth : float
        Bytes per second.
    """
    workers = np.array(list(table), dtype=float)
    total, mpi = MINUTE * np.array(list(table.values())).T
    alone = training.frames / training.frames_per_second
    slowdown, fixed = _solve([alone / workers, np.ones(len(workers))], total - mpi)
    averages = training.frames / (workers * training.minibatch * training.period)
    size = training.parameter_bytes
    links = averages * [network.reduce_seconds(size, int(n)) for n in workers]
    period = slowdown * training.minibatch_seconds * training.period
    waits = averages * [waiting(int(n)) for n in workers] * period / np.sqrt(training.period)
    passes, jitter = _solve([averages * network.copies * size, waits], mpi - links)
    return Loss(float(slowdown), float(fixed), float(jitter)), float(1 / passes)


def _solve(columns, measured):
    weights = 1 / measured
    return np.linalg.lstsq(np.array(columns).T * weights[:, np.newaxis], measured * weights, rcond=None)[0]


def check():
    """Return the Rows of everything that is compared: the model by its preset, and fitted on N ≤ 8 all-reduces."""
    loss, copy_bandwidth = fit({n: times for n, times in ALL_REDUCE.items() if n <= FITTED_ON})
    preset = NETWORKS["k20-fdr"]
    ways = (preset, LOSSES["k20-fdr"]), (replace(preset, copy_bandwidth=copy_bandwidth), loss)

    def row(what, workers, paper, value, training=TRAINING, reduce_type="allreduce"):
        return Row(what, workers, paper, *(value(predict(training, *way, workers, reduce_type)) for way in ways))

    rows = [row("all-reduce: speed-up", n, ALONE / total, _speed_up) for n, (total, _) in ALL_REDUCE.items()]
    rows += [row("all-reduce: MPI, minutes", n, mpi, _mpi_minutes) for n, (_, mpi) in ALL_REDUCE.items()]
    rows += [
        row("butterfly: speed-up", n, ALONE / total, _speed_up, reduce_type="butterfly")
        for n, (total, _) in BUTTERFLY.items()
    ]
    n, period, paper = TWENTY
    return [*rows, row(f"all-reduce, period {period}: speed-up", n, paper, _speed_up, replace(TRAINING, period=period))]


def _speed_up(prediction):
    return prediction.speed_up


def _mpi_minutes(prediction):
    return prediction.averaging / MINUTE
