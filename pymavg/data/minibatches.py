"""The order in which a worker visits the frames of its shard."""

import numpy as np

from pymavg.errors import PymavgError


def generator(seed, *numbers):
    """Return NumPy's random generator for (seed, epoch, worker, …): nothing has to be kept to resume."""
    return np.random.default_rng([seed, *numbers])


def frame_order(rng, starts, minibatch_size, randomizer_size):
    """Return the rows of a block in training order.

    Parameters
    ----------
    rng : numpy.random.Generator or None
        None leaves the order as it is.
    starts : int (U + 1,)
        First row of each utterance, then the number of rows.
    minibatch_size : int
    randomizer_size : int
        Frames that are shuffled together; 0 for all of the block.

    Returns
    -------
    rows : int32 (F,)

    Notes
    -----
    Utterances come in random order; whole ones fill a pool of at least `randomizer_size` frames, the pool is permuted,
    full minibatches leave it and the rest waits in front for the next filling (Kaldi's nnet-train-frmshuff, which
    takes the utterances in the order of its list).
    """
    total = int(starts[-1])
    if rng is None:
        return np.arange(total, dtype=np.int32)
    if randomizer_size == 0 or total <= randomizer_size:
        return rng.permutation(total).astype(np.int32)
    done, pool, size = [], [], 0
    for utterance in rng.permutation(len(starts) - 1):
        pool.append(np.arange(starts[utterance], starts[utterance + 1], dtype=np.int32))
        size += len(pool[-1])
        if size >= randomizer_size:
            rows = rng.permutation(np.concatenate(pool))
            full = size - size % minibatch_size
            done.append(rows[:full])
            pool, size = [rows[full:]], size - full
    return np.concatenate([*done, rng.permutation(np.concatenate(pool))]) if pool else np.concatenate(done)


def minibatch_count(frames, minibatch_size, drop_last):
    """Return how many minibatches `frames` frames make."""
    return frames // minibatch_size if drop_last else -(-frames // minibatch_size)


def partition(lengths, workers):
    """Spread utterances over workers so that the frames balance.

    The longest first, each to the worker with the fewest frames so far (distribute_scp.pl of Su and Chen).

    Parameters
    ----------
    lengths : dict utterance -> frames
    workers : int

    Returns
    -------
    shards : list of `workers` sorted lists of utterances; some are empty when there are fewer utterances
    """
    load = np.zeros(workers, dtype=np.int64)
    shards = [[] for _ in range(workers)]
    for utterance in sorted(lengths, key=lambda u: (-lengths[u], u)):
        worker = int(load.argmin())
        shards[worker].append(utterance)
        load[worker] += lengths[utterance]
    return [sorted(shard) for shard in shards]


def partition_into_blocks(lengths, order, budget):
    """Cut utterances in the given order into consecutive blocks of at most `budget` frames.

    Raises
    ------
    PymavgError
        When one utterance alone is larger.
    """
    blocks, size = [[]], 0
    for utterance in order:
        frames = lengths[utterance]
        if frames > budget:
            raise PymavgError(f"utterance {utterance} has {frames} frames, --memory-budget holds {budget}; raise it")
        if size + frames > budget:
            blocks.append([])
            size = 0
        blocks[-1].append(utterance)
        size += frames
    return [block for block in blocks if block]
