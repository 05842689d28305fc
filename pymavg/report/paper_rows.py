"""What the rows of local/paper/run.sh left: settings, frame scores, word errors; and the table results.tsv of them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from pymavg.decoding.reference import read_stm
from pymavg.decoding.sweep import Point
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.report.frame_scores import read_frame_scores

DECODED = "decode_eval2000"
SETTINGS = ("workers", "optimizer", "init", "period", "average_period", "minibatch", "minibatch_size", "schedule")
MORE_SETTINGS = ("reduce_type", "learn_rate", "lr_scaling", "extra", "averages", "cpu_seconds", "diverged")


@dataclass
class Row:
    """One training: a conf file and a seed.

    Attributes
    ----------
    conf : str
        Name of conf/paper/CONF.conf.
    seed : int
    settings : dict str -> str
        As local/paper/row.sh writes them; `period` and `minibatch` are the paper's, `average_period` and
        `minibatch_size` what they were scaled to.
    frames : dict utterance -> frame_scores.FrameScore
        On the CV part.
    errors : dict part -> dict segment -> (errors, words)
        On the evaluation set; empty where the row is not decoded.
    """

    conf: str
    seed: int
    settings: dict
    frames: dict
    errors: dict = field(default_factory=dict)

    @property
    def loss(self):
        """CV loss per frame."""
        return sum(s.loss for s in self.frames.values()) / sum(s.frames for s in self.frames.values())

    @property
    def accuracy(self):
        """CV frame accuracy in %."""
        return 100 * sum(s.correct for s in self.frames.values()) / sum(s.frames for s in self.frames.values())

    @property
    def cpu_seconds(self):
        """CPU time of the training, or None where it is not told."""
        found = re.fullmatch(r"[0-9.]+", self.settings["cpu_seconds"])
        return float(found[0]) if found else None

    def wer(self, part):
        """Word error rate of a part in %, or None."""
        counts = self.errors.get(part)
        return 100 * sum(e for e, _ in counts.values()) / sum(w for _, w in counts.values()) if counts else None

    @property
    def words(self):
        """Words of the reference."""
        return sum(w for counts in self.errors.values() for _, w in counts.values())


def read_rows(paper):
    """Return the whole rows of a directory of local/paper/run.sh, those of workers 1 first.

    Raises
    ------
    PymavgError
        When there are none, or a file of one is malformed.
    """
    rows = [_read_row(path.parent) for path in sorted(Path(paper).glob("*/[0-9]*/row.tsv"))]
    if not rows:
        raise PymavgError(f"{paper}: no row is whole yet; run local/paper/run.sh first")
    return sorted(rows, key=lambda r: (r.conf.rpartition("_")[0], int(r.settings["workers"]), r.conf, r.seed))


def _read_row(folder):
    settings = dict(line.split("\t", 1) for line in read_lines(folder / "row.tsv"))
    missing = [name for name in (*SETTINGS, *MORE_SETTINGS) if name not in settings]
    if missing:
        raise PymavgError(f"{folder}/row.tsv: no line '{missing[0]}'; remove the file and run local/paper/run.sh again")
    row = Row(folder.parent.name, int(folder.name), settings, read_frame_scores(folder / "frames.tsv"))
    if (folder / DECODED / "scoring" / "wer.txt").exists():
        row.errors = read_errors(folder / DECODED)
    return row


def read_errors(decode):
    """Return {part: {segment: (errors, words)}} of a decode directory, from sclite's alignments (.pra)."""
    decode = Path(decode)
    lmwt, penalty, _ = read_lines(decode / "scoring" / "chosen.tsv")[0].split("\t")
    folder = decode / f"score_{Point(int(lmwt), float(penalty))}"
    found = list(folder.glob("*.pra"))
    if not found:
        raise PymavgError(f"{folder}: no *.ctm.filt.pra; score with sclite (apt-get install sctk)")
    parts = {file.lower(): part for file, part in read_stm(decode / "scoring" / "stm.filt").parts.items()}
    return parse_alignments(found[0].read_text(encoding="utf-8", errors="surrogateescape"), parts)


def parse_alignments(text, parts):
    """Return {part: {segment: (errors, words)}} of sclite's report of alignments.

    Parameters
    ----------
    text : str
    parts : dict str -> str
        File in lower case -> part of the test set.
    """
    errors = {}
    for block in re.split(r"^id: ", text, flags=re.MULTILINE)[1:]:
        segment = block.split("\n", 1)[0].strip("() ")
        file = re.search(r"^File: *(\S+)", block, re.MULTILINE)
        counts = re.search(r"^Scores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)", block, re.MULTILINE)
        correct, substituted, deleted, inserted = map(int, counts.groups())
        words = correct + substituted + deleted
        errors.setdefault(parts[file[1].lower()], {})[segment] = (substituted + deleted + inserted, words)
    return errors


def parts_of(rows):
    """Return the names of the parts of the evaluation set."""
    return sorted({part for row in rows for part in row.errors})


def write_results(path, rows):
    """Write results.tsv: a line for each row and seed."""
    parts = parts_of(rows)
    head = ["conf", "seed", *SETTINGS, *MORE_SETTINGS, "cv_loss", "cv_accuracy", *(f"wer_{p}" for p in parts), "words"]
    with atomic_open(path) as stream:
        stream.write("\t".join(head) + "\n")
        for row in rows:
            values = [row.conf, row.seed, *(row.settings[name] for name in (*SETTINGS, *MORE_SETTINGS))]
            values += [f"{row.loss:.4f}", f"{row.accuracy:.2f}"]
            values += ["" if row.wer(part) is None else f"{row.wer(part):.2f}" for part in parts]
            stream.write("\t".join(map(str, [*values, row.words or ""])) + "\n")
