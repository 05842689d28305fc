"""The word error rates of all systems of an experiment directory, as tab-separated lines and as RESULTS.md."""

from dataclasses import dataclass
from pathlib import Path

from pymavg.decoding.sweep import Point, best_point, read_sweep, total
from pymavg.decoding.wer import Counts
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.provenance import commit, machine

ORDER = ("mono", "tri1", "tri2", "tri3", "tri4", "dnn")


@dataclass
class Result:
    """One scored decode directory.

    Attributes
    ----------
    system : str
        Name of the model directory.
    decode : Path
    point : Point
        LM weight and penalty chosen.
    source : str
        Where they come from.
    rule : str
        Which filter counted the errors.
    chosen, best : dict str -> Counts
        By part of the test set, at the chosen point and at the best of the sweep.
    """

    system: str
    decode: Path
    point: Point
    source: str
    rule: str
    chosen: dict
    best: dict


def read_result(decode):
    """Read what scoring left in a decode directory.

    Raises
    ------
    PymavgError
        When it is not scored, or scoring was broken off.
    """
    decode = Path(decode)
    results, rule = read_sweep(decode / "scoring" / "sweep.tsv")
    try:
        lmwt, penalty, source = read_lines(decode / "scoring" / "chosen.tsv")[0].split("\t")
        point = Point(int(lmwt), float(penalty))
        chosen = results[point]
    except (IndexError, ValueError, KeyError):
        raise PymavgError(f"{decode}/scoring/chosen.tsv: does not fit to sweep.tsv; score again") from None
    best = results[best_point(results)]
    return Result(decode.parent.name, decode, point, source, rule, chosen, best)


def find_results(exp, data):
    """Return the results of all exp/SYSTEM/decode_DATA* that are scored, in the order in which systems are trained.

    Raises
    ------
    PymavgError
        When there are none.
    """
    found = find_scored(exp, data)
    if not found:
        others = sorted({p.parent.parent.name for p in Path(exp).glob("*/*/scoring/chosen.tsv")})
        remedy = f"scored are {', '.join(others)}: give --data" if others else "decode and score first"
        raise PymavgError(f"{exp}: no scored */decode_{data}*; {remedy}")
    return found


def find_scored(exp, data):
    """Return the same list; empty where nothing is scored."""
    found = [p.parent.parent for p in Path(exp).glob(f"*/decode_{data}*/scoring/chosen.tsv")]
    rank = {system: k for k, system in enumerate(ORDER)}
    return [read_result(d) for d in sorted(found, key=lambda d: (rank.get(d.parent.name, len(ORDER)), str(d)))]


def _percent(counts):
    return "n/a" if counts.wer is None else f"{counts.wer:.2f}"


def tab_lines(results):
    """Return a line for each system and part: system, part, WER, errors, words of the reference, directory."""
    return [
        "\t".join([r.system, part, _percent(c), str(c.errors), str(c.words), str(r.decode)])
        for r in results
        for part, c in sorted(r.chosen.items())
    ]


def markdown(results, command):
    """Return the text of RESULTS.md."""
    parts = sorted({part for r in results for part in r.chosen})
    several = len(parts) > 1
    head = [
        "system",
        *parts,
        *(["all"] if several else []),
        "LM weight, penalty",
        "best of the sweep: " + ", ".join(parts),
    ]
    lines = [
        "# Results",
        "",
        "Word error rates in %. LM weight and insertion penalty are those chosen on the development set; the best of",
        "the sweep, chosen on the evaluation set itself, is there for comparison only. Written by local/show_wer.sh.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
    ]
    for r in results:
        row = [r.system, *(_percent(r.chosen.get(p, Counts())) for p in parts)]
        row += [_percent(total(r.chosen))] if several else []
        row += [f"{r.point.lmwt}, {r.point.penalty:.1f}", ", ".join(_percent(r.best.get(p, Counts())) for p in parts)]
        lines.append("| " + " | ".join(row) + " |")
    words = ", ".join(f"{part} {results[0].chosen[part].words}" for part in sorted(results[0].chosen))
    lines += ["", f"* Words of the reference: {words}"]
    lines += [f"* Filter: {rule}" for rule in sorted({r.rule for r in results})]
    lines += [f"* {r.system}: LM weight and penalty are {r.source}" for r in results]
    return "\n".join([*lines, f"* Commit {commit()}; command `{command}`", f"* Machine: {machine()}", ""])
