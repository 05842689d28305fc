"""Deltas, context windows and linear transforms of features.

Beyond its ends an utterance repeats its first or last frame.
Sources: Kaldi's feat/feature-functions.cc (deltas, splicing), featbin/transform-feats.cc.
"""

import numpy as np

from pymavg.errors import PymavgError


def delta_scales(order, window):
    """Return the filters of the derivatives of order 0 to `order`: a list of arrays (2 i window + 1,).

    The first derivative is the regression slope sum_j j x_{t+j} / sum_j j^2 over |j| <= window, each further one the
    slope of the one before.
    """
    slope = np.arange(-window, window + 1, dtype=np.float64)
    slope /= np.sum(slope**2)
    scales = [np.ones(1)]
    for _ in range(order):
        scales.append(np.convolve(scales[-1], slope))
    return scales


def add_deltas(features, order=2, window=2):
    """Append derivatives over time.

    Parameters
    ----------
    features : float32 array (T, D)
        Features of one utterance.
    order : int
        Highest derivative.
    window : int
        Frames on each side that a derivative is taken over.

    Returns
    -------
    float32 array (T, D (order + 1))
        x, its first derivative, its second, ...
    """
    num_frames, dim = features.shape
    reach = order * window
    padded = np.pad(features, ((reach, reach), (0, 0)), mode="edge") if num_frames else features
    out = np.zeros((num_frames, dim * (order + 1)), np.float32)
    for i, scales in enumerate(delta_scales(order, window) if num_frames else []):
        part = out[:, i * dim : (i + 1) * dim]
        first = reach - i * window
        for j, scale in enumerate(scales.astype(np.float32)):
            if scale:
                part += scale * padded[first + j : first + j + num_frames]
    return out


def splice(features, left, right):
    """Concatenate the frames t - left to t + right: (T, D) becomes (T, D (left + 1 + right))."""
    num_frames = len(features)
    if not num_frames:
        return np.zeros((0, features.shape[1] * (left + 1 + right)), features.dtype)
    rows = np.arange(num_frames)[:, None] + np.arange(-left, right + 1)
    return features[np.clip(rows, 0, num_frames - 1)].reshape(num_frames, -1)


def transform(features, matrix, name="features"):
    """Apply a linear transform A (K, D) or an affine one [A b] (K, D + 1): y = A x + b.

    Parameters
    ----------
    features : float32 array (T, D)
        Features of one utterance.
    matrix : array (K, D) or (K, D + 1)
        The transform, as LDA or fMLLR.
    name : str
        Utterance or file, for messages.

    Returns
    -------
    float32 array (T, K)
        Transformed features.

    Raises
    ------
    PymavgError
        When the sizes do not fit.
    """
    dim = features.shape[1]
    if matrix.shape[1] == dim:
        return features @ matrix.T
    if matrix.shape[1] == dim + 1:
        return features @ matrix[:, :-1].T + matrix[:, -1]
    raise PymavgError(
        f"{name}: the transform is {matrix.shape[0]} x {matrix.shape[1]}, {dim} or {dim + 1} columns expected for "
        f"features of {dim} dimensions"
    )
