"""What each step of a recipe gains: every system against the one before it, paired by segment."""

from itertools import pairwise

from pymavg.report.paired import LEVEL, contrast
from pymavg.report.paper_rows import read_errors


def gains(results):
    """Return [(system, system before, {part: Estimate})] of the systems that sclite scored.

    Parameters
    ----------
    results : list of pymavg.report.results.Result
        In the order of training. Segments are drawn with replacement (pymavg.report.paired).
    """
    scored = [(r.system, read_errors(r.decode)) for r in results if any(r.decode.glob(f"score_{r.point}/*.pra"))]
    return [
        (system, before, {p: contrast([(1, {0: errors[p]}), (-1, {0: base[p]})]) for p in sorted(errors)})
        for (before, base), (system, errors) in pairwise(scored)
    ]


def markdown(results):
    """Return the table of RESULTS.md, with a blank line before it; nothing for less than two systems."""
    found = gains(results)
    if not found:
        return ""
    parts = sorted(found[0][2])
    lines = [
        "",
        f"What each step gains: differences of the WER in percent points, with {LEVEL} % intervals (bootstrap over",
        "segments, the same for both systems). An interval with 0 in it: no gain that this evaluation set can show.",
        "",
        "| step | " + " | ".join(parts) + " |",
        "|" + "---|" * (1 + len(parts)),
    ]
    lines += [
        f"| {system} − {before} | " + " | ".join(str(by[p]) for p in parts) + " |" for system, before, by in found
    ]
    return "\n".join([*lines, ""])
