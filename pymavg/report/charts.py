"""The charts of the report: learning curves, pretraining, time by worker, speed-up."""

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from pymavg.report.drawing import COLOURS, MARKERS, below, label, look, panels, styled
from pymavg.simulate import paper
from pymavg.simulate.networks import NETWORKS
from pymavg.simulate.scaling import LOSSES, predict
from pymavg.training.progress import KINDS

MEANING = {  # kind of time -> what it is, colour, hatch
    "read": ("read: minibatches", COLOURS[5], "////"),
    "compute": ("compute", COLOURS[0], ""),
    "copy": ("copy: device to host and back", COLOURS[2], "...."),
    "wait": ("wait: for the slowest worker", COLOURS[1], "xxxx"),
    "reduce": ("reduce: MPI", COLOURS[4], "\\\\\\\\"),
}
MOST_BARS = 40  # workers


@styled
def learning_curves(runs):
    """Return a Figure of loss, frame accuracy and learning rate by epoch, or None where no network was trained."""
    runs = [run for run in runs if run.kind == "train"]
    if not runs:
        return None
    figure, (loss, accuracy, rate) = panels(3, height=3.4 + 0.25 * ((len(runs) + 2) // 3))
    for number, run in enumerate(runs):
        style = look(number)
        epochs = [e.get("epoch", i) for i, e in enumerate(run.epochs, 1)]
        for axes, what in ((loss, "loss"), (accuracy, "accuracy")):
            axes.plot(epochs, _values(run, f"cv_{what}"), label=label(run.name), **style)
            held = {**style, "linestyle": ":", "marker": "", "linewidth": 1.3}
            axes.plot(epochs, _values(run, f"train_{what}"), **held)
        rate.plot(epochs, _values(run, "learn_rate"), **style)
        rejected = [(n, e["cv_loss"]) for n, e in zip(epochs, run.epochs, strict=True) if not e.get("accepted", True)]
        loss.plot(*zip(*rejected, strict=True) if rejected else ((), ()), "x", color=style["color"], markersize=11)
    _log_scale(rate)
    loss.set(title="loss", ylabel="nats per frame")
    accuracy.set(title="frame accuracy", ylabel="% of the frames")
    rate.set(title="learning rate", ylabel="per frame, all workers")
    _by_epoch(figure, (loss, accuracy, rate))
    return figure


@styled
def pretraining(runs):
    """Return a Figure of the RBMs' reconstruction errors by epoch, or None where there was no pretraining."""
    runs = [run for run in runs if run.kind == "pretrain_dbn"]
    if not runs:
        return None
    figure, (axes,) = panels(1, height=3.6)
    number = 0
    for run in runs:
        for layer in sorted({e["layer"] for e in run.epochs}):
            own = [e for e in run.epochs if e["layer"] == layer]
            name = label(f"{run.name}, RBM {layer}")
            axes.plot([e["epoch"] for e in own], [e["error"] for e in own], label=name, **look(number))
            number += 1
    axes.set(ylabel="mean squared error", title="reconstruction by RBMs")
    _log_scale(axes)
    _by_epoch(figure, (axes,))
    return figure


@styled
def sequence_training(runs):
    """Return a Figure of loss and accuracy on the training data by iteration, or None where there are no such runs."""
    runs = [run for run in runs if run.kind == "train_sequence"]
    if not runs:
        return None
    figure, (loss, accuracy) = panels(2)
    for number, run in enumerate(runs):
        iterations = [e["epoch"] for e in run.epochs]
        loss.plot(iterations, _values(run, "train_loss"), label=label(run.name), **look(number))
        accuracy.plot(iterations, _values(run, "train_accuracy"), **look(number))
    loss.set(title="loss", ylabel="criterion, per frame")
    accuracy.set(title="expected accuracy", ylabel="% of the frames")
    _by_epoch(figure, (loss, accuracy), "iteration")
    return figure


def _by_epoch(figure, axes, unit="epoch"):
    for one in axes:
        one.set_xlabel(unit)
        one.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    below(figure, axes[:1])


def _log_scale(axes):
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _values(run, name):
    return [np.nan if e.get(name) is None else e[name] for e in run.epochs]


@styled
def time_breakdown(runs):
    """Return a Figure with a bar for each rank: its seconds by KINDS in percent, or None where there are no runs."""
    bars = [(label(f"{run.name}, rank {rank}"), row) for run in runs for rank, row in enumerate(run.seconds)]
    if not bars:
        return None
    all_bars, bars = len(bars), bars[:MOST_BARS]
    figure, (axes,) = panels(1, height=1.7 + 0.32 * len(bars))
    if all_bars > MOST_BARS:
        axes.set_title(f"the first {MOST_BARS} of {all_bars} workers")
    seconds = np.array([row for _, row in bars])
    share = 100 * seconds / np.maximum(seconds.sum(axis=1, keepdims=True), 1e-9)
    left = np.zeros(len(bars))
    for k, kind in enumerate(KINDS):
        meaning, colour, hatch = MEANING[kind]
        drawn = axes.barh(range(len(bars)), share[:, k], left=left, color=colour, hatch=hatch, label=meaning)
        for bar, value in zip(drawn, share[:, k], strict=True):
            if value >= 6:
                middle = bar.get_x() + value / 2, bar.get_y() + bar.get_height() / 2
                box = {"boxstyle": "round,pad=0.15", "facecolor": "#ffffff", "edgecolor": "none"}
                axes.annotate(f"{value:.0f}", middle, ha="center", va="center", color="#000000", fontsize=9, bbox=box)
        left += share[:, k]
    for place, total in enumerate(seconds.sum(axis=1)):
        axes.annotate(f"{total:,.0f} s", (101, place), va="center", fontsize=9)
    axes.set(xlabel="% of a worker's time in training, all epochs", xlim=(0, 110))
    axes.set_xticks(range(0, 101, 20))
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)  # the first one on top
    axes.grid(axis="y", visible=False)
    below(figure, [axes])
    return figure


@styled
def scaling(own):
    """Return a Figure of speed-up and efficiency by workers: the paper's points, the model, and runs of one's own.

    Parameters
    ----------
    own : list of (name, workers, speed-up)
    """
    figure, (speed_up, efficiency) = panels(2, height=4.3)
    counts = [2**k for k in range(6)]
    curve = [predict(paper.TRAINING, NETWORKS["k20-fdr"], LOSSES["k20-fdr"], n).speed_up for n in counts]
    measured = {"all-reduce": paper.ALL_REDUCE, "butterfly": paper.BUTTERFLY}
    lines = [("ideal: N times as fast", counts, counts, {"color": COLOURS[5], "linestyle": (0, (1, 1.5))})]
    lines += [("model: K20, FDR InfiniBand", counts, curve, {"color": COLOURS[0]})]
    for number, (name, table) in enumerate(measured.items()):
        style = {"marker": MARKERS[number], "linestyle": "", "color": COLOURS[number], "markersize": 8}
        style |= {"markerfacecolor": "none"} if number else {}  # where both are close, both are seen
        lines.append((f"paper, {name}", list(table), [paper.ALONE / total for total, _ in table.values()], style))
    for number, (name, workers, value) in enumerate(own):
        style = {**look(number + 2), "linestyle": "", "markersize": 10, "markerfacecolor": "none"}
        lines.append((label(name), [workers], [value], style))
    for name, x, y, style in lines:
        speed_up.plot(x, y, label=name, **style)
        efficiency.plot(x, 100 * np.array(y) / np.array(x), **style)
    ticks = sorted({*counts, *(workers for _, workers, _ in own)})
    speed_up.set(title="speed-up", ylabel="times as fast as one worker", yscale="log")
    efficiency.set(title="efficiency", ylabel="% of the speed-up of N workers", ylim=(0, 108))
    for axes in (speed_up, efficiency):
        axes.set_xscale("log")
        axes.set_xlabel("workers (N)")
        _plain_numbers(axes.xaxis, ticks)
    _plain_numbers(speed_up.yaxis, counts)
    below(figure, (speed_up,))
    return figure


def _plain_numbers(axis, ticks):
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
