"""First parameters of networks and RBMs, by the rules of nnet1's make_nnet_proto and pretrain_dbn."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1

STDDEV_FACTOR = 0.1 * 35  # of a weight, times sqrt(2 / (in + out))
FIRST_LAYER = np.sqrt(1 / 12)  # inputs of variance 1, where hidden units are uniform in [0, 1]
HIDDEN_BIAS = -4.0, 0.0  # uniform between
OUTPUT_BIAS_COEF = 0.1
RBM_STDDEV = 0.1


def init_network(dims, seed=777, activation="sigmoid"):
    """Return the components of a network with a softmax at its end.

    Parameters
    ----------
    dims : list of int
        Input, hidden layers, output: [440, 2048, 2048, 3000].
    seed : int
        Of NumPy's default generator.
    activation : {"sigmoid", "tanh", "relu"}
        Of hidden layers. Sigmoid: weights N(0, s^2), s = 3.5 sqrt(2 / (in + out)), in the first layer times
        sqrt(1/12); biases uniform in [-4, 0]; output bias 0 with a tenth of the learning rate (make_nnet_proto).
        Tanh: s = 1 / sqrt(in); relu: s = sqrt(2 / in); biases 0.
    """
    makers = {"sigmoid": nnet1.Sigmoid, "tanh": nnet1.Tanh, "relu": nnet1.Relu}
    if activation not in makers:
        raise PymavgError(f"activation: found '{activation}', expected sigmoid, tanh or relu")
    rng = np.random.default_rng(seed)
    components = []
    for k, (columns, rows) in enumerate(zip(dims[:-2], dims[1:-1], strict=True)):
        stddev = _stddev(columns, rows, activation, first=k == 0)
        low, high = HIDDEN_BIAS if activation == "sigmoid" else (0.0, 0.0)
        bias = rng.uniform(low, high, rows).astype(np.float32)
        components += [nnet1.Affine(_normal(rng, rows, columns, stddev), bias), makers[activation](rows)]
    deep = len(dims) > 2
    return components + init_output(dims[-2], dims[-1], seed + 1, OUTPUT_BIAS_COEF if deep else 1.0)


def init_output(input_dim, output_dim, seed=777, bias_learn_rate_coef=1.0):
    """Return [Affine, Softmax]: the layer put on a stack of RBMs, bias 0."""
    rng = np.random.default_rng(seed)
    weight = _normal(rng, output_dim, input_dim, _stddev(input_dim, output_dim, "sigmoid"))
    bias = np.zeros(output_dim, np.float32)
    return [nnet1.Affine(weight, bias, 1.0, bias_learn_rate_coef), nnet1.Softmax(output_dim)]


def init_rbm(input_dim, hidden_dim, visible, seed=777, vis_bias=None):
    """Return an nnet1.Rbm: weights N(0, 0.1^2), hidden bias 0, visible bias 0 or as given (see rbm.visible_bias)."""
    rng = np.random.default_rng(seed)
    weight = _normal(rng, hidden_dim, input_dim, RBM_STDDEV)
    vis_bias = np.zeros(input_dim) if vis_bias is None else vis_bias
    return nnet1.Rbm(weight, np.asarray(vis_bias, np.float32), np.zeros(hidden_dim, np.float32), vis_type=visible)


def _stddev(columns, rows, activation, first=False):
    if activation == "tanh":
        return 1 / np.sqrt(columns)
    if activation == "relu":
        return np.sqrt(2 / columns)
    return STDDEV_FACTOR * np.sqrt(2 / (columns + rows)) * (FIRST_LAYER if first else 1.0)


def _normal(rng, rows, columns, stddev):
    return rng.standard_normal((rows, columns), dtype=np.float32) * np.float32(stddev)
