"""The benchmark's measures on tiny networks, and its verdicts."""

import pytest
from toy_corpus import make

from pymavg.decoding import benchmark as decoder_benchmark
from pymavg.errors import PymavgError
from pymavg.nnet.benchmark import Measure, rbm_measures, step_measures
from pymavg.tools import bench
from pymavg.training import accuracy_benchmark, ranks_benchmark


def test_measures_of_steps_and_rbms():
    found = [*step_measures([12, 10, 10, 5], (16,)), *rbm_measures(9, (8,))]
    assert [m.name for m in found] == ["sgd/products 16", "sgd/torch 16", "ngsgd/sgd time 16", "rbm/products 8"]
    assert all(m.figure is None or m.figure > 0 for m in found)
    assert all(m.frames_per_second > 0 for m in found)


def test_measures_of_two_ranks():
    found = list(ranks_benchmark.measures([12, 10, 5], 16, 2, 2))
    assert [m.bound for m in found] == [0.95, 0.02]
    assert all(m.figure is None or (m.figure > 0 and m.frames_per_second > 0) for m in found)
    assert found[1].figure is None or found[1].figure < 1


def test_measures_of_time_to_accuracy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(accuracy_benchmark, "HIDDEN", [12])
    monkeypatch.setattr(accuracy_benchmark, "MINIBATCH", 16)
    *folders, _ = make(tmp_path)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr("pymavg.nnet.benchmark.is_busy", lambda: False)
    words = [f"--{name.replace('_', '-')}={folder}" for name, folder in zip(bench.DATA, folders, strict=True)]
    assert bench.main(["--only=accuracy", "--frames=600", *words]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0].split()[0] for line in lines] == ["sgd"] * 2 + ["ngsgd"] * 2 + ["torch"] * 2
    assert 600 <= float(lines[0][1]) / accuracy_benchmark.EPOCHS <= 700
    assert all(line[2] == "-" and line[3] in ("ok", "skipped") for line in lines)
    assert bench.main(["--only=accuracy", *words[:3], "--ali-cv=nowhere"]) == 0
    told = capsys.readouterr()
    assert "skipped" in told.out and "nowhere is not there" in told.err


@pytest.mark.parametrize(
    ("figure", "bound", "at_most", "busy", "verdict"),
    [
        (0.95, 0.9, False, False, "ok"),
        (0.8, 0.9, False, False, "short"),
        (0.8, 0.9, False, True, "busy"),
        (0.8, 0.9, True, False, "ok"),
        (1.3, 0.9, True, False, "short"),
        (None, 0.9, True, False, "skipped"),
        (3.0, None, True, False, "ok"),
    ],
)
def test_verdict(figure, bound, at_most, busy, verdict):
    assert Measure("name", figure, bound, at_most).verdict(busy) == verdict


def test_line():
    assert Measure("a b", 0.91234, 0.9, False, 1234.4).line(False) == "a b\t0.912\t>=0.9\tok\t1234"
    assert Measure("a", 150000.0, None, True).line(False) == "a\t150000\t-\tok\t0"
    assert Measure("a", 0.5, 0.9, False, busy=True).line(False) == "a\t0.500\t>=0.9\tbusy\t0"


def test_decoder_finds_kaldi_decoders_words_in_generated_input():
    pytest.importorskip("kaldi_decoder")
    (measure,) = decoder_benchmark.measures(words=30, frames=60)
    assert measure.name == "decoder/kaldi-decoder time" and measure.figure > 0


def test_mistakes_are_told(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    with pytest.raises(PymavgError, match="set OPENBLAS_NUM_THREADS=1"):
        bench.main([])
    with pytest.raises(PymavgError, match="--only speed: expected some of steps,rbm"):
        bench.main(["--only=speed"])
