"""A worker's share of the data: whole utterances, unspliced, in device memory where they fit.

A shard larger than the memory budget is read in blocks of whole utterances, the next block while the present one is
trained on.
"""

import queue
import threading
from dataclasses import dataclass

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.data.minibatches import frame_order, generator, minibatch_count, partition_into_blocks
from pymavg.data.posteriors import Posteriors, SoftTargets
from pymavg.errors import PymavgError

LARGEST_VALUE = 1e10
BYTES_BESIDE_FEATURES = 12  # first and last row of the utterance, and the target: int32 each


def check_values(utterance, feats):
    """Return `feats` (T, D) when every value can be one of a feature.

    Raises
    ------
    PymavgError
        Naming utterance and frame of a value that is nan, infinite or absurd.
    """
    sane = np.abs(feats) <= LARGEST_VALUE  # false for nan, too
    if not sane.all():
        row, column = np.argwhere(~sane)[0]
        value = feats[row, column]
        raise PymavgError(f"utterance {utterance}: frame {row} holds {value:g}, no feature; compute the features again")
    return feats


@dataclass
class Block:
    """Frames of whole utterances on the device, one utterance after the other.

    Attributes
    ----------
    feats : xp float (F, D)
        Before splicing.
    first, last : xp int32 (F,)
        For each frame, the first and last row of its utterance: where context windows end.
    targets : xp int32 (F,), or posteriors.SoftTargets, or None
    weights : xp float32 (F,) or None
        Of the frames; None where all that are trained on have weight 1.
    used : int32 (U',) or None
        The rows of weight above 0, on the host; None for all. nnet1 takes the others out, too.
    utterances : list of str
    starts : int64 (U + 1,)
        First row of each utterance, then F; on the host.
    """

    feats: object
    first: object
    last: object
    targets: object
    utterances: list
    starts: np.ndarray
    weights: object = None
    used: np.ndarray | None = None

    def order(self, rng, minibatch_size, randomizer_size):
        """Return the rows in training order, int32 on the host."""
        if self.used is None:
            return frame_order(rng, self.starts, minibatch_size, randomizer_size)
        starts = np.searchsorted(self.used, self.starts)
        return self.used[frame_order(rng, starts, minibatch_size, randomizer_size)]


def names_of(utterances, starts, rows):
    """Return the names of those of a block's utterances that some rows belong to; waits for the device."""
    index = np.unique(np.searchsorted(starts, to_host(rows), side="right") - 1)
    return [utterances[i] for i in index]


def used_frames(lengths, weights):
    """Return {utterance: frames of weight above 0}; `weights` None stands for 1 everywhere."""
    if weights is None:
        return lengths
    return {u: int(np.count_nonzero(weights[u][:n])) for u, n in lengths.items()}


class Shard:
    """The utterances of one worker.

    Parameters
    ----------
    source : object with get(utterance) -> float32 (T, D)
    utterances : list of str
    lengths : dict utterance -> frames to use
    labels : dict utterance -> int32 (T,) or posteriors.Posteriors; or None
    xp : module
    dim : int
        D of the features.
    budget : int
        Bytes of device memory for features; 0 for no limit.
    dtype : dtype
        float32, or float16 to hold twice as much.
    weights : dict utterance -> float32 (T,), or None
        Of the frames; those of weight 0 are context only.
    num_classes : int
        Columns of soft targets.

    Attributes
    ----------
    frames, stored : int
        Frames to train on; frames in memory.
    """

    def __init__(
        self, source, utterances, lengths, labels, xp, dim, budget=0, dtype=np.float32, weights=None, num_classes=0
    ):
        self.source, self.labels, self.xp, self.dim, self.dtype = source, labels, xp, dim, np.dtype(dtype)
        self.utterances, self.lengths, self.weights, self.num_classes = utterances, lengths, weights, num_classes
        self.used = used_frames({u: lengths[u] for u in utterances}, weights)
        self.frames, self.stored = (sum(n[u] for u in utterances) for n in (self.used, lengths))
        per_frame = dim * self.dtype.itemsize + BYTES_BESIDE_FEATURES
        held = budget // per_frame if budget else self.stored
        self.fits = held >= self.stored
        self.block_frames = max(1, held // 2)  # two blocks are in memory: one in use, one being read
        self._whole = None

    def load(self, utterances):
        """Read some utterances into a Block."""
        starts = np.concatenate([[0], np.cumsum([self.lengths[u] for u in utterances])]).astype(np.int64)
        feats = np.empty((int(starts[-1]), self.dim), dtype=self.dtype)
        for utterance, start, end in zip(utterances, starts[:-1], starts[1:], strict=True):
            feats[start:end] = self._features(utterance, end - start)
        lengths = np.diff(starts)
        first, last = np.repeat(starts[:-1], lengths), np.repeat(starts[1:] - 1, lengths)
        xp = self.xp
        return Block(
            to_device(xp, feats),
            to_device(xp, first, np.int32),
            to_device(xp, last, np.int32),
            self._targets(utterances),
            list(utterances),
            starts,
            *self._weights(utterances),
        )

    def _targets(self, utterances):
        if self.labels is None:
            return None
        labels = [(self.labels[u], self.lengths[u]) for u in utterances]
        if labels and isinstance(labels[0][0], Posteriors):
            return SoftTargets([posteriors.cut(n) for posteriors, n in labels], self.num_classes, self.xp)
        return to_device(self.xp, np.concatenate([np.zeros(0, np.int32), *(pdfs[:n] for pdfs, n in labels)]), np.int32)

    def _weights(self, utterances):
        """Return (weights on the device or None, used rows or None)."""
        if self.weights is None:
            return None, None
        weights = np.concatenate([np.zeros(0, np.float32), *(self.weights[u][: self.lengths[u]] for u in utterances)])
        used = np.flatnonzero(weights).astype(np.int32)
        equal = np.all(weights[used] == 1)
        return None if equal else to_device(self.xp, weights, np.float32), used

    def _features(self, utterance, frames):
        """Return the features of one utterance, checked."""
        feats = self.source.get(utterance)
        if feats.shape[1] != self.dim:
            raise PymavgError(f"utterance {utterance}: features of dimension {feats.shape[1]}, expected {self.dim}")
        if len(feats) < frames:
            raise PymavgError(
                f"utterance {utterance}: {len(feats)} frames read, {frames} expected; utt2num_frames is out of date, "
                "run utils/fix_data_dir.sh"
            )
        return check_values(utterance, feats)[:frames]

    def plan(self, rng):
        """Return the blocks of an epoch as lists of utterances: one list when the shard fits into memory."""
        if self.fits:
            return [self.utterances]
        order = self.utterances if rng is None else [self.utterances[i] for i in rng.permutation(len(self.utterances))]
        return partition_into_blocks(self.lengths, order, self.block_frames)

    def blocks(self, plan):
        """Yield the planned Blocks; those of a large shard are read ahead by a thread."""
        if self.fits:
            if self._whole is None:
                self._whole = self.load(self.utterances)
            yield self._whole
        else:
            yield from read_ahead(self.load, plan)

    def epoch(self, numbers, minibatch_size, randomizer_size=0, drop_last=False, done=0):
        """Return one pass over this shard, an Epoch."""
        return Epoch(self, numbers, minibatch_size, randomizer_size, drop_last, done)


def read_ahead(load, plan):
    """Yield load(p) for each p of the plan, one ahead of its use."""
    ready, taken = queue.Queue(), threading.Semaphore(1)
    stop = threading.Event()

    def read():
        for part in plan:
            taken.acquire()
            if stop.is_set():
                return
            try:
                ready.put((load(part), None))
            except BaseException as error:  # handed to the consumer, who raises it
                ready.put((None, error))
                return

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        for _ in plan:
            block, error = ready.get()
            if error is not None:
                raise error
            taken.release()
            yield block
            del block
    finally:
        stop.set()
        taken.release()


class Epoch:
    """One pass over a shard in minibatches, from any of them on.

    Parameters
    ----------
    shard : Shard
    numbers : (seed, epoch, worker)
        Decide the order; None for the order of the shard.
    minibatch_size, randomizer_size : int
    drop_last : bool
        Leave out the last, partial minibatch (nnet1's way).
    done : int
        Minibatches to skip, as after a resumed checkpoint.
    """

    def __init__(self, shard, numbers, minibatch_size, randomizer_size=0, drop_last=False, done=0):
        self.shard, self.numbers = shard, numbers
        self.size, self.randomizer_size = minibatch_size, randomizer_size
        self.plan = [p for p in shard.plan(generator(*numbers) if numbers else None) if p]
        frames = [sum(shard.used[u] for u in part) for part in self.plan]
        last = len(frames) - 1  # only the end of the epoch may be dropped, not the end of a block
        self.counts = [minibatch_count(n, minibatch_size, drop_last and i == last) for i, n in enumerate(frames)]
        self.total = sum(self.counts)
        self.done = done
        self._batches = self._iterate(done)

    @property
    def left(self):
        """Minibatches to come."""
        return self.total - self.done

    def take(self):
        """Return the next minibatch: (Block, rows int32 on the device)."""
        self.done += 1
        return next(self._batches)

    def _iterate(self, skip):
        plan, counts = list(enumerate(self.plan)), list(self.counts)
        while plan and skip >= counts[0]:  # blocks before the resumed place are not even read
            skip -= counts.pop(0)
            plan.pop(0)
        for (index, _), block, count in zip(plan, self.shard.blocks([p for _, p in plan]), counts, strict=True):
            rng = generator(*self.numbers, 1 + index) if self.numbers else None
            order = block.order(rng, self.size, self.randomizer_size)
            rows = to_device(self.shard.xp, order)
            for i in range(skip, count):
                yield block, rows[i * self.size : (i + 1) * self.size]
            skip = 0
