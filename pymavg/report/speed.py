"""How much faster several workers of one's own experiments were than one."""

from pymavg.report.runs import data_set
from pymavg.training.progress import KINDS


def own_speed_ups(runs):
    """Return [(name, workers, speed-up)] of the trainings with several processes.

    Where one of a single worker on the same data is among them, its frames per second are the measure. Else the
    speed-up is what the shares of time say: N times the part of the time that is spent on reading and computing.
    """
    runs = [run for run in runs if run.kind == "train"]
    alone = {}
    for run in runs:
        if run.workers == 1:
            alone.setdefault(_key(run), _frames_per_second(run))
    found = []
    for run in runs:
        if run.ranks == 1:
            continue
        if _key(run) in alone:
            found.append((run.name, run.workers, _frames_per_second(run) / alone[_key(run)]))
        else:
            found.append((f"{run.name} (by time shares)", run.ranks, run.ranks * _working_share(run)))
    return found


def _key(run):
    return data_set(run), str(run.about.get("dims")), str(run.about.get("machine")), run.settings.get("minibatch_size")


def _frames_per_second(run):
    speeds = sorted(e["frames_per_second"] for e in run.epochs)
    return speeds[len(speeds) // 2]


def _working_share(run):
    seconds = dict(zip(KINDS, run.seconds.sum(axis=0), strict=True))
    return (seconds["read"] + seconds["compute"]) / max(sum(seconds.values()), 1e-9)
