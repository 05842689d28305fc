"""Soft targets: posteriors of a few classes for each frame, kept sparse until a minibatch needs them."""

import re
from dataclasses import dataclass

import numpy as np

from pymavg.backend import to_device
from pymavg.errors import PymavgError
from pymavg.kaldi.rspecifier import parse_rspecifier
from pymavg.kaldi.tables import Scp, read_archive

ENTRY = np.dtype([("class_size", "u1"), ("class", "<i4"), ("weight_size", "u1"), ("weight", "<f4")])
ROUNDING = 0.01  # by which the posteriors of a frame may miss 1 and still mean it


@dataclass
class Posteriors:
    """Posteriors of the T frames of an utterance; frame t has entries offsets[t] up to offsets[t + 1].

    Attributes
    ----------
    offsets : int64 (T + 1,)
    classes : int32 (E,)
    shares : float32 (E,)
        Of each frame that has any, they sum to 1.
    """

    offsets: np.ndarray
    classes: np.ndarray
    shares: np.ndarray

    def __len__(self):
        return len(self.offsets) - 1

    def cut(self, frames):
        """Return the first frames only."""
        return Posteriors(self.offsets[: frames + 1], self.classes, self.shares)

    def max(self):
        """Return the largest class."""
        return int(self.classes.max(initial=0))

    def counts(self, num_classes, weights):
        """Return the sum of shares of each class, each frame times its weight, float64 (num_classes,)."""
        end = self.offsets[-1]
        each = self.shares[:end] * np.repeat(weights, np.diff(self.offsets))
        return np.bincount(self.classes[:end], each, num_classes)

    def tobytes(self):
        """Return all of it as bytes, for check sums."""
        return self.offsets.tobytes() + self.classes.tobytes() + self.shares.tobytes()

    def padded(self, width):
        """Return (classes int32, shares float32), each (T, width): short frames repeat their last entry."""
        places = self.offsets[:-1, None] + np.minimum(np.arange(width), np.diff(self.offsets)[:, None] - 1)
        places = np.clip(places, 0, max(0, len(self.classes) - 1))
        filled = np.diff(self.offsets)[:, None] > 0
        return np.where(filled, self.classes[places], 0), np.where(filled, self.shares[places], 0)


class SoftTargets:
    """Posteriors of a block's frames on the device; indexing with rows gives the dense ones of a minibatch.

    Parameters
    ----------
    utterances : list of Posteriors
    num_classes : int
    xp : module
    """

    def __init__(self, utterances, num_classes, xp):
        width = max(1, max(int(np.diff(p.offsets).max(initial=0)) for p in utterances))
        classes, shares = zip(*(p.padded(width) for p in utterances), strict=True)
        self.classes = to_device(xp, np.concatenate(classes), np.int32)
        self.shares = to_device(xp, np.concatenate(shares), np.float32)
        self.num_classes, self.xp = num_classes, xp

    def __getitem__(self, rows):
        """Return float32 (N, num_classes) of N rows."""
        dense = self.xp.zeros((len(rows), self.num_classes), self.xp.float32)
        dense[self.xp.arange(len(rows))[:, None], self.classes[rows]] = self.shares[rows]
        return dense


def read_posteriors(rspecifier):
    """Read an archive or scp of posteriors, binary or text (Kaldi's hmm/posterior.cc).

    Parameters
    ----------
    rspecifier : str
        Such as "ark:gunzip -c post.*.gz |".

    Returns
    -------
    labels : dict utterance -> Posteriors; or int32 (T,) for all where no frame has more than one class
    weights : dict utterance -> float32 (T,)
        The sum of a frame's posteriors: 1 as a rule, 0 for a frame without any.

    Raises
    ------
    PymavgError
        Naming the utterance whose posteriors are negative, not finite, or damaged.
    """
    kind, place = parse_rspecifier(rspecifier)
    table = Scp(place, _read).items() if kind == "scp" else read_archive(place, _read)
    labels, weights = {}, {}
    for utterance, frames in table:
        if utterance in labels:
            raise PymavgError(f"{rspecifier}: utterance {utterance} comes twice")
        labels[utterance], weights[utterance] = _normalise(frames, f"{rspecifier}: utterance {utterance}")
    if all(np.diff(p.offsets).max(initial=0) <= 1 for p in labels.values()):
        labels = {u: p.padded(1)[0][:, 0].astype(np.int32) for u, p in labels.items()}
    return labels, weights


def _read(reader):
    """Return [entries of a frame: (classes, weights)] of one utterance."""
    if not reader.binary:
        line = reader.source.line()
        frames = re.findall(rb"\[([^][]*)\]", line)
        try:
            if b"".join(line.split()) != b"".join(b"[%b]" % b"".join(frame.split()) for frame in frames):
                raise ValueError
            return [_text_entries(frame.split()) for frame in frames]
        except ValueError:
            raise reader.error("posteriors '[ class weight ... ] ...' expected, found other text") from None
    frames = []
    for _ in range(reader.int32()):
        entries = reader.source.array(ENTRY, (max(0, reader.int32()),), "posteriors")
        if np.any(entries["class_size"] != 4) or np.any(entries["weight_size"] != 4):
            raise reader.error("a class and a weight of 4 bytes each expected; the file is damaged")
        frames.append((entries["class"], entries["weight"]))
    return frames


def _text_entries(words):
    if len(words) % 2:
        raise ValueError
    return np.array([int(w) for w in words[::2]], np.int32), np.array([float(w) for w in words[1::2]], np.float32)


def _normalise(frames, place):
    """Return (Posteriors, weights of the frames)."""
    counts = [len(classes) for classes, _ in frames]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    classes = np.concatenate([np.zeros(0, np.int32), *(c for c, _ in frames)])
    values = np.concatenate([np.zeros(0), *(w for _, w in frames)]).astype(np.float64)
    if not np.all(np.isfinite(values)) or values.min(initial=0) < 0 or classes.min(initial=0) < 0:
        raise PymavgError(f"{place}: classes and posteriors of at least 0 expected, found others")
    frame = np.repeat(np.arange(len(frames)), counts)
    if len(np.unique(np.stack([frame, classes]), axis=1).T) < len(classes):
        raise PymavgError(f"{place}: a frame names a class twice; add up its posteriors")
    sums = np.bincount(frame, values, len(frames))
    shares = values / np.where(sums > 0, sums, 1.0)[frame]
    weights = np.where(np.abs(sums - 1) <= ROUNDING, 1.0, sums).astype(np.float32)
    return Posteriors(offsets, classes.astype(np.int32), shares.astype(np.float32)), weights
