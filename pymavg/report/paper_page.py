"""The second part of RESULTS.md: the paper's tables in small, its claims, and what 32 workers need to lose nothing."""

from pathlib import Path

from pymavg.files import read_lines
from pymavg.report.claims import CLAIMS, FRAMES, estimate, verdict
from pymavg.report.paper_rows import parts_of
from pymavg.report.results import commit, machine

NOTHING = 0.3  # points of frame accuracy below which a loss counts as none, where the interval has 0 in it
BASE = "ngsgd_1"


def page(rows, paper, command, notes=""):
    """Return the text of the part.

    Parameters
    ----------
    rows : list of paper_rows.Row
    paper : Path
        Where they are.
    command : str
        What made them.
    notes : str
        What people made of them, put before the last lines.
    """
    return "\n".join(
        [
            "## The paper's tables in small",
            "",
            *_set_up(rows, paper),
            "",
            *_rows_table(rows),
            "",
            *_sweep(paper),
            "### Its claims",
            "",
            "Differences of error rates in percent points, with 95 % intervals: paired over seeds and utterances, both",
            "drawn with replacement. *frames*: CV frame errors; the others: word errors. A claim holds here (yes)",
            "where the interval lies on the claimed side, does not (no) where it lies on the other, else it is open.",
            f"Every figure comes from `{command}`.",
            "",
            *_claims_table(rows),
            "",
            "### Losing nothing",
            "",
            f"Loss of frame accuracy in points against one worker (`{BASE}`); *none*: the interval has 0 in it, or",
            f"lies below, and the mean is under {NOTHING}.",
            "",
            *_loss_table(rows),
            "",
            *([notes.strip("\n"), ""] if notes else []),
            f"* Commit {commit()}; command `{command}`",
            f"* Machine: {machine()}",
        ]
    )


def _set_up(rows, paper):
    network = "unknown"
    for line in read_lines(Path(paper) / BASE / "0" / "log" / "train.log"):
        if line.startswith("network "):
            network = line.partition(": ")[2].partition(";")[0]
    frames = sum(s.frames for s in rows[0].frames.values())
    trained = int(read_lines(Path(paper) / "num_frames")[0])
    chosen = "LM weight and penalty were chosen once, on the development set for the first row."
    return [
        f"Network {network}; {trained:,} frames an epoch, {frames:,} CV frames; {len({(r.conf) for r in rows})} rows,",
        f"{len(rows)} trainings. *Period* and *minibatch* are the paper's; in brackets what they were scaled to.",
        "*Averages*: in one epoch; *CPU s*: of a whole training.",
        chosen if parts_of(rows) else "None is decoded yet: there are no word errors.",
    ]


def _mean(values):
    known = [v for v in values if v is not None]
    return f"{sum(known) / len(known):.2f}" if known else ""


def _by_conf(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row.conf, []).append(row)
    return groups


def _rows_table(rows):
    parts = parts_of(rows)
    head = ["conf", "N", "optimizer", "start", "minibatch", "period", "schedule", "averages", "seeds", "CPU s"]
    lines = _head([*head, "CV loss", "CV accuracy", *(f"WER {part}" for part in parts)])
    for conf, group in _by_conf(rows).items():
        s = group[0].settings
        cells = [conf, s["workers"], s["optimizer"], s["init"], f"{s['minibatch']} ({s['minibatch_size']})"]
        cells += [f"{s['period']} ({s['average_period']})" if s["workers"] != "1" else "–", s["schedule"]]
        cells += [s["averages"] if s["workers"] != "1" else "–", len(group), _mean([r.cpu_seconds for r in group])]
        cells += [_mean([r.loss for r in group]), _mean([r.accuracy for r in group])]
        cells += [_mean([r.wer(part) for r in group]) for part in parts]
        lines.append(_line(cells))
    return lines


def _sweep(paper):
    """Return the table of the learning rates tried on one worker."""
    found = {}
    for log in sorted(Path(paper).glob("sweep/*/row.log")):
        ends = [line for line in read_lines(log) if "frame accuracy" in line]
        optimizer, _, rate = log.parent.name.partition("_")
        if ends:
            found.setdefault(optimizer, []).append((float(rate), ends[-1].rpartition("frame accuracy ")[2]))
    told = [f"* {o}: " + ", ".join(f"{r:g} {a}" for r, a in sorted(tried)) for o, tried in sorted(found.items())]
    return (
        ["Learning rates tried on one worker with seed 0, and their CV frame accuracy:", "", *told, ""] if told else []
    )


def _claims_table(rows):
    parts = parts_of(rows)
    lines = _head(["claim", "rows", "paper: SWB, CH", "frames", "holds", *(p for p in parts), "all words", "holds"])
    for claim in CLAIMS:
        frames, words = (estimate(rows, claim.plus, claim.minus, m) for m in (FRAMES, "all"))
        by_part = [estimate(rows, claim.plus, claim.minus, part) for part in parts]
        contrast = " + ".join(claim.plus) + " − " + " − ".join(claim.minus)
        cells = [claim.text, contrast, claim.paper, frames or "–", verdict(claim, frames)]
        lines.append(_line([*cells, *(e or "–" for e in by_part), words or "–", verdict(claim, words)]))
    return lines


def _loss_table(rows):
    lines = _head(["conf", "N", "further options", "loss", "seeds", "loss is"])
    for conf, group in _by_conf(rows).items():
        found = estimate(rows, (conf,), (BASE,), FRAMES)
        if group[0].settings["workers"] == "1" or found is None:
            continue
        none = found.low <= 0 and found.mean < NOTHING
        s = group[0].settings
        told = f"rate {s['learn_rate']} ({s['lr_scaling']}), period {s['average_period']}, "
        told += f"minibatch {s['minibatch_size']} {s['extra']}"
        lines.append(_line([conf, s["workers"], told.strip(), found, found.seeds, "none" if none else "measurable"]))
    return lines


def _head(names):
    return [_line(names), "|" + "---|" * len(names)]


def _line(cells):
    return "| " + " | ".join(map(str, cells)) + " |"
