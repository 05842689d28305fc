"""The options of `pymavg train-sequence`; names and defaults are those of Kaldi's steps/nnet/train_mpe.sh."""

from dataclasses import dataclass

from pymavg.errors import PymavgError
from pymavg.training.settings import RunOptions


@dataclass
class SequenceOptions(RunOptions):
    """Beside those of the optimiser and of averaging."""

    criterion: str = "smbr"
    learn_rate: float = 1e-5
    halving_factor: float = 1.0
    num_iters: int = 4
    acwt: float = 0.1
    lmwt: float = 1.0
    one_silence_class: bool = True
    drop_frames: bool = True
    max_frames: int = 6000
    max_missing: float = 0.1
    warmup_frames: int = 0
    on_divergence: str = "stop"
    final_model: str = "average"

    HELP = {
        **RunOptions.HELP,
        "randomize": "take the utterances in random order",
        "average_period": "utterances of a worker between two averages",
        "criterion": "smbr (right pdfs), mpfe (right phones) or mmi",
        "learn_rate": "of one worker, for gradients summed over an utterance: see --lr-scaling",
        "halving_factor": "of the learning rate after each iteration",
        "num_iters": "passes over the data",
        "acwt": "acoustic scale",
        "lmwt": "scale of the lattices' graph costs",
        "one_silence_class": "smbr, mpfe: all silences count as the same; false: none counts as right",
        "drop_frames": "mmi: leave out frames at which the lattice does not hold the reference",
        "max_frames": "longer utterances are left out; 0: none",
        "max_missing": "largest share of utterances without lattice or alignment",
        "warmup_frames": "frames of all workers over which the learning rate rises to its first value",
        "on_divergence": "stop, or halve: go back to the last good model with half the learning rate",
        "final_model": "average, or ema: the moving average of --ema-decay",
    }

    def check(self):
        """Raise PymavgError where a value is out of its range."""
        from pymavg.decoding.sequence_criteria import CRITERIA  # not before: the help needs options alone

        super().check()
        choices = {"criterion": CRITERIA, "on_divergence": ("stop", "halve"), "final_model": ("average", "ema")}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise PymavgError(f"{_option(name)} {getattr(self, name)}: expected {' or '.join(known)}")
        for name in ("learn_rate", "acwt", "lmwt", "num_iters"):
            if not getattr(self, name) > 0:
                raise PymavgError(f"{_option(name)} {getattr(self, name)}: expected more than 0")
        if not 0 < self.halving_factor <= 1:
            raise PymavgError(f"--halving-factor {self.halving_factor}: expected more than 0, at most 1")
        for name in ("max_frames", "max_missing", "warmup_frames"):
            if getattr(self, name) < 0:
                raise PymavgError(f"{_option(name)} {getattr(self, name)}: expected at least 0")

    def loop(self):
        """Return the LoopOptions: an utterance is a minibatch."""
        from pymavg.training.loop import LoopOptions

        period = 2**31 if self.average_frames else self.average_period
        return LoopOptions(1, 0, self.randomize, False, self.seed, period, self.average_frames)


def _option(name):
    return f"--{name.replace('_', '-')}"
