"""Reading what trainings leave in experiment directories."""

import contextlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.report.results import ORDER
from pymavg.training.progress import KINDS
from pymavg.training.records import read_records

LOGS = {"pretrain_dbn": "RBM pretraining", "train": "DNN", "train_sequence": "sequence training"}
SETTINGS = {"pretrain_dbn": "pretrain.json", "train": "train.json", "train_sequence": "train.json"}
NEEDED = {  # numbers of an epoch's record without which there is nothing to draw
    "pretrain_dbn": ("frames_per_second", "epoch", "layer", "error"),
    "train": ("frames_per_second",),
    "train_sequence": ("frames_per_second", "epoch"),
}
NUMBERS = ("epoch", "train_loss", "train_accuracy", "cv_loss", "cv_accuracy", "learn_rate")


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
        """Seconds (ranks, KINDS) of all epochs together; a training may have gone on with other ranks."""
        total = np.zeros((max(len(epoch["seconds"]["compute"]) for epoch in self.epochs), len(KINDS)))
        for epoch in self.epochs:
            own = np.array([epoch["seconds"][kind] for kind in KINDS], dtype=np.float64).T
            total[: len(own)] += own
        return total

    @property
    def command(self):
        """Return the literal command of the step, or of the program where a log does not tell."""
        log = self.path / "log" / f"{self.kind}.log"
        lines = read_lines(log) if log.exists() else []
        written = [line[2:] for line in lines if line.startswith("# pymavg ")]
        return written[-1] if written else self.about.get("command", "not recorded")


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
        inside = [path] if _has_results(path) else sorted((p for p in path.iterdir() if _has_results(p)), key=_natural)
        if not inside:
            raise PymavgError(
                f"{path}: neither a training's log (log/train.jsonl) nor scores (decode*/scoring/chosen.tsv) in it or "
                "one level below; train with steps/nnet/train.sh, score with steps/score_sclite.sh"
            )
        found += [p for p in inside if p not in found]
    rank = {system: k for k, system in enumerate(("dnn_pretrain", *ORDER))}
    return sorted(found, key=lambda p: rank.get(p.name, len(rank)))


def _natural(path):
    """Return a key by which dnn_8 comes before dnn_16."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split("([0-9]+)", path.name)]


def _has_results(path):
    return path.is_dir() and (any(_log(path, kind).exists() for kind in LOGS) or any(scored(path)))


def _log(path, kind):
    return path / "log" / f"{kind}.jsonl"


def scored(path):
    """Return the chosen.tsv of the decode directories of an experiment that are scored."""
    return path.glob("decode*/scoring/chosen.tsv")


def read_runs(experiments, damaged=None):
    """Return the Runs of these directories that have at least one whole epoch, with names that differ.

    Parameters
    ----------
    experiments : list of Path
    damaged : list of str or None
        Gets a line for each log that cannot be read; None: the first one is an error.
    """
    names, runs = short_names(experiments), []
    for path in experiments:
        for kind in LOGS:
            if _log(path, kind).exists():
                with noted(damaged):
                    runs += _read_run(path, names[path], kind)
    return runs


@contextlib.contextmanager
def noted(damaged):
    """Run the block; where it ends in a PymavgError and `damaged` is a list, note that and go on."""
    try:
        yield
    except PymavgError as error:
        if damaged is None:
            raise
        damaged.append(str(error))


def _read_run(path, name, kind):
    """Return [Run], or [] where no epoch is whole yet."""
    records = read_records(_log(path, kind))
    epochs = [r for r in records if r["event"] == "epoch"]
    about = next((r for r in reversed(records) if r["event"] == "run"), {})
    for number, epoch in enumerate(epochs, 1):
        if not _is_whole(epoch, kind):
            raise PymavgError(
                f"{_log(path, kind)}: record {number} of an epoch lacks seconds, frames per second or numbers; is "
                "it of another version? Train again"
            )
    return [Run(path, name, kind, epochs, about, _settings(path, kind, about))] if epochs else []


def _is_whole(epoch, kind):
    """Return whether a record has all that the report takes from it, as numbers; null stands for what is not known."""
    seconds = epoch.get("seconds")
    if not isinstance(seconds, dict) or not all(isinstance(seconds.get(k), list) for k in KINDS):
        return False
    times = [seconds[k] for k in KINDS]
    needed = [epoch.get(n) for n in NEEDED[kind]] + sum(times, [])
    others = [epoch[n] for n in NUMBERS if epoch.get(n) is not None]
    return len({len(t) for t in times}) == 1 and times[0] and all(isinstance(v, int | float) for v in needed + others)


def _settings(path, kind, about):
    if "config" in about:
        return about["config"]
    try:
        return json.loads((path / SETTINGS[kind]).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def short_names(experiments):
    """Return {path: name}: of each path as many parts, from its end, as tell it from the others."""
    parts = {p: (p.resolve() if p.name in ("", "..") else p.absolute()).parts for p in experiments}
    names = {}
    for path, own in parts.items():
        others = [p for other, p in parts.items() if other != path]
        count = next((k for k in range(1, len(own)) if all(p[-k:] != own[-k:] for p in others)), None)
        names[path] = "/".join(own[-count:]) if count else str(path)
    return names


def data_set(run):
    """Return the name of the training data, as a key by which runs can be compared."""
    return re.sub(r"\s+", " ", str(run.settings.get("data", "")))
