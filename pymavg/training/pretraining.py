"""Greedy layerwise pretraining: a stack of RBMs, each trained on the output of those below, models averaged too."""

from pathlib import Path

import numpy as np

from pymavg.backend import to_host
from pymavg.data.shards import Epoch
from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet.initialise import init_rbm
from pymavg.nnet.network import Network
from pymavg.nnet.rbm import Rbm, visible_bias
from pymavg.training import explain, frontend
from pymavg.training.checkpoint import compare
from pymavg.training.learners import RbmLearner
from pymavg.training.loop import Diverged, Stopped
from pymavg.training.session import Session
from pymavg.training.settings import fingerprint
from pymavg.training.targets import Targets

RECORD = "pretrain.json"
LIMIT = 100.0  # squared error per visible unit; data have variance 1
BIAS_MINIBATCHES = 200  # from which each worker estimates the mean activations
BIAS_MINIBATCH_SIZE = 1024


def pretrain(options, averaging, data, exp):
    """Pretrain a deep belief network; what `pymavg pretrain-dbn` does.

    Parameters
    ----------
    options : settings.PretrainOptions
    averaging : combination.AveragingOptions
    data : str or Path
        Data directory with features; labels are not needed.
    exp : str or Path
        Gets 1.dbn … DEPTH.dbn (the layers so far), 1.rbm …, final.feature_transform, cmvn_opts, log/.

    Raises
    ------
    PymavgError
        When input is missing or contradictory, or another process trains in `exp`.
    """
    with Session(exp, options, "pretrain_dbn") as session:
        if options.restart:
            layers = [f"{i}.{kind}" for i in range(1, options.nn_depth + 1) for kind in ("dbn", "rbm")]
            session.first_rank_does(lambda: session.clear(RECORD, frontend.TRANSFORM, *layers))
        Pretrainer(session, averaging, data).run()


class Pretrainer:
    """One pretraining within a session."""

    def __init__(self, session, averaging, data):
        self.session, self.options, self.averaging, self.data = session, session.options, averaging, data
        averaging.check(session.workers)
        self.saves = 0
        self.targets = Targets(None, {u: n for u, n in frontend.frame_counts(data).items() if n > 0})
        if not self.targets.lengths:
            raise PymavgError(f"{data}: no utterance with features")

    def run(self):
        """Train the RBMs that are not there yet."""
        session, depth = self.session, self.options.nn_depth
        config = explain.plain(fingerprint(session.workers, self.targets.checksum(), self.options, self.averaging))
        config.pop("nn_depth")  # a deeper stack may be grown on a trained one
        self.config = config
        record = session.exp / RECORD
        if record.exists():
            compare(explain.read_json(record), config, self.options.allow_change)
        todo = [i for i in range(1, depth + 1) if not (session.exp / f"{i}.dbn").exists()]
        if not todo:
            session.progress.say(f"{session.exp}: {depth} layers already trained (--restart true to train again)")
            return
        session.first_rank_does(self._write_inputs)
        source, self.transform = frontend.open_frontend(session.exp, self.data, session.xp)
        self.inputs = self.transform.output_dim(source.dim)
        self.shards = session.shards(source, self.targets)
        session.record_run(config=config)
        for number in range(todo[0], depth + 1):
            self._layer(number)
            session.first_rank_does(session.checkpoints.remove)

    def _write_inputs(self):
        exp, options = self.session.exp, self.options
        given = Path(options.feature_transform) if options.feature_transform else None
        frontend.describe_features(exp, options.cmvn_opts, options.delta_opts, given.parent if given else None)
        source = frontend.FeaturePipeline(self.data, exp)
        frontend.prepare_transform(exp, given, source, sorted(self.targets.lengths), options.splice)
        explain.write_json(exp / RECORD, self.config)

    def _layer(self, number):
        """Train RBM `number` and write NUMBER.rbm and NUMBER.dbn."""
        session, options = self.session, self.options
        below = nnet1.read_nnet(session.exp / f"{number - 1}.dbn") if number > 1 else []
        first, stored = self._first_rbm(number, below), session.checkpoints.load()
        learners = [self._learner(first, below) for _ in session.own_workers]
        loop = session.loop(learners, self.shards, self.averaging, LIMIT)
        epoch, done = self._resume(number, loop, stored)
        epochs = options.rbm_iter * (2 if number == 1 else 1)
        while epoch <= epochs:
            self._epoch(number, epoch, loop, done)
            epoch, done = epoch + 1, None
        session.first_rank_does(lambda: self._write(number, learners[0], below, loop.averager.model))

    def _first_rbm(self, number, below):
        options = self.options
        inputs, seed = (below[-1].dims[0] if below else self.inputs), options.seed + number
        if number == 1:
            return init_rbm(inputs, options.hid_dim, "gauss", seed)
        return init_rbm(inputs, options.hid_dim, "bern", seed, visible_bias(self._mean_activation(below)))

    def _mean_activation(self, below):
        """Return the mean output of the layers below over (a part of) the data, the same on all ranks."""
        net, total, count = Network(below, self.session.xp), np.zeros(below[-1].dims[0]), 0
        for shard in self.shards:
            epoch = Epoch(shard, (self.options.seed, 0, 0), BIAS_MINIBATCH_SIZE)
            for _ in range(min(BIAS_MINIBATCHES, epoch.left)):
                block, rows = epoch.take()
                x = self.transform.gather(block.feats, rows, block.first[rows], block.last[rows])
                total += to_host(net.forward(x).sum(axis=0, dtype=np.float64))
                count += len(rows)
        sums = self.session.comm.gather([count, *total]).sum(axis=0)
        return sums[1:] / sums[0]

    def _learner(self, component, below):
        options, xp = self.options, self.session.xp
        net = Network(below, xp, precision=options.precision) if below else None
        rbm = Rbm.from_component(component, xp, precision=options.precision)
        return RbmLearner(rbm, self.transform, net, options.rbm_l2penalty, self.session.workers, options.with_bug)

    def _resume(self, number, loop, stored):
        """Return (epoch, minibatches done by each worker or None) to go on with."""
        if stored is None or stored[1]["layer"] != number:
            return 1, None
        common, meta = stored
        if not compare(
            meta["config"], self.config, self.options.allow_change
        ):  # the workers' state may not fit any more
            return 1, None
        done = loop.load_state(common, self.session.checkpoints.load_workers(self.session.own_workers))
        self.saves = meta["saves"]
        self.session.progress.say(f"continuing with layer {number}, epoch {meta['epoch']}")
        return meta["epoch"], done if meta["within"] else None

    def _epoch(self, number, epoch, loop, done):
        options, session = self.options, self.session
        rate = (options.rbm_lrate_low if number == 1 else options.rbm_lrate) * self._scale()
        title = f"RBM {number}, epoch {epoch}"

        def save(within, next_epoch):
            self._save({"layer": number, "epoch": next_epoch, "within": within}, loop)

        try:
            sums = loop.run(epoch, lambda _: rate, title, session.signals, lambda: save(True, epoch), done)
        except Diverged as error:
            option = "--rbm-lrate-low" if number == 1 else "--rbm-lrate"
            raise PymavgError(
                f"{error}: RBM {number} diverged in epoch {epoch} at learning rate {rate:.3g}; lower {option}"
            ) from None
        except Stopped:
            raise PymavgError(
                f"stopped by a signal in {title}; the state is saved in {session.checkpoints.directory}, the same "
                "command goes on from there"
            ) from None
        frames = max(1.0, sums[2])
        error = sums[0] / frames
        text = f"lr {rate:.3g}, mean squared error {error:.4f}" + (f", {sums[1]:.0f} rescues" if sums[1] else "")
        session.progress.summary(title, text, layer=number, epoch=epoch, learn_rate=rate, error=error, rescues=sums[1])
        save(False, epoch + 1)

    def _scale(self):
        return self.session.workers if self.options.lr_scaling == "linear" else 1

    def _save(self, meta, loop):
        common, workers = loop.state()
        self.saves += 1
        meta = {**meta, "config": self.config, "saves": self.saves}
        self.session.checkpoints.save(
            self.saves, common, meta, dict(zip(self.session.own_workers, workers, strict=True))
        )
        self.session.signals.saved()

    def _write(self, number, learner, below, model):
        learner.theta[...] = model
        exp = self.session.exp
        nnet1.write_nnet(exp / f"{number}.rbm", [learner.rbm.to_component()])
        nnet1.write_nnet(exp / f"{number}.dbn", below + learner.rbm.to_layer())
