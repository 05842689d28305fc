"""The options of the optimisers, and the one function that makes one."""

from dataclasses import dataclass
from typing import ClassVar

from pymavg.errors import PymavgError


@dataclass
class OptimizerOptions:
    """What a user sets; each field is an option of `pymavg train`.

    Attributes
    ----------
    optimizer : {"ngsgd", "sgd"}
    objective_function : {"xent", "mse"}
    momentum, l1_penalty, l2_penalty : float
        nnet1's, for `sgd` only.
    dropout_retention : float
        Probability of keeping a hidden unit; 1 for no dropout.
    precondition : {"online", "simple"}
        Which natural gradient.
    rank_in, rank_out, update_period, alpha, num_samples_history
        Of the online method; alpha also of the simple one.
    max_change_per_sample : float
        Limit of the online method's step, times the frames of a minibatch; 0 for none.
    max_change : float
        Limit of the simple method's step for a minibatch; 0 for none.
    max_change_mode : {"post-lr", "pre-lr"}
        Whether the learning rate is part of what is limited, as in Kaldi's nnet2, or not, as in the paper's trainer.
        Learning rates like the paper's 0.32 belong to pre-lr, where the step stays in proportion to the rate; with
        post-lr they run into the limit all the time, and annealing does nothing.
    """

    HELP: ClassVar[dict] = {
        "optimizer": "ngsgd or sgd",
        "objective_function": "xent or mse",
        "precondition": "natural gradient: online or simple",
        "max_change_per_sample": "limit of a step, times the frames of a minibatch (online); 0 for none",
        "max_change": "limit of a step of a minibatch (simple); 0 for none",
        "max_change_mode": "post-lr: the limit is on the step, learning rate included (Kaldi's nnet2); pre-lr: on the "
        "step before the rate (the paper's trainer). Rates like the paper's 0.32 belong to pre-lr: with post-lr they "
        "run into the limit all the time and annealing does nothing",
    }

    optimizer: str = "ngsgd"
    objective_function: str = "xent"
    momentum: float = 0.0
    l1_penalty: float = 0.0
    l2_penalty: float = 0.0
    dropout_retention: float = 1.0
    precondition: str = "online"
    rank_in: int = 30
    rank_out: int = 60
    update_period: int = 4
    alpha: float = 4.0
    num_samples_history: float = 2000.0
    max_change_per_sample: float = 0.075
    max_change: float = 10.0
    max_change_mode: str = "post-lr"


CHOICES = {
    "optimizer": ("ngsgd", "sgd"),
    "precondition": ("online", "simple"),
    "max_change_mode": ("post-lr", "pre-lr"),
}


def make_optimizer(net, options, seed=0):
    """Return the optimiser of `net` that the options name.

    Raises
    ------
    PymavgError
        When a value is none of the choices, out of range, or does not go with the others.
    """
    from pymavg.nnet.ngsgd import NaturalGradientSgd  # not before: the help needs options alone, and is to be fast
    from pymavg.nnet.sgd import Sgd

    _check(options)
    return {"ngsgd": NaturalGradientSgd, "sgd": Sgd}[options.optimizer](net, options, seed)


def _check(options):
    for name, choices in CHOICES.items():
        if getattr(options, name) not in choices:
            option, found = name.replace("_", "-"), getattr(options, name)
            raise PymavgError(f"--{option}: found '{found}', expected {' or '.join(choices)}")
    if options.optimizer == "ngsgd":
        for name in ("momentum", "l1_penalty", "l2_penalty"):
            if getattr(options, name) != 0:
                option = name.replace("_", "-")
                raise PymavgError(f"--{option} goes with --optimizer sgd only: natural gradient has none; set it to 0")
    if not 0 < options.dropout_retention <= 1:
        raise PymavgError(f"--dropout-retention: found {options.dropout_retention}, expected more than 0, at most 1")
    for name in ("rank_in", "rank_out", "update_period"):
        if getattr(options, name) < 1:
            raise PymavgError(f"--{name.replace('_', '-')}: found {getattr(options, name)}, expected at least 1")
    for name in ("alpha", "num_samples_history"):
        if not getattr(options, name) > 0:
            raise PymavgError(f"--{name.replace('_', '-')}: found {getattr(options, name)}, expected more than 0")
