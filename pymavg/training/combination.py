"""How models are combined: the options, and the block momentum that may follow an average."""

from dataclasses import dataclass

from pymavg.errors import PymavgError
from pymavg.training import gossip

REDUCE_TYPES = ("allreduce", *gossip.PARTNERS)


@dataclass
class AveragingOptions:
    """How models are combined; see `pymavg train --help`."""

    reduce_type: str = "allreduce"
    average_start: int = 0  # frames of all workers before which one worker's model is kept instead of the average
    block_momentum: float = 0.0
    block_learn_rate: float = 1.0
    block_nesterov: bool = False
    ema_decay: float = 0.0
    average_momentum: str = "keep"  # keep | average | reset
    overlap: bool = False

    HELP = {
        "reduce_type": f"{', '.join(REDUCE_TYPES)}; all but the first mix pairs of models",
        "average_start": "frames of all workers before which one worker after the other is taken whole",
        "block_momentum": "BMUF: momentum of the averaged step, such as 1 - 1/N; 0: none; goes with --lr-scaling none",
        "block_learn_rate": "BMUF: factor of the averaged step",
        "block_nesterov": "BMUF: workers start ahead, where the momentum will carry the model",
        "ema_decay": "moving average over the averages, kept aside: see --final-model; 0 for none",
        "average_momentum": "keep, average or reset the momentum of the workers at each average",
        "overlap": "go on training while an average is on its way, and apply it one period later",
    }

    def check(self, workers):
        """Raise PymavgError where the options contradict each other or the number of workers."""
        if self.reduce_type not in REDUCE_TYPES:
            raise PymavgError(f"--reduce-type {self.reduce_type}: expected one of {', '.join(REDUCE_TYPES)}")
        if self.average_momentum not in ("keep", "average", "reset"):
            raise PymavgError(f"--average-momentum {self.average_momentum}: expected keep, average or reset")
        for name in ("block_momentum", "ema_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise PymavgError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected 0 <= value < 1")
        if self.reduce_type != "allreduce" and (self.block_momentum or self.overlap or self.ema_decay):
            raise PymavgError(
                f"--reduce-type {self.reduce_type} goes neither with --block-momentum, --ema-decay nor "
                "--overlap: they need the average of all workers; use --reduce-type allreduce"
            )
        if self.overlap and (self.block_momentum or self.average_start):
            raise PymavgError("--overlap goes neither with --block-momentum nor with --average-start")
        if self.reduce_type == "butterfly" and workers & (workers - 1):
            raise PymavgError(f"--reduce-type butterfly needs a power of two of workers, got {workers}; use allreduce")


def block_momentum(theta, block, delta, options):
    """Filter the step from the last block model to the average, in place (Chen and Huo 2016, equations 3 to 6).

    G = θ̄ − W;  Δ ← ηΔ + ζG;  W ← W + Δ;  workers start from W (classical) or W + ηΔ (Nesterov).

    Parameters
    ----------
    theta : xp float (P,)
        In: the average θ̄. Out: where the workers start.
    block, delta : xp float (P,)
        W and Δ.
    options : AveragingOptions
        η is `block_momentum`, ζ `block_learn_rate`.
    """
    eta, zeta = options.block_momentum, options.block_learn_rate
    theta -= block
    if zeta != 1.0:
        theta *= zeta
    delta *= eta
    delta += theta
    block += delta
    theta[:] = block
    if options.block_nesterov:
        theta += eta * delta
