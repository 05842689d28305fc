"""What a worker trains: one interface over the network's optimisers and the RBM.

A learner has `theta` (flat parameters, an array of the module `xp`), `momenta()` (flat, or None),
`learn(block, rows, learn_rate, numbers)`, `measures()` (sums of loss, correct frames, frames since the last call),
`loss_so_far()` (the first of them, left on the device), `state()` and `load_state(state)`, and `told`, the words of a
report on them.
"""

import numpy as np

from pymavg.backend import to_host
from pymavg.data.minibatches import generator
from pymavg.nnet.loss import evaluate, new_stats
from pymavg.training.captured import captured_steps

FRAMES_PER_STEP = 500_000  # of RBM training, between two steps of momentum and learning rate
MOMENTUM_FIRST, MOMENTUM_LAST, MOMENTUM_STEPS = 0.5, 0.9, 40


class FrameLearner:
    """Frame classification by a network.

    Parameters
    ----------
    optimizer : pymavg.nnet.optimizer's
    transform : pymavg.nnet.features.FeatureTransform
    """

    told = "loss {loss:.4f}, accuracy {accuracy:.2f} %"

    def __init__(self, optimizer, transform):
        self.optimizer, self.transform, self.net = optimizer, transform, optimizer.net
        self.theta, self.xp = self.net.theta, self.net.xp
        self.captured = captured_steps(self)

    def momenta(self):
        """Return the flat momentum, or None."""
        return getattr(self.optimizer, "momenta", lambda: None)()

    def learn(self, block, rows, learn_rate, numbers):
        """Train on the minibatch of `rows` of `block`."""
        key = self.optimizer.key() if self.optimizer.options.dropout_retention < 1 else None
        if not (self.captured and self.captured.learn(block, rows, learn_rate, key)):
            x, targets, weights = self._minibatch(block, rows)
            self.optimizer.step(x, targets, learn_rate, weights)

    def _minibatch(self, block, rows):
        x = self.transform.gather(block.feats, rows, block.first[rows], block.last[rows])
        return x, block.targets[rows], None if block.weights is None else block.weights[rows]

    def parts(self, block, rows, rate, key):
        """Return the parts of the next step for captured.CapturedSteps: (what comes in turn, what runs beside)."""
        optimizer = self.optimizer
        phase = optimizer.phase()
        if phase is None:
            return None
        key = key if optimizer.options.dropout_retention < 1 else None
        in_turn = [
            ("forward", lambda: optimizer.forward(*self._minibatch(block, rows), key)),
            (("backward", phase), lambda: optimizer.backward(rate)),
        ]
        return in_turn, [("renew", optimizer.renew)] if phase else []

    def count(self):
        """Count a step that was replayed."""
        self.optimizer.count()

    def is_sound(self):
        """Return whether the loss so far is finite, where that costs nothing: on the host."""
        return not isinstance(self.theta, np.ndarray) or np.isfinite(self.optimizer.stats[0])

    def loss_so_far(self):
        """Return the sum of losses since the last `measures`, a copy on the device."""
        return self.optimizer.stats[0].copy()

    def measures(self):
        """Return the sums (loss, correct, frames) since the last call; waits for the device."""
        loss, correct, frames = to_host(self.optimizer.stats).tolist()
        self.optimizer.reset_stats()
        return loss, correct, frames

    def evaluate(self, epoch):
        """Return (loss, correct, frames) over the minibatches of an Epoch, without training."""
        stats = new_stats(self.net.xp)
        while epoch.left:
            block, rows = epoch.take()
            evaluate(self.net, *self._minibatch(block, rows), self.optimizer.options.objective_function, stats)
        return to_host(stats)

    def state(self):
        """Return the optimiser's state, theta not included."""
        self._settle()
        return self.optimizer.state()

    def load_state(self, state):
        """Take over what `state` returned."""
        self._settle()
        self.optimizer.load_state(state)

    def _settle(self):
        if self.captured:
            self.captured.settle()


class RbmLearner:
    """One RBM on the output of the layers trained before it.

    Parameters
    ----------
    rbm : pymavg.nnet.rbm.Rbm
    transform : pymavg.nnet.features.FeatureTransform
    below : pymavg.nnet.network.Network or None
        The layers trained before.
    l2 : float
    share : int
        Number of workers: the schedule counts the frames of all.
    with_bug : bool
        Kaldi's default: the momentum is 0.9 from the second minibatch on, the rate follows its schedule.
    """

    told = "mean squared error {loss:.4f}"

    def __init__(self, rbm, transform, below, l2, share, with_bug=True):
        self.rbm, self.transform, self.below = rbm, transform, below
        self.l2, self.share, self.with_bug = l2, share, with_bug
        self.theta, self.xp = rbm.theta, rbm.xp
        self.frames = 0
        self.captured = captured_steps(self)

    def momenta(self):
        """Return the flat momentum."""
        return self.rbm.correction

    def learn(self, block, rows, learn_rate, numbers):
        """Train on the minibatch of `rows` of `block`; `numbers` seed the samples."""
        factor, momentum = rbm_schedule(self.frames * self.share, self.frames == 0, self.with_bug)
        rate, key = learn_rate * factor, int(generator(*numbers).integers(1 << 63))
        self._now = rate, momentum
        self.rbm.set_rate(rate)
        if not (self.captured and self.captured.learn(block, rows, rate, key)):
            self._step(block, rows, key)
        self.frames += len(rows)

    def _step(self, block, rows, key):
        v = self.transform.gather(block.feats, rows, block.first[rows], block.last[rows])
        if self.below is not None:
            v = self.below.forward(v)
        self.rbm.step(v, *self._now, self.l2, key)

    def parts(self, block, rows, rate, key):
        """Return the parts of the next step for captured.CapturedSteps; rate and momentum change too seldom to vary."""
        return [(self._now, lambda: self._step(block, rows, key))], []

    def count(self):
        """Count nothing: `learn` does."""

    def is_sound(self):
        """Return whether the error so far is finite, where that costs nothing: on the host."""
        return not isinstance(self.theta, np.ndarray) or np.isfinite(self.rbm.stats[0])

    def loss_so_far(self):
        """Return the sum of squared errors since the last `measures`, a copy on the device."""
        return self.rbm.stats[0].copy()

    def measures(self):
        """Return the sums (squared error, rescues, frames) since the last call."""
        error, frames, rescues = to_host(self.rbm.stats).tolist()
        self.rbm.reset_stats()
        return error, rescues, frames

    def state(self):
        """Return the RBM's state and the frames seen."""
        return {**self.rbm.state(), "frames": np.int64(self.frames)}

    def load_state(self, state):
        """Take over what `state` returned."""
        self.rbm.load_state(state)
        self.frames = int(state["frames"])


def rbm_schedule(frames, first, with_bug=True):
    """Return (factor of the learning rate, momentum) of RBM training after some frames.

    m_s = min(0.9, 0.5 + n·0.4/40), n = ⌊frames / 500,000⌋; the rate is lr_0 (1 − m_s); the momentum is m_s, or with
    Kaldi's "bug" 0.9 but for the first minibatch (rbm-train-cd1-frmshuff).
    """
    step = frames // FRAMES_PER_STEP
    rise = (MOMENTUM_LAST - MOMENTUM_FIRST) / MOMENTUM_STEPS
    scheduled = min(MOMENTUM_LAST, MOMENTUM_FIRST + step * rise)
    return 1.0 - scheduled, MOMENTUM_LAST if with_bug and not first else scheduled
