"""The components of an nnet1 network, a feature transform or a stack of RBMs, as plain records."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(eq=False)
class Affine:
    """y = W x + b, with the learning-rate factors of W and b and the limit of the norm of W's rows (0: none)."""

    weight: np.ndarray  # (out, in)
    bias: np.ndarray  # (out,)
    learn_rate_coef: float = 1.0
    bias_learn_rate_coef: float = 1.0
    max_norm: float = 0.0
    marker: ClassVar[str] = "<AffineTransform>"

    @property
    def dims(self):
        """(out, in)."""
        return self.weight.shape


@dataclass(eq=False)
class Rbm:
    """A restricted Boltzmann machine: p(h=1|v) = sigmoid(W v + c), reconstruction from h W + b."""

    weight: np.ndarray  # (hidden, visible)
    vis_bias: np.ndarray  # (visible,), b
    hid_bias: np.ndarray  # (hidden,), c
    vis_type: str = "bern"  # "bern" or "gauss"
    hid_type: str = "bern"
    marker: ClassVar[str] = "<Rbm>"

    @property
    def dims(self):
        """(hidden, visible)."""
        return self.weight.shape


@dataclass(eq=False)
class _Elementwise:
    dim: int

    @property
    def dims(self):
        """(out, in), which are equal."""
        return self.dim, self.dim


class Sigmoid(_Elementwise):
    """y = 1 / (1 + exp(-x))."""

    marker: ClassVar[str] = "<Sigmoid>"


class Tanh(_Elementwise):
    """y = tanh x."""

    marker: ClassVar[str] = "<Tanh>"


class Softmax(_Elementwise):
    """y = exp(x) / sum exp(x)."""

    marker: ClassVar[str] = "<Softmax>"


class Relu(_Elementwise):
    """y = max(x, 0); in files Kaldi's ParametricRelu with slopes 1 and 0 that are not trained."""

    marker: ClassVar[str] = "<ParametricRelu>"


@dataclass(eq=False)
class Splice:
    """Concatenation of the frames at t + offsets; the first and last frame are repeated beyond the ends."""

    offsets: np.ndarray  # (n,) int32
    in_dim: int
    marker: ClassVar[str] = "<Splice>"

    @property
    def dims(self):
        """(out, in)."""
        return self.in_dim * len(self.offsets), self.in_dim


@dataclass(eq=False)
class AddShift:
    """y = x + shift."""

    shift: np.ndarray  # (dim,)
    learn_rate_coef: float = 0.0
    marker: ClassVar[str] = "<AddShift>"

    @property
    def dims(self):
        """(out, in), which are equal."""
        return (len(self.shift),) * 2


@dataclass(eq=False)
class Rescale:
    """y = x * scale, element by element."""

    scale: np.ndarray  # (dim,)
    learn_rate_coef: float = 0.0
    marker: ClassVar[str] = "<Rescale>"

    @property
    def dims(self):
        """(out, in), which are equal."""
        return (len(self.scale),) * 2
