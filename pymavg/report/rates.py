"""Reading what scorings leave in experiment directories: word error rates with their intervals."""

from dataclasses import dataclass

from pymavg.decoding.wer import Counts
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.report.paired import contrast
from pymavg.report.paper_rows import read_errors
from pymavg.report.results import read_result
from pymavg.report.runs import noted, scored, short_names

UTTERANCES = "utterances.tsv"


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


def read_rates(experiments, damaged=None):
    """Return a Rate for each part of each scored decode directory, and for the whole where there are parts.

    Parameters
    ----------
    experiments, damaged
        As for runs.read_runs.
    """
    names, rates = short_names(experiments), []
    for path in experiments:
        for chosen in sorted(scored(path)):
            with noted(damaged):
                rates += _read_rates(chosen.parent.parent, names[path])
    return rates


def _read_rates(decode, name):
    result = read_result(decode)
    errors = _utterance_errors(result)
    parts = dict(sorted(result.chosen.items()))
    if len(parts) > 1:
        parts["total"] = sum(parts.values(), Counts())
        errors["total"] = {(p, u): e for p, by in errors.items() for u, e in by.items()}
    how = f"LM weight {result.point.lmwt}, penalty {result.point.penalty:g}: {result.source}; {result.rule}"
    rates = []
    for part, counts in parts.items():
        own = {u: e for u, e in errors.get(part, {}).items() if e[0] or e[1]}
        words = sum(words for _, words in own.values())
        bounds = contrast([(1, {0: own})]) if words and words == counts.words else None  # not of alignments cut off
        low, high = (bounds.low, bounds.high) if bounds else (None, None)
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
