"""The options of `pymavg train` and `pymavg pretrain-dbn`; the names are Kaldi's where Kaldi has the option."""

from dataclasses import dataclass

from pymavg.errors import PymavgError

NEUTRAL = {  # options that may differ when a training is continued
    "use_gpu",
    "share_gpu",
    "checkpoint_minutes",
    "restart",
    "allow_change",
    "explain",
    "report_seconds",
    "on_divergence",
    "virtual_workers",  # the number of workers, virtual ones times ranks, is compared instead
}


@dataclass
class RunOptions:
    """What every training has: workers, averages, device, checkpoints, reports."""

    randomize: bool = True
    seed: int = 777
    average_period: int = 10
    average_frames: int = 0
    lr_scaling: str = "linear"
    virtual_workers: int = 1
    use_gpu: str = "auto"
    share_gpu: bool = False
    precision: str = "float32"
    checkpoint_minutes: float = 10.0
    report_seconds: float = 20.0
    restart: bool = False
    allow_change: bool = False

    HELP = {
        "randomize": "shuffle frames; false keeps the order of the utterances",
        "average_period": "minibatches between two averages",
        "average_frames": "frames of a worker between two averages, in place of --average-period; 0: not used",
        "lr_scaling": "linear: the learning rate times the number of workers, each makes 1/N of the updates; none",
        "virtual_workers": "workers within each process or rank; V × ranks behave as that many ranks",
        "use_gpu": "auto, yes or no",
        "share_gpu": "allow several ranks on one GPU",
        "precision": "float32; on a GPU also tf32 or bf16 for the matrix products, parameters stay float32",
        "checkpoint_minutes": "between two checkpoints within an epoch; there is always one at its end",
        "report_seconds": "between two lines in a log that is not a terminal",
        "restart": "forget what an earlier run left in <exp>",
        "allow_change": "continue an earlier run with other options or data",
    }

    def check(self):
        """Raise PymavgError where a value is out of its range."""
        _choice(self, "lr_scaling", ("linear", "none"))
        _choice(self, "use_gpu", ("auto", "yes", "no"))
        for name in ("average_period", "virtual_workers"):
            _at_least(self, name, 1)
        for name in ("average_frames", "checkpoint_minutes", "seed"):
            _at_least(self, name, 0)


@dataclass
class CommonOptions(RunOptions):
    """What training and pretraining on frames share."""

    splice: int = 5
    cmvn_opts: str = ""
    delta_opts: str = ""
    feature_transform: str = ""
    minibatch_size: int = 256
    randomizer_size: int = 0
    drop_last: bool = False
    memory_budget: float = 0.0
    shard_dtype: str = "float32"
    explain: bool = False

    HELP = {
        **RunOptions.HELP,
        "splice": "context frames on either side of the input",
        "cmvn_opts": "how features are normalised, such as '--norm-means=true --norm-vars=false'",
        "delta_opts": "deltas of the features, such as '--delta-order=2'",
        "feature_transform": "nnet1 file to use instead of splice, shift and rescale estimated on the training data",
        "minibatch_size": "frames",
        "randomizer_size": "frames that are shuffled together; 0: the whole shard",
        "drop_last": "leave out the last, partial minibatch of a shard, as nnet1 does",
        "memory_budget": "GiB of device memory for a worker's features; larger shards are streamed; 0: no limit",
        "shard_dtype": "float32, or float16 to hold features in half the memory",
        "explain": "print frames, averages, memory and expected time before starting",
    }

    def check(self):
        """Raise PymavgError where a value is out of its range."""
        super().check()
        _choice(self, "shard_dtype", ("float32", "float16"))
        _at_least(self, "minibatch_size", 1)
        for name in ("splice", "randomizer_size", "memory_budget"):
            _at_least(self, name, 0)

    def period(self):
        """Return the minibatches between two averages."""
        if self.average_frames:
            return max(1, round(self.average_frames / self.minibatch_size))
        return self.average_period

    def loop(self):
        """Return the LoopOptions."""
        from pymavg.training.loop import LoopOptions  # not before: the help needs options alone, and is to be fast

        sizes = self.minibatch_size, self.randomizer_size
        return LoopOptions(*sizes, self.randomize, self.drop_last, self.seed, self.period())


@dataclass
class TrainOptions(CommonOptions):
    """Of `pymavg train`, beside those of the optimiser and of averaging."""

    learn_rate: float = 0.008
    nnet_init: str = ""
    dbn: str = ""
    hid_layers: int = -1
    hid_dim: int = 1024
    activation: str = "sigmoid"
    labels: str = ""
    num_tgt: int = 0
    frame_weights: str = ""
    length_tolerance: int = 5
    max_missing: float = 0.1
    schedule: str = "newbob"
    newbob_measure: str = "loss"
    max_iters: int = 20
    min_iters: int = 0
    keep_lr_iters: int = 0
    start_halving_impr: float | None = None
    end_halving_impr: float | None = None
    halving_factor: float = 0.5
    epochs: int = 15
    final_factor: float = 0.01
    warmup_frames: int = 0
    on_divergence: str = "stop"
    final_model: str = "average"

    HELP = {
        **CommonOptions.HELP,
        "learn_rate": "per frame (gradients are summed over the minibatch), of one worker: see --lr-scaling; the "
        "paper's 0.32 belongs to --max-change-mode pre-lr",
        "nnet_init": "nnet1 file of the first model",
        "dbn": "nnet1 file of pretrained layers; a softmax layer is put on top",
        "hid_layers": "hidden layers, or those added on top of --dbn; -1: 4 without, 0 with a DBN",
        "hid_dim": "units of a hidden layer",
        "activation": "sigmoid, tanh or relu",
        "labels": "rspecifier of posteriors (soft targets) for training and cross-validation, in place of the "
        "alignments, such as 'ark:gunzip -c post.*.gz |'; a frame whose posteriors sum to less than 1 weighs less",
        "num_tgt": "classes of --labels; 0: the pdfs of final.mdl",
        "frame_weights": "rspecifier of vectors with the weight of each frame; frames of weight 0 are left out",
        "length_tolerance": "frames by which alignment and features may differ",
        "max_missing": "largest share of utterances without usable alignment",
        "schedule": "newbob or exponential",
        "newbob_measure": "loss (nnet1) or accuracy (the paper): what the thresholds of halving refer to",
        "max_iters": "newbob: most epochs",
        "min_iters": "newbob: epochs that are accepted and never the last",
        "keep_lr_iters": "newbob: epochs that are accepted without looking at the measure",
        "start_halving_impr": "newbob: by default 0.01 of the loss, or 0.5 percent points of accuracy",
        "end_halving_impr": "newbob: by default 0.001 of the loss, or 0.1 percent points of accuracy",
        "halving_factor": "newbob",
        "epochs": "exponential",
        "final_factor": "exponential: last learning rate by first",
        "warmup_frames": "frames of all workers over which the learning rate rises to its first value; with "
        "--lr-scaling linear from that of one worker, else from a tenth",
        "on_divergence": "stop, or halve: go back to the last good model with half the learning rate",
        "final_model": "average, or ema: the moving average of --ema-decay",
    }

    def check(self):
        """Raise PymavgError where a value is out of its range."""
        super().check()
        _choice(self, "schedule", ("newbob", "exponential"))
        _choice(self, "newbob_measure", ("loss", "accuracy"))
        _choice(self, "on_divergence", ("stop", "halve"))
        _choice(self, "final_model", ("average", "ema"))
        if self.nnet_init and self.dbn:
            raise PymavgError("--nnet-init and --dbn: give one of them")
        if not self.learn_rate > 0:
            raise PymavgError(f"--learn-rate {self.learn_rate}: expected more than 0")
        _at_least(self, "hid_dim", 1)
        _at_least(self, "num_tgt", 0)


@dataclass
class PretrainOptions(CommonOptions):
    """Of `pymavg pretrain-dbn`, beside those of averaging."""

    minibatch_size: int = 100
    nn_depth: int = 6
    hid_dim: int = 2048
    rbm_iter: int = 1
    rbm_lrate_low: float = 0.01
    rbm_lrate: float = 0.4
    rbm_l2penalty: float = 0.0002
    with_bug: bool = True
    lr_scaling: str = "none"

    HELP = {
        **CommonOptions.HELP,
        "nn_depth": "number of RBMs",
        "hid_dim": "units of a hidden layer",
        "rbm_iter": "epochs of each RBM; the first, Gaussian one gets twice as many",
        "rbm_lrate_low": "learning rate of the Gaussian RBM",
        "rbm_lrate": "learning rate of the others",
        "rbm_l2penalty": "on the weights",
        "with_bug": "momentum 0.9 from the second minibatch on, as Kaldi's default; false: it rises with the frames",
    }

    def check(self):
        """Raise PymavgError where a value is out of its range."""
        super().check()
        for name in ("nn_depth", "hid_dim", "rbm_iter"):
            _at_least(self, name, 1)


def _choice(options, name, known):
    value = getattr(options, name)
    if value not in known:
        raise PymavgError(f"--{name.replace('_', '-')} {value}: expected {' or '.join(known)}")


def _at_least(options, name, least):
    if not getattr(options, name) >= least:
        raise PymavgError(f"--{name.replace('_', '-')} {getattr(options, name)}: expected at least {least}")


def fingerprint(workers, data, *options):
    """Return what must be equal for a training to be continued: options that matter, workers, a sum over the data."""
    values = {"workers": workers, "data": data}
    for group in options:
        values.update({n: v for n, v in vars(group).items() if n not in NEUTRAL})
    return values
