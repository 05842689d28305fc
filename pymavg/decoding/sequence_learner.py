"""What a worker trains in sequence training: the network, one update for each utterance."""

import numpy as np

from pymavg.backend import to_device, to_host


class SequenceLearner:
    """A sequence criterion over a network; the interface is that of training/learners.py.

    The softmax is left out and log-priors are subtracted, so the lattice gets scaled likelihoods; the criterion's
    derivative by them is the derivative by the outputs before the softmax.

    Parameters
    ----------
    optimizer : pymavg.nnet.optimizer's
    transform : pymavg.nnet.features.FeatureTransform
    criterion : sequence_criteria.Criterion
    log_priors : float32 (P,)
    """

    def __init__(self, optimizer, transform, criterion, log_priors):
        self.optimizer, self.transform, self.net = optimizer, transform, optimizer.net
        self.theta, self.xp = self.net.theta, self.net.xp
        self.criterion, self.log_priors = criterion, log_priors
        self.sums = np.zeros(3)  # loss, right frames, frames
        self.dropped = 0
        kind = criterion.kind
        self.told = "MMI loss {loss:.5f}" if kind == "mmi" else f"{kind} frame accuracy {{accuracy:.3f}} %"

    def momenta(self):
        """Return the flat momentum, or None."""
        return getattr(self.optimizer, "momenta", lambda: None)()

    def learn(self, block, rows, learn_rate, numbers):
        """Train on one sequence_data.Utterance."""
        outputs = self.optimizer.propagate(self.transform.apply(block.feats))
        found = self.criterion.derive(block.lattice, to_host(outputs) - self.log_priors, block.reference)
        outputs[...] = to_device(self.xp, found.derivative, outputs.dtype)
        self.optimizer.update_all(learn_rate)
        self.sums += found.loss, found.right, len(rows)
        self.dropped += found.dropped

    def is_sound(self):
        """Return whether the loss so far is finite."""
        return bool(np.isfinite(self.sums[0]))

    def loss_so_far(self):
        """Return the sum of losses since the last `measures`."""
        return float(self.sums[0])

    def measures(self):
        """Return the sums (loss, right frames, frames) since the last call."""
        sums = self.sums.tolist()
        self.sums[:] = 0
        return sums

    def state(self):
        """Return the optimiser's state, theta not included."""
        return self.optimizer.state()

    def load_state(self, state):
        """Take over what `state` returned."""
        self.optimizer.load_state(state)
