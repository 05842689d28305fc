"""Restricted Boltzmann machines, trained by contrastive divergence with one step of Gibbs sampling (CD-1).

Hidden units are binary, visible ones binary or Gaussian with unit variance. The update is that of Kaldi's nnet1
(nnet-rbm.cc, RbmUpdate): gradients averaged over the minibatch, probabilities in both phases, samples only for the
reconstruction, and a rescue of Gaussian machines whose reconstruction explodes.
"""

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet.dispatch import operations
from pymavg.nnet.workspaces import Workspaces

RESCUE_LEARN_RATE = 0.9
MEAN_LIMITS = 1e-4, 1 - 1e-4  # of a visible unit's mean activation, for its first bias


class Rbm:
    """An RBM over one flat parameter array: W (hidden x visible), visible bias, hidden bias.

    Parameters
    ----------
    weight : (H, D)
    vis_bias : (D,)
    hid_bias : (H,)
    visible : {"bern", "gauss"}
    xp : module
        `numpy` or `cupy`.
    dtype : dtype
    precision : {"float32", "tf32", "bf16"}
        Of matrix products on a GPU.

    Attributes
    ----------
    theta, correction : (H D + D + H,)
        All parameters; the momentum of each.
    stats : (3,) float64 on the device
        Sums over frames of the mean squared error of the reconstruction, of frames, and the number of rescues.
    """

    def __init__(self, weight, vis_bias, hid_bias, visible="bern", xp=np, dtype=np.float32, precision="float32"):
        if visible not in ("bern", "gauss"):
            raise PymavgError(f"RBM: found visible units '{visible}', expected bern or gauss")
        self.xp, self.dtype, self.gaussian = xp, np.dtype(dtype), visible == "gauss"
        self.operations = operations(xp, dtype, precision)
        self.hidden, self.visible = np.shape(weight)
        flat = np.concatenate([np.ravel(to_host(a)) for a in (weight, vis_bias, hid_bias)])
        self.theta = to_device(xp, flat, self.dtype)
        self.correction = xp.zeros_like(self.theta)
        self.weight, self.vis_bias, self.hid_bias = self._views(self.theta)
        self._d_weight, self._d_vis, self._d_hid = self._views(self.correction)
        self.stats = xp.zeros(3, xp.float64)
        self.rate_scale, self._last_rate = xp.ones(()), None
        self._workspace = Workspaces(xp, self.dtype)

    def _views(self, flat):
        middle, end = self.hidden * self.visible, self.hidden * self.visible + self.visible
        return flat[:middle].reshape(self.hidden, self.visible), flat[middle:end], flat[end:]

    def step(self, v, learn_rate, momentum, l2=0.0, key=None, sample=None):
        """Train on one minibatch.

        Parameters
        ----------
        v : (N, D)
            Data; not changed. An empty minibatch changes nothing.
        learn_rate, momentum, l2 : float
            dW = momentum dW + learn_rate (gradient / N - l2 W); biases without l2.
        key : int, or uint64 (1,) on the device
            What all samples of the minibatch follow from.
        sample : (N, H) or None
            States of the hidden units to use in place of samples.
        """
        n = len(v)
        if n == 0:
            return
        ops = self.operations
        vis, hid = self._workspace("vis", 2 * n, self.visible), self._workspace("hid", 2 * n, self.hidden)
        drawn = self._workspace("sample", n, self.hidden)
        vis[:n] = v  # data above, reconstruction below
        ops.gemm(vis[:n], self.weight, hid[:n], trans_b=True)
        if sample is None:
            ops.sample_hidden(hid[:n], self.hid_bias, drawn, key)
        else:
            ops.activate_("sigmoid", hid[:n], self.hid_bias)
            drawn[...] = sample
        ops.gemm(drawn, self.weight, vis[n:])
        ops.activate_("linear" if self.gaussian else "sigmoid", vis[n:], self.vis_bias)
        ops.gemm(vis[n:], self.weight, hid[n:], trans_b=True)
        ops.activate_("sigmoid", hid[n:], self.hid_bias)
        self.stats[0] += ops.square_distance(vis[:n], vis[n:]) / self.visible
        self.stats[1] += n
        self._update(vis, hid, learn_rate, momentum, l2)

    def _update(self, vis, hid, learn_rate, momentum, l2):
        ops, n = self.operations, len(vis) // 2
        self.set_rate(learn_rate)
        keep = 1.0
        if self.gaussian:
            learn_rate, momentum, keep = self._rescue(vis[:n], vis[n:], learn_rate, momentum)
        signs = self._signs(n)
        ops.add_rows_(self._d_vis, vis, learn_rate / n, momentum, signs)
        ops.add_rows_(self._d_hid, hid, learn_rate / n, momentum, signs)
        vis[n:] *= -1  # so that one product takes the difference of the phases
        ops.gemm(hid, vis, self._d_weight, learn_rate / n, momentum, trans_a=True)
        ops.add_correction_(self.weight, self._d_weight, learn_rate * l2, keep)
        ops.scale_add_(self.vis_bias, keep, self._d_vis, 1.0)
        ops.scale_add_(self.hid_bias, keep, self._d_hid, 1.0)

    def set_rate(self, learn_rate):
        """Note the learning rate: a new step of the schedule ends the effect of earlier rescues."""
        if learn_rate != self._last_rate:
            self._last_rate = learn_rate
            self.rate_scale[...] = 1.0

    def _rescue(self, data, recon, learn_rate, momentum):
        """Return (learn_rate, momentum, keep): unchanged and 1, or when the reconstruction explodes (0, 0, keep < 1).

        Then parameters are scaled by keep, momenta cleared, nothing is learnt from this minibatch, and the learning
        rate stays cut until it is next set to another value. Written without a branch: the device is not waited for.
        """
        xp = self.xp
        std, std_recon = self.operations.deviation(data), self.operations.deviation(recon)
        exploded = (std_recon > 2 * std) & (std > 0)  # constant data are no measure
        rate = xp.where(exploded, 0.0, learn_rate * self.rate_scale)
        self.rate_scale *= xp.where(exploded, RESCUE_LEARN_RATE, 1.0)
        self.stats[2] += exploded
        keep = xp.where(exploded, std / xp.where(exploded, std_recon, 1.0), 1.0)
        return rate, xp.where(exploded, 0.0, momentum), keep

    def restore_learn_rate(self):
        """End the effect of earlier rescues on the learning rate; a new step of the schedule does it too."""
        self.rate_scale[...] = 1.0

    def hidden_probs(self, v):
        """Return p(h = 1 | v), (N, H): a new array."""
        h = self.xp.empty((len(v), self.hidden), self.dtype)
        self.operations.gemm(v, self.weight, h, trans_b=True)
        self.operations.activate_("sigmoid", h, self.hid_bias)
        return h

    def reset_stats(self):
        """Set the statistics to 0."""
        self.stats[...] = 0

    def _signs(self, n):
        signs = self.xp.ones(2 * n, self.dtype)
        signs[n:] = -1
        return signs

    def state(self):
        """Return all state beside theta as named host arrays."""
        last = np.nan if self._last_rate is None else self._last_rate
        return {
            "correction": np.array(to_host(self.correction)),
            "rate_scale": np.array(to_host(self.rate_scale)),
            "last_rate": np.array(last),
        }

    def load_state(self, state):
        """Take over what `state` returned."""
        self.correction[...] = to_device(self.xp, state["correction"])
        self.rate_scale[...] = float(state["rate_scale"])
        self._last_rate = float(state["last_rate"])

    @classmethod
    def from_component(cls, component, xp=np, dtype=np.float32, precision="float32"):
        """Return the RBM of a pymavg.kaldi.nnet1.Rbm."""
        parts = component.weight, component.vis_bias, component.hid_bias, component.vis_type
        return cls(*parts, xp, dtype, precision)

    def to_component(self):
        """Return a pymavg.kaldi.nnet1.Rbm with copies of the parameters on the host."""
        parts = (to_host(a).astype(np.float32) for a in (self.weight, self.vis_bias, self.hid_bias))
        return nnet1.Rbm(*parts, vis_type="gauss" if self.gaussian else "bern")

    def to_layer(self):
        """Return [Affine, Sigmoid]: the layer of a network that computes p(h = 1 | v)."""
        component = self.to_component()
        return [nnet1.Affine(component.weight, component.hid_bias), nnet1.Sigmoid(self.hidden)]


def visible_bias(mean):
    """Return the visible bias (D,) at which binary units have the mean activation `mean`, clipped to [1e-4, 1-1e-4]."""
    p = np.clip(np.asarray(mean, np.float64), *MEAN_LIMITS)
    return np.log(p / (1 - p))
