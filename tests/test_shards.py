import numpy as np
import pytest

from pymavg.data.minibatches import frame_order, generator, minibatch_count, partition, partition_into_blocks
from pymavg.data.shards import Epoch, Shard, names_of
from pymavg.errors import PymavgError

LENGTHS = {f"u{i:02d}": n for i, n in enumerate([7, 30, 11, 25, 3, 18, 40, 9, 16, 21])}
FRAMES = sum(LENGTHS.values())


class Source:
    """Features whose first column names the utterance and whose second counts frames."""

    def __init__(self):
        self.reads = []

    def get(self, utterance):
        self.reads.append(utterance)
        n = LENGTHS[utterance] + 2  # more frames than labels: cut at the end
        return np.stack([np.full(n, float(utterance[1:])), np.arange(n)], axis=1).astype(np.float32)


def shard(budget=0):
    labels = {u: (np.arange(n) % 5).astype(np.int32) for u, n in LENGTHS.items()}
    return Shard(Source(), sorted(LENGTHS), LENGTHS, labels, np, 2, budget)


def visit(epoch):
    """Return the frames visited, as sorted (utterance, frame), after checking bounds and targets."""
    seen, sizes = [], []
    while epoch.left:
        block, rows = epoch.take()
        sizes.append(len(rows))
        names, times = block.feats[rows].T.astype(int)
        assert np.array_equal(block.targets[rows], times % 5)
        assert np.array_equal(block.feats[block.first[rows]].T, [names, np.zeros(len(rows))])
        assert np.array_equal(block.feats[block.last[rows], 1], [LENGTHS[f"u{n:02d}"] - 1 for n in names])
        seen += list(zip(names.tolist(), times.tolist(), strict=True))
    return seen, sizes


ALL = sorted((int(u[1:]), t) for u, n in LENGTHS.items() for t in range(n))
SMALL = 24 * 2 * 45  # bytes for two blocks of 45 frames of 2 float32 and 3 int32


@pytest.mark.parametrize("budget", [0, SMALL])
@pytest.mark.parametrize("randomizer_size", [0, 50])
def test_an_epoch_visits_every_frame_once(budget, randomizer_size):
    seen, sizes = visit(Epoch(shard(budget), (1, 2, 3), 16, randomizer_size))
    assert sorted(seen) == ALL
    assert seen != ALL
    assert set(sizes[:2]) == {16}


def test_drop_last_drops_only_the_last_partial_minibatch():
    seen, sizes = visit(Epoch(shard(), (1, 2, 3), 16, drop_last=True))
    assert sizes == [16] * (FRAMES // 16)
    assert len(set(seen)) == FRAMES - FRAMES % 16


def test_without_shuffling_the_order_is_that_of_the_shard():
    seen, _ = visit(Epoch(shard(), None, 16))
    assert seen == ALL


@pytest.mark.parametrize("budget", [0, SMALL])
def test_an_epoch_resumed_anywhere_goes_on_alike(budget):
    whole, _ = visit(Epoch(shard(budget), (5, 1, 0), 16, 50))
    total = Epoch(shard(budget), (5, 1, 0), 16, 50).total
    for done in range(total + 1):
        ahead = Epoch(shard(budget), (5, 1, 0), 16, 50)
        skipped = sum(len(ahead.take()[1]) for _ in range(done))
        rest, _ = visit(Epoch(shard(budget), (5, 1, 0), 16, 50, done=done))
        assert rest == whole[skipped:]


def test_epochs_and_workers_have_their_own_order():
    orders = [visit(Epoch(shard(), numbers, 16))[0] for numbers in ((1, 1, 0), (1, 2, 0), (1, 1, 1), (1, 1, 0))]
    assert orders[0] == orders[3]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_streaming_reads_each_utterance_once_an_epoch_and_no_more_than_one_block_ahead():
    streamed = shard(SMALL)
    assert not streamed.fits
    epoch = Epoch(streamed, (1, 1, 1), 16)
    epoch.take()
    assert len(streamed.source.reads) < len(LENGTHS)
    visit(epoch)
    assert sorted(streamed.source.reads) == sorted(LENGTHS)


def test_an_error_of_the_reading_thread_reaches_the_trainer():
    streamed = shard(SMALL)
    streamed.source.get = lambda u: np.full((99, 2), np.nan, np.float32)
    with pytest.raises(PymavgError, match="frame 0 holds nan, no feature"):
        visit(Epoch(streamed, (1, 1, 1), 16))


def test_features_that_do_not_fit_are_named():
    bad = shard()
    bad.source.get = lambda u: np.zeros((5, 2), np.float32)
    with pytest.raises(PymavgError, match="u00: 5 frames read, 7 expected"):
        Epoch(bad, None, 16).take()
    bad.source.get = lambda u: np.zeros((99, 3), np.float32)
    with pytest.raises(PymavgError, match="u00: features of dimension 3, expected 2"):
        Epoch(bad, None, 16).take()


def test_utterances_of_rows():
    block, _ = Epoch(shard(), None, 16).take()
    assert names_of(block.utterances, block.starts, np.array([0, 6, 7, FRAMES - 1])) == ["u00", "u01", "u09"]


def test_an_empty_shard_has_no_minibatches():
    empty = Shard(Source(), [], LENGTHS, {}, np, 2)
    assert Epoch(empty, (1, 1, 1), 16).left == 0


def test_pool_holds_whole_utterances_and_keeps_the_rest():
    starts = np.cumsum([0, *[10] * 20])
    order = frame_order(generator(3), starts, 16, 40)
    assert sorted(order) == list(range(200))
    first = set(order[:32] // 10)  # 40 frames of 4 utterances fill the pool, 32 of them leave it
    assert len(first) == 4
    assert len({*first, *(order[32:40] // 10)}) > 4


def test_minibatch_count():
    assert [minibatch_count(33, 16, drop) for drop in (True, False)] == [2, 3]
    assert minibatch_count(0, 16, False) == 0


def test_partition_balances_frames_and_leaves_nothing_out():
    for workers in (1, 2, 3, 20):
        parts = partition(LENGTHS, workers)
        assert sorted(sum(parts, [])) == sorted(LENGTHS)
        loads = [sum(LENGTHS[u] for u in part) for part in parts]
        if workers <= 3:
            assert max(loads) - min(loads) <= 6
    assert [] in partition(LENGTHS, 20)


def test_an_utterance_larger_than_the_budget_is_named():
    with pytest.raises(PymavgError, match="u06 has 40 frames"):
        partition_into_blocks(LENGTHS, sorted(LENGTHS), 39)
