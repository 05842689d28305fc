"""Loops of one pass over float32 NumPy arrays, compiled by Numba: the fast twins of formulas in operations.py.

Each reads and writes every element once, so that it costs a few percent of the matrix products around it. `exp` is
written out (argument reduction by ln 2 and a polynomial), because a call per element would keep the loop from being
vectorised. NaN goes through every loop unchanged: a diverged model must be seen as one.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

FAST = {"reassoc", "contract", "arcp", "nsz"}  # all of fastmath but the assumption that there is no NaN
COMPILE = {"cache": True, "nogil": True, "fastmath": FAST, "error_model": "numpy"}
F = np.float32
LOG2_E, LN2_HIGH, LN2_LOW = F(1.44269504), F(0.693359375), F(-2.12194440e-4)
C2, C3, C4, C5, C6, C7 = F(1 / 2), F(1 / 6), F(1 / 24), F(1 / 120), F(1 / 720), F(1 / 5040)
LARGEST = F(87.0)
ONE, TWO, ZERO, TO_UNIT = F(1), F(2), F(0), F(2.0**-24)
U15, U16, U8 = np.uint32(15), np.uint32(16), np.uint32(8)
MIX_1, MIX_2 = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)


@intrinsic
def _as_float(context, bits):
    """Return the float32 whose bits are those of an int32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


@njit(inline="always", **COMPILE)
def _exp(x):
    """Return exp(x) within 2 units in the last place, x limited to +-87."""
    x = LARGEST if x > LARGEST else x
    x = -LARGEST if x < -LARGEST else x
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * r * r + r + ONE
    return p * _as_float((np.int32(n) + np.int32(127)) << np.int32(23))


@njit(inline="always", **COMPILE)
def _mix(x):
    """Scatter a 32-bit word; the casts keep Numba from going on in 64 bits."""
    x = np.uint32(x)
    x = np.uint32(np.uint32(x ^ (x >> U16)) * MIX_1)
    x = np.uint32(np.uint32(x ^ (x >> U15)) * MIX_2)
    return np.uint32(x ^ (x >> U16))


@njit(inline="always", **COMPILE)
def _uniform(index, low, high):
    """Return a float32 in [0, 1): operations.Operations.uniform for one position."""
    x = _mix(_mix(np.uint32(index) ^ low) + high)
    return F(np.int32(x >> U8)) * TO_UNIT


@njit(**COMPILE)
def add_bias(a, bias):
    """Set a = a + bias, row by row."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += bias[j]


@njit(**COMPILE)
def sigmoid(a, bias):
    """Add the bias and take the sigmoid, in place."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = ONE / (ONE + _exp(-(a[i, j] + bias[j])))


@njit(**COMPILE)
def tanh(a, bias):
    """Add the bias and take the hyperbolic tangent, in place."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = ONE - TWO / (ONE + _exp(TWO * (a[i, j] + bias[j])))


@njit(**COMPILE)
def relu(a, bias):
    """Set a = max(a + bias, 0)."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = a[i, j] + bias[j]
            a[i, j] = ZERO if x < ZERO else x


@njit(**COMPILE)
def derive_sigmoid(delta, y, scale):
    """Set delta = delta z (1 - z), z = scale y."""
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            z = scale * y[i, j]
            delta[i, j] *= z * (ONE - z)


@njit(**COMPILE)
def derive_tanh(delta, y, scale):
    """Set delta = delta (1 - z^2), z = scale y."""
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            z = scale * y[i, j]
            delta[i, j] *= ONE - z * z


@njit(**COMPILE)
def derive_relu(delta, y):
    """Set delta = 0 where y is 0."""
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            delta[i, j] = delta[i, j] if y[i, j] > ZERO else ZERO


@njit(**COMPILE)
def sample_hidden(a, bias, sample, low, high):
    """Set a = sigmoid(a + bias), and sample = 1 with that probability."""
    columns = a.shape[1]
    for i in range(a.shape[0]):
        for j in range(columns):
            p = ONE / (ONE + _exp(-(a[i, j] + bias[j])))
            a[i, j] = p
            sample[i, j] = ONE if _uniform(i * columns + j, low, high) < p else ZERO


@njit(**COMPILE)
def dropout(y, retention, low, high):
    """Set y to 0 or y / retention."""
    columns, scale = y.shape[1], ONE / retention
    for i in range(y.shape[0]):
        for j in range(columns):
            y[i, j] = y[i, j] * scale if _uniform(i * columns + j, low, high) < retention else ZERO


@njit(**COMPILE)
def softmax_xent(a, targets, weights, stats):
    """Do operations.Operations.softmax_xent_ for classes; `weights` may be empty for none."""
    for i in range(a.shape[0]):
        row = a[i]
        top = row[0]
        for j in range(a.shape[1]):
            top = row[j] if row[j] > top else top
        total = ZERO
        chosen = row[targets[i]]
        correct = chosen >= top
        if correct:  # of equal outputs the first one wins
            for j in range(targets[i]):
                correct = correct and row[j] < chosen
        for j in range(a.shape[1]):
            e = _exp(row[j] - top)
            row[j] = e
            total += e
        weight = weights[i] if weights.size else ONE
        scale = weight / total
        for j in range(a.shape[1]):
            row[j] *= scale
        row[targets[i]] -= weight
        stats[0] += weight * (np.log(total) - (chosen - top))
        stats[1] += weight * correct
        stats[2] += weight


@njit(**COMPILE)
def row_squares(a, out):
    """Set out[i] to the sum of squares of row i, in float64."""
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += np.float64(a[i, j]) * np.float64(a[i, j])
        out[i] = total


@njit(**COMPILE)
def square_distance(a, b):
    """Return the sum of (a - b)^2."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d = np.float64(a[i, j] - b[i, j])
            total += d * d
    return total


@njit(**COMPILE)
def moments(a):
    """Return the sums of all elements and of their squares."""
    total, squares = 0.0, 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = np.float64(a[i, j])
            total += x
            squares += x * x
    return total, squares


@njit(**COMPILE)
def add_correction(weight, correction, decay, keep):
    """Set correction = correction - decay weight, then weight = keep weight + correction."""
    for i in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            c = correction[i, j] - decay * weight[i, j]
            correction[i, j] = c
            weight[i, j] = keep * weight[i, j] + c


@njit(**COMPILE)
def scale_add(a, keep, b, factor):
    """Set a = keep a + factor b."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = keep * a[i, j] + factor * b[i, j]


@njit(**COMPILE)
def gather(feats, rows, first, last, offsets, scale, shift, out):
    """Do operations.Operations.gather."""
    dim = feats.shape[1]
    for n in range(len(rows)):
        for k in range(len(offsets)):
            row = min(max(rows[n] + offsets[k], first[n]), last[n])
            if len(scale) == 1:
                for j in range(dim):
                    out[n, k * dim + j] = scale[0] * feats[row, j] + shift[0]
            else:
                for j in range(dim):
                    out[n, k * dim + j] = scale[k * dim + j] * feats[row, j] + shift[k * dim + j]
