"""Normalisation by the frames around each frame, instead of by a speaker's.

Source: Kaldi's feat/feature-functions.cc (SlidingWindowCmn), featbin/apply-cmvn-sliding.cc.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError

VARIANCE_FLOOR = 1e-10  # Kaldi's


@dataclass(frozen=True)
class SlidingOptions:
    """The names and defaults of Kaldi's apply-cmvn-sliding; windows in frames.

    Without `center` a window ends with its frame, and has one frame more than `cmn_window`; near the beginning it has
    `min_cmn_window` frames.
    """

    cmn_window: int = 600
    min_cmn_window: int = 100
    center: bool = False
    norm_vars: bool = False

    HELP = {  # noqa: RUF012
        "cmn_window": "frames that are averaged",
        "min_cmn_window": "frames of the first windows, without --center true",
        "center": "whether the frame stands in the middle of its window; else at its end",
        "norm_vars": "whether to divide by the standard deviation",
    }

    def check(self):
        """Refuse options that leave a frame without window."""
        if self.cmn_window < 1:
            raise PymavgError(f"--cmn-window: at least 1 expected, got {self.cmn_window}")
        if self.min_cmn_window < 1:
            raise PymavgError(f"--min-cmn-window: at least 1 expected, got {self.min_cmn_window}")


def windows(num_frames, options):
    """Return (first frames, last frames + 1) of the windows of `num_frames` frames, both (num_frames,).

    A window that would reach beyond an end is moved, and cut where there are too few frames.
    """
    t = np.arange(num_frames)
    if options.center:
        first = np.maximum(t - options.cmn_window // 2, 0)
        end = first + options.cmn_window
    else:
        first = np.maximum(t - options.cmn_window, 0)
        end = np.maximum(t + 1, options.min_cmn_window)
    beyond = np.maximum(end - num_frames, 0)
    return np.maximum(first - beyond, 0), end - beyond


def apply(features, options=None):
    """Subtract from each frame of `features` (T, D) its window's mean; divide by the deviation with `norm_vars`.

    Returns
    -------
    float32 array (T, D)
        Variances are floored at 1e-10; in a window of a single frame all is 0.
    """
    options = options or SlidingOptions()
    options.check()
    x = np.asarray(features, np.float64)
    first, end = windows(len(x), options)
    count = (end - first)[:, None]

    def average(values):
        """Return the means of the windows: differences of running sums."""
        sums = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(values, axis=0)])
        return (sums[end] - sums[first]) / count

    mean = average(x)
    y = x - mean
    if options.norm_vars:
        around = x - x.mean(axis=0)  # the variance of small numbers keeps its digits
        variance = average(around**2) - average(around) ** 2
        y = np.where(count > 1, y / np.sqrt(np.maximum(variance, VARIANCE_FLOOR)), 0.0)
    return y.astype(np.float32)
