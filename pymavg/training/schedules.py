"""Learning-rate schedules as plain functions over immutable states.

A schedule is asked once an epoch: `(state, accepted) = advance(rule, state, loss, accuracy)`.
"""

import math
from typing import NamedTuple

from pymavg.errors import PymavgError


class Newbob(NamedTuple):
    """Halve when the cross-validation measure stops improving (FACTS of nnet1: train_scheduler.sh).

    `measure` "loss" compares the relative gain of the loss, thresholds 0.01 and 0.001 (nnet1); "accuracy" the gain of
    the frame accuracy in percent points, thresholds 0.5 and 0.1 (Su and Chen 2015, section 4).
    """

    measure: str = "loss"
    max_iters: int = 20
    min_iters: int = 0
    keep_lr_iters: int = 0
    start_halving_impr: float = 0.01
    end_halving_impr: float = 0.001
    halving_factor: float = 0.5


class Exponential(NamedTuple):
    """lr_k = lr_1 · final_factor^((k−1)/(epochs−1)), k = 1 … epochs; every epoch is accepted (Su and Chen 2015)."""

    epochs: int = 15
    final_factor: float = 0.01


class State(NamedTuple):
    """Where a schedule stands: `epoch` is the one to train next, counted from 1."""

    epoch: int
    learn_rate: float
    initial: float
    loss: float  # of the model kept so far, on the cross-validation set
    accuracy: float  # likewise, in percent
    halving: bool = False
    finished: bool = False


def begin(learn_rate, loss, accuracy):
    """Return the state before the first epoch, from the measures of the initial model."""
    return State(1, learn_rate, learn_rate, loss, accuracy)


def advance(rule, state, loss, accuracy):
    """Judge the model of one epoch.

    Parameters
    ----------
    rule : Newbob or Exponential
    state : State
    loss, accuracy : float
        Cross-validation loss per frame and frame accuracy in percent of the epoch's model.

    Returns
    -------
    state : State
        For the next epoch.
    accepted : bool
        Whether the epoch's model is kept; a model of non-finite loss never is.
    """
    step = _newbob if isinstance(rule, Newbob) else _exponential
    return step(rule, state, loss, accuracy)


def _gain(rule, state, loss, accuracy):
    """Return how much better than the kept model: relative for the loss, in percent points for the accuracy."""
    if rule.measure == "accuracy":
        return accuracy - state.accuracy
    return (state.loss - loss) / state.loss if state.loss > 0 else 0.0


def _newbob(rule, state, loss, accuracy):
    kept = state.epoch <= rule.keep_lr_iters
    early = state.epoch <= rule.min_iters
    gain = _gain(rule, state, loss, accuracy)
    accepted = math.isfinite(loss) and (gain > 0 or kept or early)
    gain = gain if accepted else 0.0
    if accepted:
        state = state._replace(loss=loss, accuracy=accuracy)
    finished = state.epoch >= rule.max_iters
    if not kept:
        finished |= state.halving and gain < rule.end_halving_impr and not early
        held = state.halving and gain < rule.end_halving_impr and early  # min_iters: go on at the same rate
        halving = state.halving or gain < rule.start_halving_impr
        factor = rule.halving_factor if halving and not held else 1.0
        state = state._replace(halving=halving, learn_rate=state.learn_rate * factor)
    return state._replace(epoch=state.epoch + 1, finished=finished), accepted


def _exponential(rule, state, loss, accuracy):
    accepted = math.isfinite(loss)
    if accepted:
        state = state._replace(loss=loss, accuracy=accuracy)
    learn_rate = exponential_rate(rule, state.initial, state.epoch + 1)
    finished = state.epoch >= rule.epochs
    return state._replace(epoch=state.epoch + 1, learn_rate=learn_rate, finished=finished), accepted


def exponential_rate(rule, initial, epoch):
    """Return lr_k of `Exponential` for epoch k, held at the final value afterwards."""
    done = min(1.0, (epoch - 1) / max(1, rule.epochs - 1))
    return initial * rule.final_factor**done


def warm_up(start, learn_rate, frames, warmup_frames):
    """Return the rate after `frames`: linear from `start` to `learn_rate` over the first `warmup_frames`."""
    done = 1.0 if frames >= warmup_frames else frames / warmup_frames
    return start + (learn_rate - start) * done


def make_rule(name, measure, options):
    """Return the rule called `name`, its fields taken from the mapping `options` where they are set there.

    Raises
    ------
    PymavgError
        When a value is out of its range.
    """
    if name == "exponential":
        rule = Exponential(**_chosen(Exponential, options))
        if rule.epochs < 1 or not 0 < rule.final_factor <= 1:
            raise PymavgError(f"{rule}: epochs must be at least 1 and final_factor in (0, 1]")
        return rule
    thresholds = {"start_halving_impr": 0.5, "end_halving_impr": 0.1} if measure == "accuracy" else {}
    rule = Newbob(**{"measure": measure, **thresholds, **_chosen(Newbob, options)})
    if not 0 < rule.halving_factor < 1 or rule.max_iters < 1:
        raise PymavgError(f"{rule}: halving_factor must be in (0, 1) and max_iters at least 1")
    return rule


def _chosen(kind, options):
    return {name: options[name] for name in kind._fields if options.get(name) is not None}
