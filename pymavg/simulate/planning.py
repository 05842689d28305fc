"""How many workers a training needs to be done in time, and what they cost."""

from dataclasses import replace
from typing import NamedTuple

from pymavg.errors import PymavgError
from pymavg.simulate.scaling import LARGEST, predict

LONGER = (1, 2, 4, 8)  # periods looked at, in units of the given one


class Plan(NamedTuple):
    """The fewest workers that are done in time with this period; hours of the whole training, averages an epoch."""

    period: float
    workers: int
    hours: float
    worker_hours: float
    averages: float


def plans(training, network, loss, epochs, hours, reduce_type="allreduce", overlap=False):
    """Return a Plan for each period, the given one first, that can be done in time.

    Parameters
    ----------
    training, network, loss, reduce_type, overlap
        As for scaling.predict.
    epochs : int
    hours : float
        In which all epochs are to be done.

    Raises
    ------
    PymavgError
        When no number of workers is enough.
    """
    found, fastest = [], float("inf")
    for longer in LONGER:
        training_now = replace(training, period=training.period * longer)
        for workers in _numbers(reduce_type):
            took = predict(training_now, network, loss, workers, reduce_type, overlap).seconds * epochs / 3600
            fastest = min(fastest, took)
            if took <= hours:
                averages = training.frames / (workers * training.minibatch * training_now.period)
                found.append(Plan(training_now.period, workers, took, took * workers, averages))
                break
    if not found:
        raise PymavgError(
            f"--target-hours {hours:g}: {epochs} epochs take {fastest:.3g} hours at best, whatever the number of "
            f"workers up to {LARGEST}; take fewer epochs, a faster network{'' if overlap else ' or --overlap true'}"
        )
    return found


def _numbers(reduce_type):
    if reduce_type == "butterfly":
        return [2**k for k in range(LARGEST.bit_length())]
    return range(1, LARGEST + 1)
