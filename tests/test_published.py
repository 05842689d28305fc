"""The table with the published figures beside ours."""

import pytest

from pymavg.cli import main
from pymavg.decoding.hypotheses import Point
from pymavg.decoding.sweep import write_sweep
from pymavg.decoding.wer import Counts
from pymavg.report.published import COLUMNS, PUBLISHED, comparison, phase


def scored(exp, system, data, **parts):
    folder = exp / system / f"decode_{data}_sw1_tg" / "scoring"
    write_sweep(folder / "sweep.tsv", {Point(11, 0.5): parts}, "sclite")
    (folder / "chosen.tsv").write_text("11\t0.5\tchosen on exp/dev\n")


@pytest.fixture
def exp(tmp_path):
    scored(tmp_path, "dnn", "eval2000", swbd=Counts(1000, 100, 30, 20), callhm=Counts(1000, 200, 50, 20))
    scored(tmp_path, "dnn", "eval2001", swbd1=Counts(100, 10), swbd2phase3=Counts(100, 20), cellular=Counts(100, 30))
    scored(tmp_path, "mono", "eval2000", swbd=Counts(1000, 500))
    return tmp_path


def test_rows_stand_beside_the_published_ones(exp, capsys):
    table = comparison(exp)
    assert "| dnn | Su and Chen, 16 GPU | 15.1 | 27.0 | – | 16.2 | 21.7 | 27.4 |" in table
    assert "| dnn | ours | 15.0 | 27.0 | 21.0 | 10.0 | 20.0 | 30.0 |" in table
    assert "| dnn | Kaldi s5c, nnet1 | 14.6 | – | – | – | – | – |" in table
    assert "| mono | ours | 50.0 | – | 50.0 | – | – | – |" in table
    words = ["results-table", "--published", "true", "--markdown", str(exp / "R.md"), str(exp)]
    assert main(words) == 0
    assert table in (exp / "R.md").read_text()
    assert main([w for w in words if w not in ("--published", "true")]) == 0
    assert "Su and Chen" not in (exp / "R.md").read_text()


def test_every_row_has_no_more_than_the_columns():
    assert all(len(values) <= len(COLUMNS) for rows in PUBLISHED.values() for _, values in rows)
    assert [phase(name) for name in ("swbd1", "Switchboard2Phase3", "swbcell")] == ["swbd", "swb2p3", "swbcell"]
