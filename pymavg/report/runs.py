"""Reading what trainings and scorings leave in experiment directories."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pymavg.decoding.wer import Counts
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.report.paired import contrast
from pymavg.report.paper_rows import read_errors
from pymavg.report.results import ORDER, read_result
from pymavg.training.progress import KINDS
from pymavg.training.records import read_records

LOGS = {"pretrain_dbn": "RBM pretraining", "train": "DNN", "train_sequence": "sequence training"}
SETTINGS = {"pretrain_dbn": "pretrain.json", "train": "train.json", "train_sequence": "train.json"}
UTTERANCES = "utterances.tsv"


@dataclass
class Run:
    """One training.

    Attributes
    ----------
    path : Path
        Experiment directory.
    name : str
    kind : str
        A key of LOGS.
    epochs : list of dict
        The records of its epochs; see progress.Progress.summary.
    about : dict
        The record of its start: command, commit, machine, seed, …; empty for a log without it.
    settings : dict
    """

    path: Path
    name: str
    kind: str
    epochs: list
    about: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)

    @property
    def workers(self):
        """Number of workers, virtual ones too."""
        return self.settings.get("workers", self.ranks)

    @property
    def ranks(self):
        """Number of processes."""
        return len(self.epochs[-1]["seconds"]["compute"])

    @property
    def seconds(self):
        """Seconds (ranks, KINDS) of all epochs together."""
        return sum(np.array([epoch["seconds"][kind] for kind in KINDS]).T for epoch in self.epochs)

    @property
    def command(self):
        """Return the literal command of the step, or of the program where a log does not tell."""
        log = self.path / "log" / f"{self.kind}.log"
        lines = read_lines(log) if log.exists() else []
        written = [line[2:] for line in lines if line.startswith("# pymavg ")]
        return written[-1] if written else self.about.get("command", "not recorded")


@dataclass
class Rate:
    """The word error rate of one part of a test set: counts, 95 % bounds (or None), utterances, how it was counted."""

    system: str
    decode: str
    part: str
    counts: Counts
    low: float | None
    high: float | None
    utterances: int
    how: str


def find_experiments(paths):
    """Return the directories meant by `paths`: a directory with a log or scores itself, or else those in it.

    Raises
    ------
    PymavgError
        When one has neither.
    """
    found = []
    for path in map(Path, paths):
        if not path.is_dir():
            raise PymavgError(f"{path}: no such directory; expected an experiment directory, such as exp/dnn")
        inside = [path] if _has_results(path) else sorted(p for p in path.iterdir() if _has_results(p))
        if not inside:
            raise PymavgError(
                f"{path}: neither a training's log (log/train.jsonl) nor scores (decode*/scoring/chosen.tsv) in it or "
                "one level below; train with steps/nnet/train.sh, score with steps/score_sclite.sh"
            )
        found += [p for p in inside if p not in found]
    rank = {system: k for k, system in enumerate(("dnn_pretrain", *ORDER))}
    return sorted(found, key=lambda p: rank.get(p.name, len(rank)))


def _has_results(path):
    return path.is_dir() and (any(_log(path, kind).exists() for kind in LOGS) or any(_scored(path)))


def _log(path, kind):
    return path / "log" / f"{kind}.jsonl"


def _scored(path):
    return path.glob("decode*/scoring/chosen.tsv")


def read_runs(experiments):
    """Return the Runs of these directories that have at least one whole epoch, with names that differ."""
    runs = []
    for path in experiments:
        for kind in LOGS:
            if _log(path, kind).exists():
                records = read_records(_log(path, kind))
                epochs = [r for r in records if r["event"] == "epoch"]
                about = next((r for r in reversed(records) if r["event"] == "run"), {})
                if epochs:
                    runs.append(Run(path, _name(path, experiments), kind, epochs, about, _settings(path, kind, about)))
    return runs


def _settings(path, kind, about):
    if "config" in about:
        return about["config"]
    try:
        return json.loads((path / SETTINGS[kind]).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _name(path, experiments):
    alone = sum(p.name == path.name for p in experiments) == 1
    return path.name if alone else str(path)


def read_rates(experiments):
    """Return a Rate for each part of each scored decode directory, and for the whole where there are parts."""
    rates = []
    for path in experiments:
        for chosen in sorted(_scored(path)):
            result = read_result(chosen.parent.parent)
            errors = _utterance_errors(result)
            parts = dict(sorted(result.chosen.items()))
            if len(parts) > 1:
                parts["total"] = sum(parts.values(), Counts())
                errors["total"] = {(p, u): e for p, by in errors.items() for u, e in by.items()}
            how = f"LM weight {result.point.lmwt}, penalty {result.point.penalty:g}: {result.source}; {result.rule}"
            for part, counts in parts.items():
                own = {u: e for u, e in errors.get(part, {}).items() if e[0] or e[1]}
                bounds = contrast([(1, {0: own})]) if sum(words for _, words in own.values()) else None
                low, high = (bounds.low, bounds.high) if bounds else (None, None)
                name = _name(path, experiments)
                rates.append(Rate(name, result.decode.name, part, counts, low, high, len(own), how))
    return rates


def _utterance_errors(result):
    """Return {part: {utterance: (errors, words)}} at the chosen point; empty where scoring left none."""
    plain = result.decode / "scoring" / UTTERANCES
    if "sclite" in result.rule.split(" ")[0]:
        try:
            return read_errors(result.decode)
        except PymavgError:
            return {}
    if not plain.exists():
        return {}
    rows = [line.split("\t") for line in read_lines(plain)]
    return {"all": {u: (int(errors), int(words)) for u, errors, words in rows}}


def data_set(run):
    """Return the name of the training data, as a key by which runs can be compared."""
    return re.sub(r"\s+", " ", str(run.settings.get("data", "")))
