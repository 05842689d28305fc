"""A feed-forward network whose parameters are one flat array.

`theta` holds, layer after layer, the weights W (out x in, row by row) and the bias b: the order of nnet1 model files.
Every layer's `weight` and `bias` are views into it, so that averaging, a checkpoint or a norm is one operation on one
array, and an update of a view is an update of the whole.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet.dispatch import operations
from pymavg.nnet.workspaces import Workspaces

ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "softmax": "Softmax"}


@dataclass
class Layer:
    """y = f(W x + b), with nnet1's options of an affine component.

    Attributes
    ----------
    weight, bias : (out, in) and (out,) views into `Network.theta`
    activation : {"linear", "sigmoid", "tanh", "relu", "softmax"}
    learn_rate_coef, bias_learn_rate_coef : float
        Factors on the learning rate.
    max_norm : float
        Bound of the 2-norm of a row of W; 0 for none.
    """

    weight: object
    bias: object
    activation: str = "linear"
    learn_rate_coef: float = 1.0
    bias_learn_rate_coef: float = 1.0
    max_norm: float = 0.0


class Network:
    """Layers over one parameter array, with workspaces that are used again for every minibatch.

    Parameters
    ----------
    components : list of pymavg.kaldi.nnet1 components
        Affine, each followed by at most one of Sigmoid, Tanh, Relu; Softmax only at the end.
    xp : module
        `numpy` or `cupy`.
    dtype : dtype
        float32, or float64 for checks.
    precision : {"float32", "tf32", "bf16"}
        Of matrix products on a GPU; parameters stay in float32.

    Raises
    ------
    PymavgError
        When the sequence is not of that form or dimensions do not fit.
    """

    def __init__(self, components, xp=np, dtype=np.float32, precision="float32"):
        self.xp, self.dtype = xp, np.dtype(dtype)
        self.operations = operations(xp, dtype, precision)
        parts = _pair(components)
        flat = [np.concatenate([np.ravel(affine.weight), np.ravel(affine.bias)]) for affine, _ in parts]
        self.theta = to_device(xp, np.concatenate(flat), self.dtype)
        self._shapes = [affine.weight.shape for affine, _ in parts]
        self.layers = [
            Layer(*views, activation, affine.learn_rate_coef, affine.bias_learn_rate_coef, affine.max_norm)
            for views, (affine, activation) in zip(self.views(self.theta), parts, strict=True)
        ]
        self.workspace = Workspaces(xp, self.dtype)

    def views(self, flat):
        """Return [(weight, bias)] of each layer as views into an array of theta's length and order."""
        pairs, start = [], 0
        for rows, columns in self._shapes:
            middle, end = start + rows * columns, start + rows * columns + rows
            pairs.append((flat[start:middle].reshape(rows, columns), flat[middle:end]))
            start = end
        return pairs

    @property
    def input_dim(self):
        """Length of an input vector."""
        return self.layers[0].weight.shape[1]

    @property
    def output_dim(self):
        """Number of outputs (pdfs)."""
        return self.layers[-1].weight.shape[0]

    def forward(self, x, retention=1.0, key=0):
        """Return the outputs before the softmax.

        Parameters
        ----------
        x : (N, in)
            Array of `xp`.
        retention : float
            Probability with which dropout keeps a hidden unit; 1 for no dropout.
        key : int
            Names the dropout masks: layer k uses key + k.

        Returns
        -------
        (N, out) array
            A workspace, valid until the next call. A final sigmoid, tanh or relu is applied, a softmax is not.
        """
        return self.propagate(x, retention, key)[-1]

    def propagate(self, x, retention=1.0, key=0):
        """Return [x, output of layer 1, ...]: what `forward` computes on its way, for the backward pass."""
        outputs = [x]
        for k, layer in enumerate(self.layers):
            y = self.workspace(f"y{k}", len(x), len(layer.bias))
            self.operations.gemm(outputs[-1], layer.weight, y, trans_b=True)
            self.operations.activate_(layer.activation, y, layer.bias)
            if retention < 1.0 and k < len(self.layers) - 1:
                self.operations.dropout_(y, retention, key + k)
            outputs.append(y)
        return outputs

    def to_components(self):
        """Return nnet1 components with copies of the parameters on the host, float32."""
        components = []
        for layer in self.layers:
            weight, bias = (to_host(a).astype(np.float32) for a in (layer.weight, layer.bias))
            coefs = layer.learn_rate_coef, layer.bias_learn_rate_coef, layer.max_norm
            components.append(nnet1.Affine(weight, bias, *coefs))
            if layer.activation != "linear":
                components.append(getattr(nnet1, ACTIVATIONS[layer.activation])(len(bias)))
        return components

    @classmethod
    def from_components(cls, components, xp=np, dtype=np.float32, precision="float32"):
        """Same as the constructor, under the name that matches `to_components`."""
        return cls(components, xp, dtype, precision)


def _pair(components):
    """Return [(affine, name of its activation)], after checking order and dimensions."""
    names = {class_name: name for name, class_name in ACTIVATIONS.items()}
    parts = []
    for index, component in enumerate(components):
        kind = type(component).__name__
        if kind == "Affine":
            if parts and parts[-1][0].weight.shape[0] != component.weight.shape[1]:
                found, expected = component.weight.shape[1], parts[-1][0].weight.shape[0]
                raise PymavgError(f"component {index + 1} takes {found} inputs, but the one before gives {expected}")
            parts.append((component, "linear"))
        elif kind in names and parts and parts[-1][1] == "linear":
            parts[-1] = (parts[-1][0], names[kind])
        else:
            raise PymavgError(
                f"component {index + 1} is {kind} after {'nothing' if not parts else parts[-1][1]}; expected affine "
                "components, each followed by at most one of sigmoid, tanh, relu (softmax: the last only)"
            )
    if not parts:
        raise PymavgError("a network without an affine component cannot be trained")
    if any(name == "softmax" for _, name in parts[:-1]):
        raise PymavgError("softmax within the network: only the last component may be a softmax")
    return parts
