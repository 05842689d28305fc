"""The scaling model: the paper's table, its formulas, planning, and real runs beside it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.errors import PymavgError
from pymavg.simulate import paper, planning
from pymavg.simulate.measured import calibrate, read_measured
from pymavg.simulate.networks import ALL_REDUCE, NETWORKS, Network
from pymavg.simulate.scaling import LOSSES, Loss, Training, expected_largest, predict, waiting
from pymavg.training.progress import KINDS
from pymavg.training.records import read_records

TRAINING = Training(frames=1e6, frames_per_second=1000, parameter_bytes=4e6, minibatch=500, period=4)
LINK = Network(latency=1e-3, bandwidth=1e8)


def test_the_papers_table_is_met_within_ten_percent_by_preset_and_by_a_fit_on_few_workers(capsys):
    rows = paper.check()
    kinds = {row.what for row in rows}
    assert {row.workers for row in rows if row.what == "all-reduce: speed-up"} == {2, 4, 8, 16, 32}
    assert kinds >= {"all-reduce: speed-up", "all-reduce: MPI, minutes", "butterfly: speed-up"}
    assert max(abs(e) for row in rows for e in row.errors) <= 0.10
    assert main(["scaling", "--check-paper"]) == 0
    assert "within 10%" in capsys.readouterr().out


def test_a_model_that_is_off_is_told_with_status_1(monkeypatch, capsys):
    monkeypatch.setitem(LOSSES, "k20-fdr", Loss())
    assert main(["scaling", "--check-paper"]) == 1
    assert "more than 10%" in capsys.readouterr().out


def test_the_fit_finds_the_numbers_behind_a_table():
    loss, training = Loss(1.2, 50.0, 0.1), paper.TRAINING
    network = NETWORKS["k20-fdr"]
    table = {n: predict(training, network, loss, n) for n in (2, 4, 8)}
    found, bandwidth = paper.fit({n: (p.seconds / 60, p.averaging / 60) for n, p in table.items()})
    assert np.allclose([found.slowdown, found.fixed_seconds, found.jitter], [1.2, 50, 0.1], rtol=1e-6)
    assert bandwidth == pytest.approx(network.copy_bandwidth)


def test_reductions_cost_what_the_formulas_say():
    size = 8e6
    seconds = {a: replace(LINK, algorithm=a).reduce_seconds(size, 4) for a in ALL_REDUCE}
    assert seconds["ring"] == pytest.approx(6 * (1e-3 + 0.02))
    assert seconds["halving"] == pytest.approx(4e-3 + 0.12)
    assert seconds["doubling"] == pytest.approx(2 * (1e-3 + 0.08))
    assert LINK.reduce_seconds(size, 4, "butterfly") == pytest.approx(1e-3 + 0.08)
    assert LINK.reduce_seconds(size, 1) == 0
    nodes = replace(LINK, workers_per_node=2, inner_bandwidth=1e9)
    assert nodes.reduce_seconds(size, 4) == pytest.approx(2 * (1e-3 + 0.004) + 2 * (1e-3 + 0.04))
    assert nodes.reduce_seconds(size, 2) == pytest.approx(2 * (1e-3 + 0.004))


def test_waiting_is_the_expected_largest_of_normal_numbers():
    assert expected_largest(2) == pytest.approx(1 / np.sqrt(np.pi), abs=5e-3)
    assert expected_largest(3) == pytest.approx(1.5 / np.sqrt(np.pi), abs=5e-3)
    assert waiting(32, "butterfly") < waiting(32)


def test_without_losses_and_network_it_is_n_times_as_fast():
    free = Network(latency=0.0, bandwidth=1e30)
    for workers in (1, 3, 1024):
        assert predict(TRAINING, free, Loss(), workers).speed_up == pytest.approx(workers)


def test_uneven_shards_longer_periods_and_overlap():
    even, uneven = (predict(TRAINING, LINK, Loss(uneven=u), 4) for u in (0.0, 0.2))
    assert uneven.seconds == pytest.approx(1.2 * even.seconds)
    assert uneven.wait == pytest.approx(0.2 * 250)
    longer = predict(replace(TRAINING, period=8), LINK, Loss(), 4)
    assert longer.reduce == pytest.approx(even.reduce / 2)
    assert predict(TRAINING, LINK, Loss(), 4, overlap=True).reduce == 0  # hidden behind two seconds of computing
    slow = replace(LINK, bandwidth=1e6)
    hidden, shown = predict(TRAINING, slow, Loss(), 4, overlap=True), predict(TRAINING, slow, Loss(), 4)
    assert hidden.reduce == pytest.approx(shown.reduce - 250)
    assert even.efficiency == pytest.approx(even.speed_up / 4) and 0 < even.share < 1


def test_a_plan_takes_the_fewest_workers_and_says_what_they_cost(capsys):
    found = planning.plans(TRAINING, LINK, Loss(), epochs=10, hours=0.5)
    assert found[0].period == 4
    assert predict(TRAINING, LINK, Loss(), found[0].workers).seconds * 10 <= 1800
    assert predict(TRAINING, LINK, Loss(), found[0].workers - 1).seconds * 10 > 1800
    assert main(["scaling", "--target-hours", "5", "--price", "2"]) == 0
    first = capsys.readouterr().out.splitlines()[2].split()
    assert float(first[-1]) == pytest.approx(2 * float(first[3]), rel=0.01)
    assert main(["scaling", "--target-hours", "0.01"]) == 1
    assert "at best" in capsys.readouterr().err
    butterfly = planning.plans(TRAINING, LINK, Loss(), 10, 0.5, "butterfly")
    assert all(p.workers & (p.workers - 1) == 0 for p in butterfly)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--network", "fdr"], "did you mean k20-fdr"),
        (["--bandwidth", "0"], "more than 0"),
        (["--jitter", "-1"], "0 or more"),
        (["--algorithm", "star"], "expected one of ring"),
        (["--reduce-type", "star"], "expected one of allreduce"),
        (["--check-runs", "one"], "at least two"),
        (["--target-hours", "0"], "more than 0"),
        (["--target-hours", "2", "--price", "-1"], "0 or more"),
        (["--frames", "nan"], "needs a number"),
        (["--exp", "none"], "none/log/train.jsonl: no such file"),
    ],
)
def test_wrong_options_are_told_in_one_line(words, told, capsys):
    assert main(["scaling", *words]) == 1
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def write_log(exp, workers, seconds, shares, period=4, frames=100_000):
    """Write the log of a training of two epochs."""
    config = {"average_frames": 0, "minibatch_size": 500, "average_period": period}
    run = {
        "event": "run",
        "time": 1.0,
        "workers": workers,
        "config": config,
        "parameter_bytes": 4e6,
        "continued": False,
    }
    kinds = {kind: [share * seconds] * workers for kind, share in zip(KINDS, shares, strict=True)}
    epoch = {"event": "epoch", "time": 2.0, "frames": frames, "elapsed": seconds, "seconds": kinds}
    (exp / "log").mkdir(parents=True)
    lines = [run, {**epoch, "elapsed": 5 * seconds}, epoch]  # the first epoch loads and compiles
    (exp / "log" / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(exp)


def test_real_runs_beside_the_model(tmp_path, capsys):
    one = write_log(tmp_path / "1", 1, 100.0, (0, 1, 0, 0, 0))
    two = write_log(tmp_path / "2", 2, 60.0, (0.05, 0.85, 0, 0.05, 0.05))
    network, loss = calibrate(read_measured(one), read_measured(two))
    assert loss.slowdown == pytest.approx(0.9 * 60 / 50)
    assert network.bandwidth == pytest.approx(4e6 / (0.05 * 60 / 25))
    longer = write_log(tmp_path / "3", 2, 55.0, (0.05, 0.9, 0, 0.02, 0.03), period=8)
    assert main(["scaling", "--check-runs", f"{one} {two} {longer}"]) == 0
    assert "+0.0%" in capsys.readouterr().out
    wrong = write_log(tmp_path / "4", 2, 90.0, (0.05, 0.9, 0, 0.02, 0.03))
    assert main(["scaling", "--check-runs", f"{one} {two} {wrong}"]) == 1
    with pytest.raises(PymavgError, match="expected 1, then several"):
        calibrate(read_measured(two), read_measured(one))
    assert main(["scaling", "--check-runs", f"{two} {longer}"]) == 0
    assert "no run of one worker" in capsys.readouterr().out
    assert main(["scaling", "--exp", two]) == 0
    assert "10gbe" in capsys.readouterr().out  # not the paper's cluster, with its three minutes an epoch


def test_a_plan_with_hardly_an_average_is_told(capsys):
    few = ["--frames", "1e6", "--network", "10gbe", "--epochs", "1", "--target-hours"]
    assert main(["scaling", *few, "0.001"]) == 0
    assert "Fewer than 20 averages" in capsys.readouterr().out
    assert main(["scaling", *few, "1"]) == 0  # one worker will do
    out = capsys.readouterr().out
    assert "Fewer" not in out and out.splitlines()[2].split()[1:] == ["1", "0.05", "0.0", "-", "-"]


def test_a_log_is_read_from_its_last_beginning_and_may_be_cut_off(tmp_path):
    path = tmp_path / "train.jsonl"
    run = '{"event": "run", "time": 1, "continued": %s}\n'
    path.write_text('{"event": "epoch", "time": 0}\n' + run % "false" + run % "true" + '{"event": "epo')
    assert [r["event"] for r in read_records(path)] == ["run", "run"]
    path.write_text("nonsense\n" + run % "false")
    with pytest.raises(PymavgError, match="train.jsonl:1: not a record"):
        read_records(path)
