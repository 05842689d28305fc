"""Sequence training with model averaging: sMBR, MPFE or MMI on the utterances of several workers.

Every worker updates its model after each utterance of its shard and all are averaged every few utterances, as in
training on frames; checkpoints, reports, resumption and the guard against divergence are those of training/trainer.py.
"""

import math
import shutil
import zlib
from pathlib import Path

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.data.labels import write_counts
from pymavg.data.minibatches import partition
from pymavg.decoding.acoustic import PRIORS, log_priors, read_priors
from pymavg.decoding.sequence_criteria import Criterion
from pymavg.decoding.sequence_data import SequenceShard, SequenceTargets
from pymavg.decoding.sequence_learner import SequenceLearner
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.graph.lang import Lang
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.transitions import read_transition_model
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import make_optimizer
from pymavg.training import explain, frontend, schedules
from pymavg.training.inputs import COUNTS
from pymavg.training.loop import Diverged
from pymavg.training.session import Session
from pymavg.training.trainer import MODEL, RECORD, Trainer

INHERITED = (frontend.TRANSFORM, COUNTS, *frontend.DESCRIPTION, "final.mdl", "tree", "phones.txt")
WORSE = 0.02  # loss per frame by which an iteration may be behind the one before it
GROWTH = 10  # of the norm of the parameters; saturated networks may hold a loss that looks harmless
MOST_UTTERANCES = 10_000  # the priors are estimated on at most so many


def train_sequence(options, optimizing, averaging, data, lang, srcdir, ali, denlats, exp):
    """Train on whole utterances; what `pymavg train-sequence` does.

    Parameters
    ----------
    options : sequence_options.SequenceOptions
    optimizing : pymavg.nnet.optimizer.OptimizerOptions
    averaging : pymavg.training.combination.AveragingOptions
    data : str or Path
        Data directory with the features that the network was trained on.
    lang : str or Path
        Tells the silence phones.
    srcdir : str or Path
        Of the network: final.nnet, final.feature_transform, ali_train_pdf.counts or prior_counts, final.mdl, tree.
    ali, denlats : str or Path
        Reference alignment (ali.*.gz) and denominator lattices (lat.scp).
    exp : str or Path
        Gets all that `srcdir` has, prior_counts, N.nnet of each iteration, log/.

    Raises
    ------
    PymavgError
        When input is missing or contradictory, the training diverges, or another process trains in `exp`.
    """
    if Path(srcdir).resolve() == Path(exp).resolve():
        raise PymavgError(f"{exp}: is the directory of the network to begin with, too; choose another one")
    with Session(exp, options, "train_sequence") as session:
        if options.restart:
            session.first_rank_does(lambda: session.clear(MODEL, RECORD, PRIORS, "nnet"))
        SequenceTrainer(session, optimizing, averaging, data, (lang, Path(srcdir), ali, denlats)).run()


class SequenceTrainer(Trainer):
    """One sequence training within a session."""

    def __init__(self, session, optimizing, averaging, data, sources):
        self.lang, self.srcdir, ali, self.denlats = sources
        super().__init__(session, optimizing, averaging, data, ali)

    def _rule(self):
        options = self.options
        return schedules.Exponential(options.num_iters, options.halving_factor ** max(1, options.num_iters - 1))

    def read(self):
        """Read alignments and the list of lattices, and check them against the network."""
        options, say = self.options, self.session.progress.say
        self.targets = SequenceTargets(
            self.data, self.alignments, self.denlats, options.max_frames, options.max_missing, say
        )
        found, expected = self.targets.model, read_transition_model(self.srcdir / "final.mdl")
        if (found.num_tids, found.num_pdfs) != (expected.num_tids, expected.num_pdfs):
            raise PymavgError(
                f"{self.alignments}/final.mdl has {found.num_tids} transition-ids and {found.num_pdfs} pdfs, "
                f"{self.srcdir}/final.mdl {expected.num_tids} and {expected.num_pdfs}; align with that model"
            )
        self.num_pdfs = found.num_pdfs

    def checksums(self):
        """See Trainer."""
        return [self.targets.checksum(), zlib.crc32((self.srcdir / MODEL).read_bytes())]

    def _prepare(self):
        """Build this rank's workers on the network to begin with."""
        session, options, exp = self.session, self.options, self.session.exp
        session.first_rank_does(lambda: inherit(self.srcdir, exp))
        self.source, self.transform = frontend.open_frontend(exp, self.data, session.xp)
        self.components = read_nnet(self.srcdir / MODEL)
        self.priors = log_priors(read_priors(self.srcdir, self.num_pdfs))
        kind = options.criterion, options.acwt, options.lmwt
        rules = Lang(self.lang).silence_phones, options.one_silence_class, options.drop_frames
        self.criterion = Criterion(self.targets.model, *kind, *rules)
        learners = [self.make_learner(self.transform, number) for number in session.own_workers]
        parts = partition(self.targets.lengths, session.workers)
        shards = [SequenceShard(self.source, self.targets, parts[n], session.xp) for n in session.own_workers]
        self.loop = session.loop(learners, shards, self.averaging, math.inf)
        self.size = float(session.xp.linalg.norm(learners[0].theta))
        by_frames = f"{options.average_frames} frames"
        period = by_frames if options.average_frames else f"{options.average_period} utterances"
        session.progress.say(
            f"{options.criterion} from {self.srcdir / MODEL}: {len(self.targets.lengths)} utterances, "
            f"{sum(self.targets.lengths.values())} frames; {session.workers} workers, average every {period}"
        )
        sizes = {"parameters": len(learners[0].theta), "parameter_bytes": learners[0].theta.nbytes}
        session.record_run(config=explain.plain(self.config), **sizes)

    def make_learner(self, transform, number):
        """Return a learner of the network to begin with."""
        net = Network(self.components, self.session.xp, precision=self.options.precision)
        if net.output_dim != self.num_pdfs:
            told = f"{net.output_dim} outputs, but final.mdl has {self.num_pdfs} pdfs"
            raise PymavgError(f"{self.srcdir / MODEL}: {told}; both must be of one training")
        optimizer = make_optimizer(net, self.optimizing, self.options.seed * 4096 + number)
        return SequenceLearner(optimizer, transform, self.criterion, self.priors)

    def _first_state(self):
        self._keep()
        return schedules.begin(self.options.learn_rate, math.inf, 0.0)

    def judge(self, state, sums):
        """Return (loss per frame, right frames in percent) as they were while training: there is no held-out part."""
        loss, accuracy = float(sums[0] / sums[2]), float(100 * sums[1] / sums[2])
        if not math.isfinite(loss) or loss > state.loss + WORSE:
            raise Diverged(f"{self.options.criterion} loss {state.loss:.4f} before, {loss:.4f} now")
        if not float(self.session.xp.linalg.norm(self.loop.averager.model)) < GROWTH * self.size:
            raise Diverged(f"the parameters' norm grew more than {GROWTH} times")
        return loss, accuracy

    def _report(self, state, sums, loss, accuracy, accepted):
        kind, rate = self.options.criterion, state.learn_rate * self.scale
        right = "reference's share of the lattice" if kind == "mmi" else "frame accuracy"
        self.session.progress.summary(
            f"iteration {state.epoch}",
            f"lr {rate:.3g}, {kind} loss {loss:.5f} per frame, {right} {accuracy:.3f} %",
            epoch=state.epoch,
            learn_rate=rate,
            train_loss=loss,
            train_accuracy=accuracy,
        )
        self._write(self.loop.averager.model, f"{state.epoch}.nnet")

    def _finish(self, state):
        model = self.loop.averager.ema if self.options.final_model == "ema" else self.best
        counts = self.posterior_counts(model)
        self.session.first_rank_does(lambda: write_counts(self.session.exp / PRIORS, counts))
        self.session.first_rank_does(lambda: explain.write_json(self.session.exp / RECORD, self.config))
        self._write(model, MODEL)  # last: where it is, all is there
        self.session.checkpoints.remove()
        self.session.progress.say(
            f"{self.session.exp / MODEL}: {self.options.criterion} loss {state.loss:.5f} per frame, last iteration"
        )

    def posterior_counts(self, model):
        """Return the sum of the network's posteriors over the training data, float64 (P,): the new priors.

        At most 10,000 utterances, evenly spread, are looked at (Kaldi's steps/nnet/make_priors.sh).
        """
        comm, learner = self.session.comm, self.loop.workers[0].learner
        held, counts = learner.theta.copy(), np.full(self.num_pdfs, 0.5 / comm.size)
        learner.theta[...] = model
        utterances = sorted(self.targets.lengths)
        chosen = utterances[:: max(1, -(-len(utterances) // MOST_UTTERANCES))]
        for utterance in chosen[comm.rank :: comm.size]:
            feats = to_device(self.session.xp, self.source.get(utterance), np.float32)
            outputs = learner.net.forward(self.transform.apply(feats))
            learner.net.operations.softmax_(outputs)
            counts += to_host(outputs).sum(axis=0, dtype=np.float64)
        learner.theta[...] = held
        return comm.gather(counts).sum(axis=0)


def inherit(srcdir, exp):
    """Copy into `exp` what decoding needs beside the network."""
    for name in INHERITED:
        if (srcdir / name).exists():
            with atomic_open(exp / name, "wb") as stream, open(srcdir / name, "rb") as original:
                shutil.copyfileobj(original, stream)
