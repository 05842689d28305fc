"""Supervised training of the network: epochs, cross-validation, the schedule, checkpoints, the final model."""

import math

from pymavg.data.minibatches import partition
from pymavg.data.shards import Epoch
from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import make_optimizer
from pymavg.training import explain, frontend, schedules
from pymavg.training.checkpoint import compare
from pymavg.training.initial import initial_components
from pymavg.training.inputs import write_inputs
from pymavg.training.learners import FrameLearner
from pymavg.training.loop import Diverged, Stopped
from pymavg.training.session import Session
from pymavg.training.settings import fingerprint
from pymavg.training.targets import read_targets

MODEL = "final.nnet"
RECORD = "train.json"
MOST_RETRIES = 5  # halvings of the learning rate after divergence
CV_MINIBATCH = 1024


def train(options, optimizing, averaging, data_train, data_cv, ali_train, ali_cv, exp):
    """Train a network on alignments; what `pymavg train` does.

    Parameters
    ----------
    options : settings.TrainOptions
    optimizing : pymavg.nnet.optimizer.OptimizerOptions
    averaging : combination.AveragingOptions
    data_train, data_cv : str or Path
        Data directories with features.
    ali_train, ali_cv : str or Path
        Alignment directories: ali.*.gz, final.mdl, tree.
    exp : str or Path
        Gets final.nnet, final.feature_transform, ali_train_pdf.counts, final.mdl, tree, nnet/, log/.

    Raises
    ------
    PymavgError
        When input is missing or contradictory, the training diverges, or another process trains in `exp`.
    """
    with Session(exp, options, "train") as session:
        if options.restart:
            session.first_rank_does(lambda: session.clear(MODEL, RECORD, frontend.TRANSFORM, "final.mdl", "nnet"))
        Trainer(session, optimizing, averaging, (data_train, data_cv), (ali_train, ali_cv)).run()


class Trainer:
    """One supervised training within a session."""

    def __init__(self, session, optimizing, averaging, data, alignments):
        self.session, self.options = session, session.options
        self.optimizing, self.averaging = optimizing, averaging
        self.rule = self._rule()
        self.scale = session.workers if self.options.lr_scaling == "linear" else 1
        averaging.check(session.workers)
        if self.options.final_model == "ema" and not averaging.ema_decay:
            raise PymavgError("--final-model ema needs --ema-decay, such as 0.9")
        self.data, self.alignments = data, alignments
        self.saves = self.retries = 0
        self.read()

    def _rule(self):
        return schedules.make_rule(self.options.schedule, self.options.newbob_measure, vars(self.options))

    def read(self):
        """Read what is learnt from, the features excepted, and check it."""
        self.targets, self.num_pdfs = read_targets(self.data, self.alignments, self.options, self.session.progress.say)

    def checksums(self):
        """Return numbers that tell whether a stored run was on the same data."""
        return [targets.checksum() for targets in self.targets]

    def run(self):
        """Train to the end, from the start or from the last checkpoint."""
        session = self.session
        self.config = fingerprint(session.workers, self.checksums(), self.options, self.optimizing, self.averaging)
        if self._already_trained():
            return
        self.stored = session.checkpoints.load()
        if self.stored:  # compared before anything is written, so that a refused start changes nothing
            self.same = compare(self.stored[1]["config"], explain.plain(self.config), self.options.allow_change)
        self._prepare()
        state, within = self._resume() or (self._first_state(), None)
        while not state.finished:
            state = self._epoch(state, within)
            within = None
        self._finish(state)

    def _already_trained(self):
        record = self.session.exp / RECORD
        if not (self.session.exp / MODEL).exists():
            return False
        if not record.exists():
            raise PymavgError(
                f"{self.session.exp}/{MODEL} is there, but not of a training by pymavg; choose another "
                "directory, or replace it with --restart true"
            )
        compare(explain.read_json(record), explain.plain(self.config), self.options.allow_change)
        self.session.checkpoints.remove()
        self.session.progress.say(f"{self.session.exp}: already trained (--restart true to train again)")
        return True

    def _prepare(self):
        """Load the data and build this rank's workers."""
        session, options, exp = self.session, self.options, self.session.exp
        train, cv = self.targets
        inputs_of = exp, options, self.data[0], self.alignments[0], train
        session.first_rank_does(lambda: write_inputs(*inputs_of, anew=self.stored is None))
        source, transform = frontend.open_frontend(exp, self.data[0], session.xp)
        cv_source, _ = frontend.open_frontend(exp, self.data[1], session.xp)
        inputs = transform.output_dim(source.dim)
        self.components, name = initial_components(options, inputs, self.num_pdfs)
        shards = session.shards(source, train)
        own_cv = partition(cv.lengths, session.comm.size)[session.comm.rank]
        self.cv_shard = session.shard(cv_source, own_cv, cv)
        learners = [self.make_learner(transform, number) for number in session.own_workers]
        self.transform = transform
        limit = 3 * math.log(self.num_pdfs) + 10
        self.loop = session.loop(learners, shards, self.averaging, limit)
        dims = [inputs, *(len(layer.bias) for layer in learners[0].net.layers)]
        session.progress.say(
            f"network {name}: {' → '.join(map(str, dims))}, "
            f"{len(learners[0].theta):,} parameters; {session.workers} workers, average every {options.period()} "
            f"minibatches of {options.minibatch_size}"
        )
        if options.explain:
            explain.tell(self)
        sizes = {"parameters": len(learners[0].theta), "parameter_bytes": learners[0].theta.nbytes, "dims": dims}
        session.record_run(config=explain.plain(self.config), **sizes)

    def make_learner(self, transform, number):
        """Return a learner of the initial network; its number decides its random choices."""
        net = Network(self.components, self.session.xp, precision=self.options.precision)
        return FrameLearner(make_optimizer(net, self.optimizing, self.options.seed * 4096 + number), transform)

    def _first_state(self):
        loss, accuracy = self.cross_validate(self.loop.averager.model)
        self.session.progress.say(f"before training: cv loss {loss:.4f} ({accuracy:.2f} %)")
        self._keep()
        return schedules.begin(self.options.learn_rate, loss, accuracy)

    def cross_validate(self, model):
        """Return (loss per frame, frame accuracy in percent) of a flat model on all CV data."""
        learner = self.loop.workers[0].learner
        held = learner.theta.copy()
        learner.theta[...] = model
        drop = self.options.drop_last  # nnet1 drops frames here, too
        size = self.options.minibatch_size if drop else CV_MINIBATCH
        with self.session.clock("compute"):
            sums = learner.evaluate(Epoch(self.cv_shard, None, size, drop_last=drop))
        learner.theta[...] = held
        loss, correct, frames = self.session.comm.gather(sums).sum(axis=0)
        if not frames:
            raise PymavgError(f"cross-validation has no whole minibatch: {self._too_large()}")
        return float(loss / frames), float(100 * correct / frames)

    def _too_large(self):
        return f"with --minibatch-size {self.options.minibatch_size} --drop-last true leaves out every frame; lower it"

    def rate(self, state):
        """Return the function: frames of all workers so far -> learning rate."""
        base, target = state.learn_rate, state.learn_rate * self.scale
        low = base if self.scale > 1 else base / 10

        def learn_rate(frames):
            if frames < self.averaging.average_start:
                return base
            return schedules.warm_up(low, target, frames, self.options.warmup_frames)

        return learn_rate

    def _epoch(self, state, within):
        loop, title = self.loop, f"epoch {state.epoch}"
        before = [worker.learner.state() for worker in loop.workers]
        try:
            sums = loop.run(
                state.epoch, self.rate(state), title, self.session.signals, lambda: self._save(state, True), within
            )
            loss, accuracy = self.judge(state, sums)
        except Diverged as error:
            return self._recover(state, str(error), before)
        except Stopped:
            raise PymavgError(
                f"stopped by a signal in {title}; the state is saved in {self.session.checkpoints.directory}"
                ", the same command goes on from there"
            ) from None
        new, accepted = schedules.advance(self.rule, state, loss, accuracy)
        self._report(state, sums, loss, accuracy, accepted)
        if accepted:
            self._keep()
        else:
            loop.averager.restart_from(self.best)
            self._clear_momenta()
        self._save(new, False)
        return new

    def judge(self, state, sums):
        """Return (loss per frame, frame accuracy in percent) that an epoch's model is judged by."""
        if not sums[2]:
            raise PymavgError(f"no worker has a whole minibatch to train on: {self._too_large()}")
        loss, accuracy = self.cross_validate(self.loop.averager.model)
        if not math.isfinite(loss):
            raise Diverged("cross-validation")
        return loss, accuracy

    def _report(self, state, sums, loss, accuracy, accepted):
        frames = max(1.0, sums[2])
        train = sums[0] / frames
        self.session.progress.summary(
            f"epoch {state.epoch}",
            f"lr {state.learn_rate * self.scale:.3g}, train loss {train:.4f} ({100 * sums[1] / frames:.2f} %), "
            f"cv loss {loss:.4f} ({accuracy:.2f} %), {'accepted' if accepted else 'rejected'}",
            epoch=state.epoch,
            learn_rate=state.learn_rate * self.scale,
            train_loss=train,
            train_accuracy=100 * sums[1] / frames,
            cv_loss=loss,
            cv_accuracy=accuracy,
            accepted=accepted,
        )
        name = f"iter{state.epoch:02d}_lr{state.learn_rate * self.scale:.3g}_tr{train:.4f}_cv{loss:.4f}"
        self._write(self.loop.averager.model, f"nnet/{name}{'' if accepted else '_rejected'}.nnet")

    def _recover(self, state, who, before):
        """Stop, or go back to the last good model with half the learning rate."""
        self.retries += 1
        if self.options.on_divergence == "stop" or self.retries > MOST_RETRIES:
            self.session.first_rank_does(lambda: self._write_array(self.best, "nnet/last_good.nnet"))
            good = self.session.exp / "nnet/last_good.nnet"
            raise PymavgError(
                f"{who}: loss or parameters ran away in epoch {state.epoch} at learning rate "
                f"{self.rate(state)(self.loop.total):.3g}; the last good model is {good}; lower --learn-rate (or "
                "--max-change-per-sample), or use --on-divergence halve"
            )
        self.session.progress.say(f"{who}: diverged in epoch {state.epoch}; back to the last model, half the rate")
        self.loop.averager.restart_from(self.best)
        for worker, learner_state in zip(self.loop.workers, before, strict=True):
            worker.learner.load_state(learner_state)
        return state._replace(learn_rate=state.learn_rate / 2, initial=state.initial / 2)

    def _clear_momenta(self):
        for worker in self.loop.workers:
            momenta = worker.learner.momenta()
            if momenta is not None:
                momenta[...] = 0

    def _keep(self):
        """Remember the present model as the best."""
        self.best = self.loop.averager.model.copy()

    def _save(self, state, within):
        common, workers = self.loop.state()
        self.saves += 1
        common["best"] = self.loop.averager.staging.to_host(self.best)
        meta = {"config": self.config, "schedule": state._asdict(), "within": within, "saves": self.saves}
        meta["retries"] = self.retries
        self.session.checkpoints.save(
            self.saves, common, meta, dict(zip(self.session.own_workers, workers, strict=True))
        )
        self.session.signals.saved()

    def _resume(self):
        """Return (schedule state, minibatches done by each worker or None) of the last checkpoint, or None."""
        session = self.session
        if self.stored is None:
            return None
        (common, meta), self.stored = self.stored, None
        found, expected = len(common["best"]), len(self.loop.averager.model)
        if found != expected:
            raise PymavgError(
                f"{session.checkpoints.directory}: its model has {found} parameters, with the new options it has "
                f"{expected}; give the old ones, or --restart true to begin anew"
            )
        self.best = self.loop.averager.staging.to_device(common["best"])
        self.saves, self.retries = meta["saves"], meta["retries"]
        state, done = schedules.State(**meta["schedule"]), None
        if self.same:
            done = self.loop.load_state(common, session.checkpoints.load_workers(session.own_workers))
        else:  # the workers' own state may not fit any more: the epoch begins anew from the best model
            self.loop.averager.restart_from(self.best)
        session.progress.say(f"continuing in epoch {state.epoch}")
        return state, done if meta["within"] else None

    def _finish(self, state):
        loop, progress = self.loop, self.session.progress
        model, loss, accuracy = self.best, state.loss, state.accuracy
        if self.options.final_model == "ema":
            model = loop.averager.ema
            loss, accuracy = self.cross_validate(model)
        self.session.first_rank_does(lambda: explain.write_json(self.session.exp / RECORD, self.config))
        self._write(model, MODEL)  # last: where it is, all is there
        self.session.checkpoints.remove()
        progress.say(f"{self.session.exp / MODEL}: cv loss {loss:.4f}, frame accuracy {accuracy:.2f} %")

    def _write(self, model, name):
        self.session.first_rank_does(lambda: self._write_array(model, name))

    def _write_array(self, model, name):
        learner = self.loop.workers[0].learner
        held = learner.theta.copy()
        learner.theta[...] = model
        nnet1.write_nnet(self.session.exp / name, learner.net.to_components())
        learner.theta[...] = held
