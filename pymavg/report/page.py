"""The report of experiments: one HTML page that needs nothing else, its charts as PNGs, its tables in Markdown."""

import sys
import time
from pathlib import Path

import jinja2
from markupsafe import Markup

from pymavg import __version__, provenance
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.report import charts
from pymavg.report.drawing import UNSEEN, svg, write_png
from pymavg.report.paired import DRAWS
from pymavg.report.rates import read_rates
from pymavg.report.runs import LOGS, find_experiments, read_runs, short_names
from pymavg.report.speed import own_speed_ups
from pymavg.training.progress import duration

CAPTIONS = {
    "curves": ("Learning curves", "Solid: cross-validation; dotted: training data; ×: epoch rejected."),
    "pretraining": ("Pretraining", "Mean squared error between data and reconstruction, by unit."),
    "sequence": ("Sequence training", "On the training data, while training; for MMI the reference's share instead."),
    "time": (
        "Time by worker",
        "Where each process spent its time; on the right the total. An average costs copy, wait and reduce.",
    ),
    "scaling": (
        "Speed-up",
        "The paper's points (K20, time of an epoch), the scaling model (pymavg scaling), and the experiments above "
        "that have several workers: beside a one-worker run on the same data, or else (“by time shares”) from the "
        "part of the time that is not spent on averages.",
    ),
}
LOSS = (
    "On the CV data, nats per frame; of RBMs the last one's mean squared error; of sequence training the criterion per "
    "frame of training data"
)


def make(paths, output, title="", command=""):
    """Write OUTPUT (.html), OUTPUT-NAME.png for each chart, and OUTPUT.md; return the paths written.

    Parameters
    ----------
    paths : list of str or Path
        Experiment directories, or directories of them.
    output : str or Path
        Name of the page, ending in .html.
    title, command : str
        Of the page; what made the experiments.

    Raises
    ------
    PymavgError
        When there is nothing to report. Beside others, an experiment with a malformed file is left out, and named on
        the page and on standard error.
    """
    output = Path(output)
    if output.suffix != ".html":
        raise PymavgError(f"--output {output}: expected a name that ends in .html")
    experiments, damaged = find_experiments(paths), []
    runs, rates = read_runs(experiments, damaged), read_rates(experiments, damaged)
    if not runs and not rates:
        told = damaged or [f"{', '.join(map(str, paths))}: no whole epoch and no scores yet"]
        raise PymavgError("; ".join([*told, "nothing to report"]))
    for line in damaged:
        print(f"WARNING: left out: {line}", file=sys.stderr)
    figures = _figures(runs)
    values = _values(runs, rates, title or f"Report on {', '.join(short_names(experiments).values())}", command)
    values["damaged"] = [_seen(line) for line in damaged]
    values["charts"] = [
        {
            "title": CAPTIONS[name][0],
            "caption": CAPTIONS[name][1],
            "svg": _inline(f, name),
        }
        for name, f in figures.items()
    ]
    written = [output, *(output.with_name(f"{output.stem}-{name}.png") for name in figures), output.with_suffix(".md")]
    for figure, path in zip(figures.values(), written[1:-1], strict=True):
        write_png(figure, path)
    for name, path, escape in (("page.html", output, True), ("page.md", written[-1], False)):
        with atomic_open(path) as stream:
            stream.write(_template(name, escape).render(**values, pngs=[p.name for p in written[1:-1]]))
    return written


def _figures(runs):
    drawn = {
        "curves": charts.learning_curves(runs),
        "pretraining": charts.pretraining(runs),
        "sequence": charts.sequence_training(runs),
        "time": charts.time_breakdown(runs),
        "scaling": charts.scaling(own_speed_ups(runs)) if runs else None,
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _inline(figure, name):
    return Markup(svg(figure, name))  # made by matplotlib, which escapes names itself


def _template(name, escape):
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=escape, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["zip"] = lambda one, other: zip(one, other, strict=True)
    environment.filters["cell"] = _cell
    return environment.get_template(name)


def _cell(text):
    """Return text that stands for itself in a Markdown table."""
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("\\", "\\\\"), ("|", "\\|"), ("$", "\\$"), ("_", "\\_")):
        text = str(text).replace(sign, written)
    return text


def _values(runs, rates, title, command):
    differing, compared = _differing(runs)
    return {
        "title": _seen(title),
        "command": _seen(command),
        "written": time.strftime("%Y-%m-%d %H:%M"),
        "version": __version__,
        "commit": provenance.commit(Path(__file__).parent),
        "machine": provenance.machine(),
        "draws": DRAWS,
        "losses": LOSS,
        "runs": [_run_values(run) for run in runs],
        "rates": [_rate_values(rate) for rate in rates],
        "hows": _hows(rates),
        "differing": differing,
        "compared": compared,
    }


def _run_values(run):
    last = next((e for e in reversed(run.epochs) if e.get("accepted", True)), run.epochs[-1])
    loss = last.get("cv_loss", last.get("error", last.get("train_loss")))
    accuracy = last.get("cv_accuracy")
    seconds = run.seconds.sum(axis=1).max()
    shown = {"commit": "commit", "machine": "machine", "device": "device", "hosts": "hosts", "seed": "seed"}
    shown |= {"parameters": "parameters", "dims": "layers", "continued": "continued after a stop"}
    facts = [(text, _fact(key, run.about[key])) for key, text in shown.items() if key in run.about]
    if not facts:
        facts = [("commit, machine", "not recorded: trained by an earlier version")]
    if "seed" not in run.about and "seed" in run.settings:
        facts.append(("seed", run.settings["seed"]))
    return {
        "name": _seen(run.name),
        "what": LOGS[run.kind],
        "workers": run.workers,
        "epochs": len(run.epochs),
        "time": duration(seconds),
        "speed": f"{sum(e['frames_per_second'] for e in run.epochs) / len(run.epochs):,.0f}",
        "loss": "–" if loss is None else f"{loss:.4f}",
        "accuracy": "–" if accuracy is None else f"{accuracy:.2f}",
        "command": _seen(run.command),
        "facts": [(name, _seen(value)) for name, value in facts],
        "settings": [(_seen(name), _seen(value)) for name, value in sorted(run.settings.items())],
    }


def _rate_values(rate):
    counts = rate.counts
    return {
        "system": _seen(rate.system),
        "decode": _seen(rate.decode),
        "part": _seen(rate.part),
        "wer": "n/a" if counts.wer is None else f"{counts.wer:.2f}",
        "interval": "–" if rate.low is None else f"{rate.low:.2f} to {rate.high:.2f}",
        "errors": counts.errors,
        "words": counts.words,
        "sub": counts.substitutions,
        "del": counts.deletions,
        "ins": counts.insertions,
        "utterances": rate.utterances or "–",
    }


def _hows(rates):
    """Return [(how words were counted, the decode directories of which that is so)]."""
    found = {}
    for rate in rates:
        found.setdefault(_seen(rate.how), {})[_seen(f"{rate.system}/{rate.decode}")] = None
    return [(how, list(decodes)) for how, decodes in found.items()]


def _fact(key, value):
    """Return a value of a run's record as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return (" → " if key == "dims" else ", ").join(map(str, value))
    return f"{value:,}" if key == "parameters" and isinstance(value, int) else value


def _differing(runs):
    """Return ([(setting, its values)], names) of the settings in which trainings of a network differ."""
    runs = [run for run in runs if run.kind == "train" and run.settings]
    names = sorted({name for run in runs for name in run.settings})
    rows = [(_seen(n), [_seen(run.settings.get(n, "–")) for run in runs]) for n in names]
    return [row for row in rows if len(set(row[1])) > 1], [_seen(run.name) for run in runs]


def _seen(text):
    return UNSEEN.sub("\ufffd", str(text))
