import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.training.averaging import Averager
from pymavg.training.combination import AveragingOptions
from pymavg.training.communicator import CHUNK_BYTES, Local, chunks
from pymavg.training.progress import Clock

SIZE = 1000


def averager(count, **options):
    rng = np.random.default_rng(3)
    start = rng.normal(size=SIZE).astype(np.float32)
    thetas = [start.copy() for _ in range(count)]
    return Averager(Local(), np, thetas, AveragingOptions(**options), Clock()), rng


def move(thetas, rng):
    for theta in thetas:
        theta += rng.normal(size=SIZE).astype(np.float32)


def test_average_is_weighted_by_frames():
    mean, rng = averager(3)
    move(mean.thetas, rng)
    frames = np.array([512, 256, 100])
    expected = (frames[:, None] * np.array(mean.thetas, dtype=np.float64)).sum(axis=0) / frames.sum()
    mean.average(frames, 0)
    for theta in mean.thetas:
        np.testing.assert_allclose(theta, expected, rtol=3e-6, atol=1e-6)
        assert np.array_equal(theta, mean.thetas[0])


def test_a_finished_worker_has_no_weight_but_gets_the_average():
    mean, rng = averager(3)
    move(mean.thetas, rng)
    expected = (mean.thetas[0].astype(float) + mean.thetas[1]) / 2
    mean.average([256, 256, 0], 0)
    np.testing.assert_allclose(mean.thetas[2], expected, rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 32])
def test_averaging_equal_models_changes_at_most_the_last_bit(count):
    mean, _ = averager(count)
    before = mean.thetas[0].copy()
    mean.average([256] * count, 0)
    assert np.all(np.abs(mean.thetas[-1] - before) <= np.spacing(np.abs(before)))
    if count in (1, 2, 32):
        np.testing.assert_array_equal(mean.thetas[0], before)


def test_one_worker_is_left_alone_bit_for_bit():
    mean, rng = averager(1)
    move(mean.thetas, rng)
    before = mean.thetas[0].copy()
    mean.average([77], 0)
    mean.synchronise([77])
    np.testing.assert_array_equal(mean.thetas[0], before)


def test_no_frames_no_change():
    mean, rng = averager(2)
    move(mean.thetas, rng)
    before = [t.copy() for t in mean.thetas]
    mean.average([0, 0], 0)
    assert all(np.array_equal(a, b) for a, b in zip(mean.thetas, before, strict=True))


@pytest.mark.parametrize("nesterov", [False, True])
def test_block_momentum_against_its_formulas(nesterov):
    eta, zeta = 0.75, 1.5
    mean, rng = averager(4, block_momentum=eta, block_learn_rate=zeta, block_nesterov=nesterov)
    block, delta = mean.thetas[0].astype(float), np.zeros(SIZE)
    for _ in range(5):
        move(mean.thetas, rng)
        gain = np.mean([t.astype(float) for t in mean.thetas], axis=0) - block
        delta = eta * delta + zeta * gain
        block = block + delta
        mean.average([256] * 4, 0)
        np.testing.assert_allclose(mean.model, block, atol=2e-5)
        np.testing.assert_allclose(mean.thetas[3], block + eta * delta if nesterov else block, atol=2e-5)


def test_moving_average_is_kept_aside():
    mean, rng = averager(2, ema_decay=0.9)
    expected = mean.thetas[0].astype(float)
    for _ in range(4):
        move(mean.thetas, rng)
        mean.average([256, 256], 0)
        expected = 0.9 * expected + 0.1 * mean.thetas[0]
        np.testing.assert_allclose(mean.ema, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["butterfly", "ring", "hoppingring"])
def test_gossip_spreads_to_the_mean_and_ends_in_an_all_reduce(kind):
    mean, rng = averager(4, reduce_type=kind)
    move(mean.thetas, rng)
    target = np.mean([t.astype(float) for t in mean.thetas], axis=0)
    spread = [np.ptp(mean.thetas, axis=0).max()]
    for _ in range(2):
        mean.average([256] * 4, 0)
        spread.append(np.ptp(mean.thetas, axis=0).max())
        np.testing.assert_allclose(np.mean(mean.thetas, axis=0), target, atol=1e-5)
    assert spread[1] < spread[0]
    assert spread[2] < 1e-5 if kind == "butterfly" else spread[2] < spread[1]  # two rounds of butterfly reach all of 4
    mean.synchronise([1000, 1000, 1000, 1000])
    assert all(np.array_equal(t, mean.thetas[0]) for t in mean.thetas)
    np.testing.assert_allclose(mean.thetas[0], target, atol=1e-5)


def test_serial_start_takes_one_worker_after_the_other():
    mean, rng = averager(3, average_start=10_000)
    for turn in (0, 1, 2, 0):
        move(mean.thetas, rng)
        chosen = mean.thetas[turn].copy()
        mean.average([256] * 3, 5_000)
        assert all(np.array_equal(t, chosen) for t in mean.thetas)
    move(mean.thetas, rng)
    expected = np.mean(mean.thetas, axis=0)
    mean.average([256] * 3, 10_000)
    np.testing.assert_allclose(mean.thetas[0], expected, atol=1e-6)


def test_overlap_applies_each_average_one_period_late():
    mean, rng = averager(2, overlap=True)
    move(mean.thetas, rng)
    first = [t.astype(float) for t in mean.thetas]
    mean.average([256, 256], 0)
    assert np.array_equal(mean.thetas[0], first[0].astype(np.float32))  # nothing applied yet
    move(mean.thetas, rng)
    steps = [t - f for t, f in zip(mean.thetas, first, strict=True)]
    mean.finish_pending()
    for theta, step in zip(mean.thetas, steps, strict=True):
        np.testing.assert_allclose(theta, np.mean(first, axis=0) + step, atol=1e-5)


def test_overlapping_average_in_flight_survives_a_checkpoint():
    one, rng = averager(2, overlap=True)
    move(one.thetas, rng)
    one.average([256, 128], 0)
    other, _ = averager(2, overlap=True)
    for theta, source in zip(other.thetas, one.thetas, strict=True):
        theta[:] = source
    common, workers = one.state()
    other.load_state(common, workers)
    for each in (one, other):
        move(each.thetas, np.random.default_rng(9))
        each.finish_pending()
    assert all(np.array_equal(a, b) for a, b in zip(one.thetas, other.thetas, strict=True))


def test_momenta():
    mean, rng = averager(2, average_momentum="average")
    momenta = [np.full(SIZE, 2.0, np.float32), np.full(SIZE, 4.0, np.float32)]
    mean.momenta(momenta, [300, 100])
    np.testing.assert_allclose(momenta[1], 2.5, rtol=1e-6)
    mean, rng = averager(2, average_momentum="reset")
    mean.momenta(momenta, [300, 100])
    assert not momenta[0].any()


@pytest.mark.parametrize(
    ("options", "workers", "told"),
    [
        ({"reduce_type": "gather"}, 2, "expected one of allreduce, butterfly"),
        ({"reduce_type": "butterfly"}, 3, "power of two"),
        ({"reduce_type": "ring", "block_momentum": 0.5}, 2, "--block-momentum"),
        ({"block_momentum": 1.0}, 2, "expected 0 <= value < 1"),
        ({"overlap": True, "average_start": 5}, 2, "--overlap"),
        ({"average_momentum": "lose"}, 2, "keep, average or reset"),
    ],
)
def test_contradictory_options_are_refused(options, workers, told):
    with pytest.raises(PymavgError, match=told):
        AveragingOptions(**options).check(workers)


def test_chunks_cover_the_array_below_the_limit(monkeypatch):
    assert CHUNK_BYTES < 2**31
    monkeypatch.setattr("pymavg.training.communicator.CHUNK_BYTES", 64)
    array = np.arange(50, dtype=np.float32)
    parts = list(chunks(array))
    assert max(p.nbytes for p in parts) <= 64
    np.testing.assert_array_equal(np.concatenate(parts), array)
