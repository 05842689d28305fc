"""Natural-gradient SGD: each layer's input and derivative rows are preconditioned before their product is taken."""

from pymavg.nnet.backprop import Optimizer
from pymavg.nnet.natural_gradient import OnlinePreconditioner
from pymavg.nnet.simple_preconditioner import SimplePreconditioner

TINY = 1e-300


class NaturalGradientSgd(Optimizer):
    """W <- W - eta f s G'X with X, G the preconditioned inputs (with a 1 for the bias) and derivatives.

    s restores the norms that preconditioning changed, f <= 1 is the max-change factor: with
    T = s sum_n |x_n| |g_n|, f = min(1, limit / (eta T)) in mode `post-lr` (Kaldi's nnet2) and min(1, limit / T) in
    mode `pre-lr` (the paper's trainer), limit = max_change_per_sample N for the online method and `max_change` for a
    minibatch with the simple one.
    """

    def __init__(self, net, options, seed=0):
        super().__init__(net, options, seed)
        self.preconditioners = [self._pair(layer) for layer in net.layers]

    def _pair(self, layer):
        """Return the preconditioners of a layer's input and of its derivative."""
        options, net = self.options, self.net
        (rows, columns), ops = layer.weight.shape, net.operations
        if options.precondition == "simple":
            return [SimplePreconditioner(net.xp, options.alpha, ones) for ones in (True, False)]
        shared = options.alpha, options.num_samples_history, options.update_period
        return [
            OnlinePreconditioner(columns, options.rank_in, ops, net.dtype, *shared, ones=True),
            OnlinePreconditioner(rows, options.rank_out, ops, net.dtype, *shared),
        ]

    def update(self, k, x, delta, learn_rate):
        """See `Optimizer.update`."""
        layer, ops = self.net.layers[k], self.net.operations
        into, out = self.preconditioners[k]
        gamma_in, squares_in, last = into.apply_(x)
        gamma_out, squares_out, _ = out.apply_(delta)
        scale = gamma_in * gamma_out
        rate = learn_rate * layer.learn_rate_coef
        change = scale * self.net.xp.sqrt(squares_in * squares_out).sum()
        step = scale * self._max_change_factor(change, rate, len(x))
        ops.gemm(delta, x, layer.weight, -rate * step, 1.0, trans_a=True)
        ops.add_rows_(layer.bias, delta, -learn_rate * layer.bias_learn_rate_coef * step, 1.0, last)
        if layer.max_norm > 0:
            ops.limit_rows_(layer.weight, layer.max_norm)

    def renew(self):
        """Renew the Fisher estimates from what `backward` kept; it may be done beside the next `forward`."""
        self.net.operations.concurrently([p.renew for pair in self.preconditioners for p in pair])

    def phase(self):
        """See `Optimizer.phase`."""
        first = self.preconditioners[0][0]
        return first.due if getattr(first, "started", False) else None

    def count(self):
        """See `Optimizer.count`."""
        super().count()
        for pair in self.preconditioners:
            for preconditioner in pair:
                preconditioner.count()

    def _max_change_factor(self, change, rate, n):
        options = self.options
        limit = options.max_change if options.precondition == "simple" else options.max_change_per_sample * n
        if limit <= 0:
            return 1.0
        tested = change * rate if options.max_change_mode == "post-lr" else change
        return self.net.xp.minimum(1.0, limit / self.net.xp.maximum(tested, TINY))

    def state(self):
        """See `Optimizer.state`; the Fisher estimates are `fisher.LAYER.{in,out}.NAME`."""
        state = super().state()
        for prefix, preconditioner in self._named():
            state.update({prefix + name: value for name, value in preconditioner.state().items()})
        return state

    def load_state(self, state):
        """See `Optimizer.load_state`."""
        super().load_state(state)
        for prefix, preconditioner in self._named():
            own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
            preconditioner.load_state(own)

    def _named(self):
        for k, pair in enumerate(self.preconditioners):
            for side, preconditioner in zip(("in", "out"), pair, strict=True):
                yield f"fisher.{k}.{side}.", preconditioner
