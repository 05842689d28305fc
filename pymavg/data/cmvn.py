"""Cepstral mean and variance normalisation (CMVN).

Statistics are a float64 array (2, D + 1): row 0 the sums of the D coefficients and the number of frames, row 1 the sums
of squares and 0. Source: Kaldi's transform/cmvn.cc.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError

VARIANCE_FLOOR = 1e-20  # Kaldi's


def empty_stats(dim):
    """Return statistics (2, dim + 1) of no frames."""
    return np.zeros((2, dim + 1))


def accumulate(stats, features):
    """Add the frames of `features` (T, D) to `stats` (2, D + 1), in place."""
    features = np.asarray(features, np.float64)
    if features.shape[1] + 1 != stats.shape[1]:
        raise PymavgError(f"features of {features.shape[1]} dimensions, {stats.shape[1] - 1} before")
    stats[0, :-1] += features.sum(axis=0)
    stats[0, -1] += len(features)
    stats[1, :-1] += np.einsum("td,td->d", features, features)


@dataclass(frozen=True)
class CmvnOptions:
    """What is normalised; the names and defaults of Kaldi's apply-cmvn. `skip_dims` ("13:14") stay as they are."""

    norm_means: bool = True
    norm_vars: bool = False
    skip_dims: str = ""


def apply(features, stats, options=None, name="features"):
    """Normalise: y = (x - mean) with `norm_means`, y = (x - mean) / standard deviation with `norm_vars` too.

    Parameters
    ----------
    features : array (T, D)
        Features of one utterance.
    stats : array (2, D + 1)
        Statistics of its speaker (or of itself).
    options : CmvnOptions, optional
        Means alone by default.
    name : str
        Utterance or speaker, for messages.

    Returns
    -------
    float32 array (T, D)
        A coefficient of variance 0 becomes 0, not infinite: the variance is floored at 1e-20.

    Raises
    ------
    PymavgError
        When the sizes do not fit, or there are statistics of no frame.
    """
    options = options or CmvnOptions()
    if not options.norm_means:
        if options.norm_vars:
            raise PymavgError("--norm-vars=true needs --norm-means=true")
        return np.asarray(features, np.float32)
    dim = features.shape[1]
    if stats.shape not in ((2, dim + 1), (1, dim + 1)) or (options.norm_vars and len(stats) < 2):
        found = " x ".join(map(str, stats.shape))
        raise PymavgError(
            f"{name}: CMVN statistics are {found}, 2 x {dim + 1} expected for features of {dim} dimensions; "
            "run steps/compute_cmvn_stats.sh on this data directory again"
        )
    count = stats[0, -1]
    if not count >= 1:
        raise PymavgError(f"{name}: CMVN statistics of {count:g} frames; at least 1 expected")
    mean = stats[0, :-1] / count
    scale = np.ones(dim)
    if options.norm_vars:
        variance = stats[1, :-1] / count - mean**2
        scale = 1 / np.sqrt(np.maximum(variance, VARIANCE_FLOOR))
    skipped = _dims(options.skip_dims, dim)
    mean[skipped], scale[skipped] = 0, 1
    return ((features - mean) * scale).astype(np.float32)  # in float64: one frame minus itself is 0 exactly


def _dims(text, dim):
    try:
        dims = [int(word) for word in text.split(":") if word]
    except ValueError:
        dims = [-1]
    if any(not 0 <= d < dim for d in dims):
        raise PymavgError(f"--skip-dims={text}: dimensions from 0 to {dim - 1} with colons between expected")
    return dims
