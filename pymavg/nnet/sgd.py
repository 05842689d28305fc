"""Stochastic gradient descent with nnet1's momentum, penalties and order of operations."""

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.nnet.backprop import Optimizer


class Sgd(Optimizer):
    """W <- (1 - eta l2 N) W - eta G, G = m G + delta' x; the bias alike, without penalties.

    eta is the learning rate times the layer's coefficient, N the frames of the minibatch (Kaldi's
    nnet-affine-transform.h, Update). Without momentum and l1 no gradient array exists: the matrix product itself
    accumulates into W.
    """

    def __init__(self, net, options, seed=0):
        super().__init__(net, options, seed)
        self.corrections = None
        if options.momentum != 0 or options.l1_penalty != 0:
            self.correction = net.xp.zeros_like(net.theta)
            self.corrections = net.views(self.correction)

    def update(self, k, x, delta, learn_rate):
        """See `Optimizer.update`."""
        layer, ops, options = self.net.layers[k], self.net.operations, self.options
        rate, bias_rate = learn_rate * layer.learn_rate_coef, learn_rate * layer.bias_learn_rate_coef
        keep = 1.0 - rate * options.l2_penalty * len(x)
        if self.corrections is None:
            ops.gemm(delta, x, layer.weight, -rate, keep, trans_a=True)
            ops.add_rows_(layer.bias, delta, -bias_rate)
        else:
            gradient, bias_gradient = self.corrections[k]
            ops.gemm(delta, x, gradient, 1.0, options.momentum, trans_a=True)
            ops.add_rows_(bias_gradient, delta, 1.0, options.momentum)
            if options.l1_penalty > 0:
                layer.weight *= keep
                keep = 1.0
                ops.shrink_l1_(layer.weight, gradient, rate * options.l1_penalty * len(x), rate)
            ops.scale_add_(layer.weight, keep, gradient, -rate)
            ops.scale_add_(layer.bias, 1.0, bias_gradient, -bias_rate)
        if layer.max_norm > 0:
            ops.limit_rows_(layer.weight, layer.max_norm)

    def momenta(self):
        """See `Optimizer.momenta`."""
        return None if self.corrections is None else self.correction

    def state(self):
        """See `Optimizer.state`."""
        state = super().state()
        if self.corrections is not None:
            state["correction"] = np.array(to_host(self.correction))
        return state

    def load_state(self, state):
        """See `Optimizer.load_state`."""
        super().load_state(state)
        if self.corrections is not None:
            self.correction[...] = to_device(self.net.xp, state["correction"])
