"""Statistics for building trees: one Gaussian for each phone in context and pdf class seen in training.

An event has N + 1 keys: the phones of its window and, last, the pdf class. Sources: Kaldi's hmm/tree-accu.cc and
tree/clusterable-classes.cc.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.arrays import load_arrays, save_arrays
from pymavg.kaldi.gmm import LOG_2PI
from pymavg.kaldi.tree import PDF_CLASS

ABSENT = -1  # stands where a phone without context has no neighbour
VARIANCE_FLOOR = 0.01


@dataclass
class TreeStats:
    """Sums over the frames of n distinct events.

    Attributes
    ----------
    keys : int32 (n, N + 1)
        Phones of the window (0 outside the utterance, -1 where a neighbour does not matter), then the pdf class.
    sums : float64 (n, 1 + 2 D)
        Frames, Σ x, Σ x².
    """

    keys: np.ndarray
    sums: np.ndarray

    def events(self):
        """Return the dict key -> column of values that pymavg.kaldi.tree's nodes take."""
        width = self.keys.shape[1] - 1
        return {k: self.keys[:, k] for k in range(width)} | {PDF_CLASS: self.keys[:, width]}

    def save(self, path):
        """Write to an .npz file."""
        save_arrays(path, keys=self.keys, sums=self.sums)


def load_tree_stats(paths):
    """Return the TreeStats of several files as one."""
    parts = [load_arrays(path, ("keys", "sums"), "tree statistics") for path in paths]
    shape = [array.shape[1] for array in parts[0]]
    for path, part in zip(paths, parts, strict=True):
        if [array.shape[1] for array in part] != shape:
            raise PymavgError(f"{path}: dimensions differ from those of {paths[0]}; accumulate again")
    return merge(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def merge(keys, sums):
    """Return TreeStats with one row for each distinct row of `keys`, in order."""
    keys, group = distinct_rows(keys)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(keys)))
    return TreeStats(keys, np.add.reduceat(sums[order], starts, axis=0))


def distinct_rows(rows):
    """Return (distinct rows in order, index of each row among them) of an integer matrix, faster than np.unique."""
    low, high = rows.min(0), rows.max(0)
    code = np.ravel_multi_index((rows - low).T, high - low + 1)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    return rows[first], group


def frame_windows(transitions, alignments, width, central):
    """Return the window of phones around each frame of some alignments, int32 (frames in all, width).

    Parameters
    ----------
    transitions : TransitionModel
    alignments : list of int32 arrays (T,)
        Transition-ids of each utterance.
    width, central : int
        Shape of the window; outside the utterance the phone is 0.
    """
    before, after = np.zeros(central, np.int32), np.zeros(width - 1 - central, np.int32)
    windows, lengths = [], []
    for tids in alignments:
        starts, ends, phones = np.array(transitions.split_to_phones(tids), np.int32).reshape(-1, 3).T
        padded = np.concatenate([before, phones, after])
        windows.append(np.lib.stride_tricks.sliding_window_view(padded, width))
        lengths.append(ends - starts)
    return np.repeat(np.concatenate(windows), np.concatenate(lengths), axis=0)


def tid_pdf_class(transitions):
    """Return the pdf class of each transition-id, int32 (num_tids + 1,)."""
    classes = [
        transitions.topology.states(phone)[state].forward_class for phone, state, *_ in transitions.tuples.tolist()
    ]
    return np.array([-1] + classes, np.int32)[transitions.tid_tstate]


def frame_keys(transitions, alignments, independent, width, central):
    """Return the event of each frame of some alignments, int32 (frames in all, width + 1).

    Parameters
    ----------
    transitions, alignments, width, central
        As for `frame_windows`.
    independent : int array
        Phones whose neighbours do not matter.
    """
    windows = frame_windows(transitions, alignments, width, central)
    alone = np.isin(windows[:, central], independent)
    windows[np.ix_(alone, np.arange(width) != central)] = ABSENT
    return np.column_stack([windows, tid_pdf_class(transitions)[np.concatenate(alignments)]])


def accumulate_tree_stats(keys, feats):
    """Return the TreeStats of frames with events `keys` (T, N + 1) and features `feats` (T, D)."""
    feats = np.asarray(feats, np.float64)
    return merge(keys, np.concatenate([np.ones((len(feats), 1)), feats, feats**2], axis=1))


def gaussian_loglike(sums):
    """Return the log-likelihood of frames under their own Gaussian, by rows of `sums` (…, 1 + 2 D).

    −½ n Σ_d (log 2π σ_d² + v_d / σ_d²), v the variance, σ² = max(v, 0.01); 0 without frames (GaussClusterable::Objf).
    """
    dim = (sums.shape[-1] - 1) // 2
    n = np.maximum(sums[..., 0], 1e-10)[..., None]
    v = sums[..., 1 + dim :] / n - (sums[..., 1 : 1 + dim] / n) ** 2
    floored = np.maximum(v, VARIANCE_FLOOR)
    return -0.5 * sums[..., 0] * (np.log(floored).sum(-1) + (v / floored).sum(-1) + LOG_2PI * dim)
