"""One training step up to the update rule: forward, loss, backward, and the order in which layers change.

Gradients are summed over the minibatch, not averaged, as in Kaldi: a learning rate is per frame. The derivative that
a layer hands down is taken before the layer's own parameters change.
"""

import numpy as np

from pymavg.nnet import loss


class Optimizer:
    """What all update rules share.

    Parameters
    ----------
    net : pymavg.nnet.network.Network
    options : pymavg.nnet.optimizer.OptimizerOptions
    seed : int
        Of the dropout masks; different on every worker.

    Attributes
    ----------
    stats : (3,) float64 on the device
        Sums of loss, correct frames and frames since `reset_stats`, weighted by frame weight.
    """

    def __init__(self, net, options, seed=0):
        loss.check(net, options.objective_function)
        self.net, self.options, self.seed = net, options, seed
        self.stats = loss.new_stats(net.xp)
        self.steps = 0

    def reset_stats(self):
        """Set the statistics to 0."""
        self.stats[...] = 0

    def step(self, x, targets, learn_rate, weights=None):
        """Train on one minibatch; an empty one changes nothing.

        Parameters
        ----------
        x : (N, in)
            Inputs; not changed.
        targets : (N,) int32 or (N, out)
            Classes, or posteriors of each frame.
        learn_rate : float
            Per frame.
        weights : (N,) or None
            Frame weights.
        """
        if len(x) == 0:
            return
        self.forward(x, targets, weights)
        self.update_all(learn_rate)

    def update_all(self, learn_rate):
        """Do what of a step follows on `forward`, or on `propagate` and the derivative."""
        renewed = self.phase() is not False
        self.backward(learn_rate)
        if renewed:
            self.renew()
        self.count()

    def key(self):
        """Return the number that this step's dropout masks follow from, one for each layer."""
        return (self.seed << 40) + ((self.steps + 1) << 8) & 0xFFFFFFFFFFFFFFFF

    def phase(self):
        """Return what the next step is like: False, or True where it ends in `renew`; None: unlike all others."""
        return False

    def count(self):
        """Count a step; for work that is replayed elsewhere, all that is done here."""
        self.steps += 1

    def renew(self):
        """Do what belongs to a step but is not needed before the next `backward`."""

    def forward(self, x, targets, weights=None, key=None):
        """Compute outputs, loss and its derivative; `key` may lie on the device (uint64 (1,))."""
        outputs = self.propagate(x, key)
        loss.derive_(self.net, outputs, targets, weights, self.options.objective_function, self.stats)

    def propagate(self, x, key=None):
        """Return the outputs (N, out) before the softmax; `backward` expects in their place the loss's derivative."""
        net, self._key = self.net, self.key() if key is None else key
        inputs = net.workspace("x", len(x), net.input_dim)
        inputs[...] = x  # an update may use its input up
        self._outputs = net.propagate(inputs, self.options.dropout_retention, self._key)
        return self._outputs[-1]

    def backward(self, learn_rate):
        """Change all layers after `forward`, the last first; `learn_rate` may be a 0-d array on the device."""
        *outputs, delta = self._outputs
        for k in reversed(range(len(self.net.layers))):
            y = outputs.pop()
            below = self._derivative_below(k, y, delta, self._key) if k > 0 else None
            self.update(k, y, delta, learn_rate)
            delta = below

    def _derivative_below(self, k, y, delta, key):
        """Return the derivative by the sum W x + b of layer k - 1, whose output is y."""
        net, retention = self.net, self.options.dropout_retention
        below = net.workspace(f"d{k}", *y.shape)
        net.operations.gemm(delta, net.layers[k].weight, below)
        if retention < 1.0:
            net.operations.dropout_(below, retention, key + k - 1)
        net.operations.derive_(net.layers[k - 1].activation, below, y, retention)
        return below

    def update(self, k, x, delta, learn_rate):
        """Change layer k.

        Parameters
        ----------
        k : int
            Which layer.
        x : (N, in)
            Its input; may be used up.
        delta : (N, out)
            Derivative of the loss by W x + b; may be used up.
        learn_rate : float
            Before the layer's own factor.
        """
        raise NotImplementedError

    def momenta(self):
        """Return the flat momentum array, in the order of theta, or None where there is none."""

    def state(self):
        """Return all state beside theta as named host arrays."""
        return {"steps": np.array(self.steps, np.int64)}

    def load_state(self, state):
        """Take over what `state` returned."""
        self.steps = int(state["steps"])
