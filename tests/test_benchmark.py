"""The benchmark's measures on a tiny network, and its verdicts."""

import pytest

from pymavg.errors import PymavgError
from pymavg.nnet.benchmark import Measure, measures
from pymavg.tools import bench


def test_all_measures():
    found = list(measures((16,), (8,), [12, 10, 10, 5], 9))
    assert [m.name for m in found] == ["sgd/products 16", "sgd/torch 16", "ngsgd/sgd time 16", "rbm/products 8"]
    assert all(m.figure is None or m.figure > 0 for m in found)
    assert all(m.frames_per_second > 0 for m in found)


@pytest.mark.parametrize(
    ("figure", "at_most", "busy", "verdict"),
    [
        (0.95, False, False, "ok"),
        (0.8, False, False, "short"),
        (0.8, False, True, "busy"),
        (0.8, True, False, "ok"),
        (1.3, True, False, "short"),
        (None, True, False, "skipped"),
    ],
)
def test_verdict(figure, at_most, busy, verdict):
    assert Measure("name", figure, 0.9, at_most).verdict(busy) == verdict


def test_threads_are_checked(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    with pytest.raises(PymavgError, match="set OPENBLAS_NUM_THREADS=1"):
        bench.main([])
