"""The report: what it holds, names that want to be markup, no resource from elsewhere, how it looks in a browser."""

import html.parser
import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from pymavg.cli import main
from pymavg.decoding.wer import Counts
from pymavg.errors import PymavgError
from pymavg.report import charts
from pymavg.report.drawing import COLOURS, label, svg
from pymavg.report.page import make
from pymavg.report.rates import read_rates
from pymavg.report.runs import find_experiments, read_runs, short_names
from pymavg.report.speed import own_speed_ups
from pymavg.training.progress import KINDS

HOSTILE = "_<script>alert('x')<script> $\\frac{a|b}$ \"&amp;' ü"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def write_training(exp, workers=2, name="train", epochs=3, command="pymavg train <b>"):
    """Write what a training leaves, as far as the report reads it."""
    (exp / "log").mkdir(parents=True)
    config = {"workers": workers, "seed": 7, "learn_rate": 0.1 * workers, "data": [1, 2], "note": HOSTILE}
    about = {"command": command, "commit": "abc123", "machine": "a machine", "hosts": ["h"], "seed": 7}
    lines = [{"event": "run", "time": 0, "config": config, "workers": workers, "continued": False, **about}]
    for epoch in range(1, epochs + 1):
        seconds = {kind: [1.0 + k] * workers for k, kind in enumerate(KINDS)}
        values = {"train_loss": 3 / epoch, "cv_loss": 3.1 / epoch, "train_accuracy": 9.0, "cv_accuracy": 8.0}
        if name == "pretrain_dbn":
            values = {"layer": 1, "error": 1 / epoch}
        values |= {"epoch": epoch, "learn_rate": 0.1, "frames_per_second": 50.0 * workers, "accepted": epoch != 2}
        lines.append({"event": "epoch", "time": epoch, "seconds": seconds, **values})
    (exp / "log" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return exp


def write_scores(decode, counts=(40, 3, 2, 1), utterances=20):
    """Write what a plain scoring leaves."""
    scoring = decode / "scoring"
    scoring.mkdir(parents=True)
    words, sub, dele, ins = counts
    row = [5, 0.0, "all", "x", sub + dele + ins, words, sub, dele, ins]
    (scoring / "sweep.tsv").write_text("# plain WER\nlmwt\tpenalty\n" + "\t".join(map(str, row)) + "\n")
    (scoring / "chosen.tsv").write_text("5\t0.0\tchosen on <i>dev</i>\n")
    each = [(f"u{i}", 1 if i < sub + dele + ins else 0, words // utterances) for i in range(utterances)]
    (scoring / "utterances.tsv").write_text("".join("\t".join(map(str, e)) + "\n" for e in each))


@pytest.fixture(scope="module")
def exp(tmp_path_factory):
    """Return an experiment directory with two trainings and pretraining, one of them with a hostile name."""
    tmp_path = tmp_path_factory.mktemp("report")
    write_training(tmp_path / "exp" / "dnn_1", 1)
    write_training(tmp_path / "exp" / HOSTILE.replace("/", ""), 2)
    write_training(tmp_path / "exp" / "pre", 2, "pretrain_dbn")
    write_training(tmp_path / "exp" / "smbr", 2, "train_sequence")
    write_scores(tmp_path / "exp" / "dnn_1" / "decode_eval2000")
    (tmp_path / "exp" / "other").mkdir()
    return tmp_path / "exp"


@pytest.fixture(scope="module")
def made(exp):
    """Return the directory with the report on `exp`, made by the command."""
    assert main(["report", "--output", str(exp.parent / "r.html"), "--command", "./run.sh", str(exp)]) == 0
    return exp.parent


class Page(html.parser.HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_the_page_holds_everything_and_needs_nothing_else(made):
    written = {path.name for path in made.glob("r[.-]*")}
    assert written == {
        "r.html",
        "r-curves.png",
        "r-pretraining.png",
        "r-sequence.png",
        "r-time.png",
        "r-scaling.png",
        "r.md",
    }
    text = (made / "r.html").read_text()
    page = Page(text)
    for told in ("dnn_1", "15.00", "5.00 to 25.00", "abc123", "a machine", "pymavg train <b>", "./run.sh", "seed"):
        assert told in page.text, told
    for told in ("nats per frame", "% of the frames", "epoch", "paper, all-reduce", "workers (N)"):
        assert told in page.text, told
    assert HOSTILE in page.text  # as text,
    assert not {"script", "i", "b", "link", "iframe", "img", "object"} & set(page.tags)  # and not as markup
    assert page.tags.count("svg") == 5
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("href", "xlink:href", "src") or value.startswith("#")
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src 'none'" in text
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_markdown_and_pngs(made):
    text = (made / "r.md").read_text()
    assert "| dnn\\_1 | DNN | 1 | 3 |" in text and "| 15.00 | 5.00 to 25.00 |" in text
    assert "a\\|b" in text and "<" not in text.replace("pymavg train <b>", "")  # a command stands as it is, indented
    assert "![Learning curves](r-curves.png)" in text
    assert (made / "r-time.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_read(exp):
    runs = read_runs(find_experiments([exp]))
    assert {(run.kind, run.workers) for run in runs} == {
        ("train", 1),
        ("train", 2),
        ("pretrain_dbn", 2),
        ("train_sequence", 2),
    }
    (rate,) = read_rates(find_experiments([exp]))
    assert rate.counts == Counts(40, 3, 2, 1) and rate.utterances == 20 and rate.low < rate.counts.wer < rate.high
    assert own_speed_ups(runs) == [(runs[0].name, 2, 2.0)] or own_speed_ups(runs) == [(runs[1].name, 2, 2.0)]
    alone = [run for run in runs if run.workers == 2 and run.kind == "train"]
    ((name, workers, speed_up),) = own_speed_ups(alone)
    assert name.endswith("(by time shares)") and workers == 2 and speed_up == pytest.approx(2 * 3 / 15)


def test_the_command_in_the_log_is_the_one_shown(exp):
    log = exp / "dnn_1" / "log" / "train.log"
    log.write_text("# Running on h\n# pymavg launch --num-workers 1 train\n#\n")
    (run,) = read_runs([exp / "dnn_1"])
    assert run.command == "pymavg launch --num-workers 1 train"
    log.unlink()


def test_charts_are_well_formed_with_colours_that_show_on_light_and_dark(exp):
    runs = read_runs(find_experiments([exp]))
    for draw in (charts.learning_curves, charts.pretraining, charts.sequence_training, charts.time_breakdown):
        text = svg(draw(runs), "x")
        ElementTree.fromstring(text.replace("xlink:", ""))
        assert "currentColor" in text and "#010203" not in text and "<metadata" not in text
    for colour in COLOURS:
        assert min(contrast(colour, page) for page in ("#ffffff", "#15181c")) >= 3.0, colour


def contrast(one, other):
    """Return the contrast of two colours as WCAG 2 has it; 3 is what charts need."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_labels():
    assert label("_x") == " _x" and label("a\x00\x1bb") == "a\ufffd\ufffdb"
    assert len(label("y" * 200)) <= 49


def test_what_cannot_be_reported_is_told(tmp_path, capsys):
    with pytest.raises(PymavgError, match="no such directory"):
        make([tmp_path / "none"], tmp_path / "r.html")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PymavgError, match="neither a training's log"):
        make([tmp_path / "empty"], tmp_path / "r.html")
    write_training(tmp_path / "begun", epochs=0)
    with pytest.raises(PymavgError, match="no whole epoch"):
        make([tmp_path / "begun"], tmp_path / "r.html")
    assert main(["report", "--output", "r.pdf", str(tmp_path / "begun")]) == 1
    assert "ends in .html" in capsys.readouterr().err
    assert not list(tmp_path.glob("r*"))


def test_a_damaged_experiment_is_left_out_and_named(tmp_path, capsys):
    for name in ("good", "cut", "other", "words", "binary"):
        write_training(tmp_path / name)
    log = {name: tmp_path / name / "log" / "train.jsonl" for name in ("cut", "other", "words", "binary")}
    log["cut"].write_text(log["cut"].read_text()[:-40])  # as a crash leaves it: the epochs before count
    log["other"].write_text(log["other"].read_text().replace('"wait"', '"idle"'))
    log["words"].write_text(log["words"].read_text().replace('"cv_loss": ', '"cv_loss": "x", "was": '))
    log["binary"].write_bytes(b"\xff\x00")
    write_scores(tmp_path / "good" / "decode_a")
    write_scores(tmp_path / "good" / "decode_b")
    (tmp_path / "good" / "decode_b" / "scoring" / "chosen.tsv").write_text("")
    assert main(["report", "--output", str(tmp_path / "r.html"), str(tmp_path)]) == 0
    error, text = capsys.readouterr().err, (tmp_path / "r.html").read_text()
    for told in (
        "other/log/train.jsonl: record 1",
        "words/log/train.jsonl",
        "binary/log",
        "decode_b/scoring/chosen.tsv",
    ):
        assert told in error and text.count(told) == 1, told
    assert "cut/log" not in error and "<td>cut<td>DNN" in text and "<td>decode_a<td>" in text
    with pytest.raises(PymavgError, match="another version"):
        make([tmp_path / "other"], tmp_path / "r2.html")
    assert not list(tmp_path.glob("r2*"))


def test_alignments_that_are_cut_off_give_no_interval(tmp_path):
    write_scores(tmp_path / "exp" / "decode")
    utterances = tmp_path / "exp" / "decode" / "scoring" / "utterances.tsv"
    utterances.write_text("".join(utterances.read_text().splitlines(True)[:10]))
    (rate,) = read_rates([tmp_path / "exp"])
    assert rate.counts.wer == 15.0 and rate.low is None


def test_a_training_that_went_on_with_other_ranks(tmp_path):
    log = write_training(tmp_path / "exp", 1) / "log" / "train.jsonl"
    more = write_training(tmp_path / "more", 3) / "log" / "train.jsonl"
    log.write_text(log.read_text() + more.read_text().replace('"continued": false', '"continued": true'))
    (run,) = read_runs([tmp_path / "exp"])
    assert run.ranks == 3 and run.seconds[:, 1].tolist() == [12.0, 6.0, 6.0]


def test_names_are_as_long_as_it_takes(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("a/0", "b/0", "b/1", "c")]
    assert list(short_names(paths).values()) == ["a/0", "b/0", "1", "c"]
    monkeypatch.chdir(tmp_path)
    assert list(short_names([Path()]).values()) == [tmp_path.name]


def test_experiments_come_in_the_order_of_their_numbers(tmp_path):
    for workers in (16, 8, 1):
        write_training(tmp_path / f"dnn_{workers}", workers)
    assert [p.name for p in find_experiments([tmp_path])] == ["dnn_1", "dnn_8", "dnn_16"]


def browse(page, profile, width, *words):
    """Load a page in headless Chromium; return its standard output, and what the console said."""
    switches = ("disable-quic", "no-first-run", "disable-background-networking", "disable-component-update")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *(f"--{s}" for s in switches), "--disable-sync"]
    command += [f"--user-data-dir={profile}", f"--window-size={width},2000", "--enable-logging=stderr", *words]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")
def test_a_browser_shows_it(made, tmp_path):
    _, console = browse(made / "r.html", tmp_path / "profile", 1000, f"--screenshot={tmp_path}/shot.png")
    assert not console
    with Image.open(tmp_path / "shot.png") as image:
        assert image.size == (1000, 2000)
        assert len(image.convert("RGB").getcolors(1 << 24)) > 100  # not an empty page
        top = image.crop((0, 0, 1000, 200)).convert("L")
        assert top.getextrema()[0] < 100 < top.getextrema()[1]


MEASURE = """<script>addEventListener("load", () => {
  const boxes = found => [...document.querySelectorAll(found)].map(one => one.getBoundingClientRect())
  parent.postMessage(JSON.stringify({
    inside: innerWidth, content: document.documentElement.scrollWidth,
    charts: boxes("figure svg").map(box => [box.width, box.height]),
    text: Math.min(...boxes("figure svg text").map(box => box.height)),
  }), "*")
})</script>"""
FRAME = """<!DOCTYPE html><title>a window of any width</title><body>
<script>addEventListener("message", told => { document.body.textContent = told.data })</script>
<iframe src="measured.html" width="WIDTH" height="2000" style="border: 0"></iframe>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_sticks_out_of_a_wide_or_a_narrow_window(made, tmp_path, width):
    text = (made / "r.html").read_text()
    policy = re.search(r"<meta http-equiv=.*?>", text)[0]  # which keeps every script out
    (tmp_path / "measured.html").write_text(text.replace(policy, MEASURE))
    (tmp_path / "frame.html").write_text(FRAME.replace("WIDTH", str(width)))
    out, _ = browse(tmp_path / "frame.html", tmp_path / "profile", 1400, "--dump-dom")
    size = json.loads(re.search(r"<body>({.*})</body>", out)[1])
    assert size["inside"] == width and size["content"] <= width
    assert len(size["charts"]) == 5
    for wide, high in size["charts"]:
        assert wide >= 600 and high >= 150  # in a narrow window a chart scrolls, and stays readable
    assert size["text"] >= 9  # pixels
