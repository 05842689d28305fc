"""Scoring a decode directory at every LM weight and word insertion penalty.

All points are scored from one reading of the lattices. Best paths of different points are mostly the same paths, so
word times are found once for each different path. Results:

    DECODE/score_LMWT_PENALTY/NAME.ctm[.filt[.sys|.raw]]    with sclite, as Kaldi's score_sclite.sh leaves them
    DECODE/wer_LMWT_PENALTY                                 plain count, as Kaldi's score.sh
    DECODE/scoring/sweep.tsv                                every point and part
    DECODE/scoring/utterances.tsv                           plain count: utterance, errors, words at the chosen point
    DECODE/scoring/wer.txt, chosen.tsv                      the result: the point chosen on the development set
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from pymavg.decoding.hypotheses import Point, all_hypotheses, checked
from pymavg.decoding.reference import matched_ctm, read_stm
from pymavg.decoding.wer import Counts, filtered_stm, have_sclite, plain_counts, sclite_counts
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.graph.lang import Lang
from pymavg.options import log, warn

FRAME_SHIFT = 0.01  # seconds


class Scorer:
    """Counts the errors of a set of hypotheses for one data directory.

    Parameters
    ----------
    data : DataDir
        With stm and glm for sclite, else text.
    words : SymbolTable
    decode : str or Path
        Where results go.
    scorer : {"auto", "sclite", "plain"}
    """

    def __init__(self, data, words, decode, scorer="auto"):
        self.data, self.words, self.decode = data, words, Path(decode)
        self.name = self.data.path.name
        lacking = [name for name in ("stm", "glm") if not self.data.has(name)]
        if scorer == "sclite" and lacking:
            raise PymavgError(
                f"{data.path}/{lacking[0]}: no such file; LDC2002T43 has it (reference/hub5e00.english.000405.stm, "
                "en20000405_hub5.glm): run local/eval2000_data_prep.sh, or --scorer plain"
            )
        if scorer == "sclite" and not have_sclite():
            raise PymavgError("sclite is not installed: apt-get install sctk; or --scorer plain")
        self.sclite = scorer != "plain" and not lacking and have_sclite()
        reason = f"without {' and '.join(lacking)}" if lacking else "plain count asked for"
        if not lacking and scorer == "auto" and not self.sclite:
            reason = "without glm: sclite is not installed (apt-get install sctk)"
        self.filter = (
            f"sclite with {data.path}/glm, case folded" if self.sclite else f"plain WER, {reason}; case folded"
        )
        self.stm = read_stm(data.path / "stm") if self.sclite else None
        self.stm_path = self.decode / "scoring" / "stm.filt"
        if self.sclite:
            filtered_stm(self.stm, data.path / "glm", self.stm_path)

    def counts(self, hypotheses, point, details=False):
        """Return {part: Counts} of {utterance: [(start frame, end frame, word id)]}."""
        if not self.sclite:
            by_utterance = {}
            for utterance in self.data.utts:
                said = " ".join(self.words.symbols([w for *_, w in hypotheses.get(utterance, ())]))
                by_utterance[utterance] = plain_counts(self.data.text.get(utterance, ""), said)
            total = sum(by_utterance.values(), Counts())
            if details:
                with atomic_open(self.decode / "scoring" / "utterances.tsv") as stream:
                    stream.writelines(f"{u}\t{c.errors}\t{c.words}\n" for u, c in by_utterance.items())
            with atomic_open(self.decode / f"wer_{point}") as stream:
                stream.write(f"{total}\n# {self.filter}\n")
            return {"all": total}
        folder = self.decode / f"score_{point}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = matched_ctm(self.ctm(hypotheses), self.stm, f"{self.decode} at {point}", allow_missing=True)
        return sclite_counts(rows, self.stm, self.stm_path, self.data.path / "glm", folder, self.name, details)

    def ctm(self, hypotheses):
        """Return ctm rows (file, channel, begin, duration, word, confidence) with times in the recordings."""
        segments = self.data.segments
        channels = self.data.table("reco2file_and_channel") if self.data.has("reco2file_and_channel") else {}
        rows = []
        for utterance, words in hypotheses.items():
            recording, begin = segments[utterance].recording, segments[utterance].start
            file, channel = channels[recording].split() if channels else (recording, "1")
            for start, end, word, *confidence in words:
                shown = self.words.symbol_of[word]
                times = begin + start * FRAME_SHIFT, (end - start) * FRAME_SHIFT
                rows.append((file, channel, *times, shown, *(confidence or (1.0,))))
        return rows


def sweep(scorer, found, points):
    """Return {point: {part: Counts}}; the points are scored in parallel."""

    def one(k):
        at_point = {u: made[which[k]] for u, (made, which) in found.items()}
        return scorer.counts(at_point, points[k])

    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) if scorer.sclite else 1) as pool:
        return dict(zip(points, pool.map(one, range(len(points))), strict=True))


def total(parts):
    """Return the sum of all parts."""
    return sum(parts.values(), Counts())


def best_point(results):
    """Return the point of the fewest errors in all; of equals the smallest penalty, and the middle of its LM weights.

    A small development set has the same errors over a wide range of weights, whose ends lie next to worse ones.
    """
    least = min(total(parts).errors for parts in results.values())
    equals = [point for point, parts in results.items() if total(parts).errors == least]
    penalty = min((point.penalty for point in equals), key=abs)
    weights = sorted(point.lmwt for point in equals if point.penalty == penalty)
    return Point(weights[(len(weights) - 1) // 2], penalty)


def at_the_edge(results):
    """Return a line with the remedy where errors still fall at an end of the sweep, else None.

    An end is no trouble where another value has as few errors, nor where there is nothing beyond: weight 1, penalty 0.
    """
    best, beyond = best_point(results), []
    for name in ("lmwt", "penalty"):
        values, chosen = sorted({getattr(point, name) for point in results}), getattr(best, name)
        others = [total(parts).errors for point, parts in results.items() if getattr(point, name) != chosen]
        natural = chosen == {"lmwt": 1, "penalty": 0.0}[name]
        if not others or natural or values[0] < chosen < values[-1] or min(others) == total(results[best]).errors:
            continue
        if name == "penalty":
            beyond.append(f"penalty {chosen:.1f} (--word-ins-penalties with values beyond it)")
        elif chosen == values[0]:
            beyond.append(f"LM weight {chosen} (a smaller --min-lmwt)")
        else:
            beyond.append(f"LM weight {chosen} (a larger --max-lmwt)")
    return f"the best result lies at an end of the sweep: {', '.join(beyond)}" if beyond else None


def write_sweep(path, results, rule):
    """Write scoring/sweep.tsv."""
    with atomic_open(path) as stream:
        stream.write(f"# {rule}\nlmwt\tpenalty\tpart\twer\terrors\twords\tsub\tdel\tins\n")
        for point, parts in results.items():
            for part, c in _with_total(parts).items():
                wer = "n/a" if c.wer is None else f"{c.wer:.2f}"
                row = (point.lmwt, point.penalty, part, wer, c.errors, c.words)
                stream.write("\t".join(map(str, (*row, c.substitutions, c.deletions, c.insertions))) + "\n")


def _with_total(parts):
    return parts if len(parts) == 1 else {**dict(sorted(parts.items())), "total": total(parts)}


def read_sweep(path):
    """Return ({point: {part: Counts}}, filter) of a sweep.tsv."""
    results, rule = {}, ""
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#"):
            rule = line[1:].strip()
        elif not line.startswith("lmwt"):
            try:
                lmwt, penalty, part, _, _, words, *counts = line.split("\t")
                sub, dele, ins = (int(c) for c in counts)
                parts = results.setdefault(Point(int(lmwt), float(penalty)), {})
                if part != "total":
                    parts[part] = Counts(int(words), sub, dele, ins)
            except ValueError:
                raise PymavgError(f"{path}:{number}: malformed; score again") from None
    if not results:
        raise PymavgError(f"{path}: no results; score again")
    return results, rule


def chosen_on(decode):
    """Return the best point of another, already scored decode directory."""
    path = Path(decode) / "scoring" / "sweep.tsv"
    if not path.exists():
        raise PymavgError(f"{decode}: not scored yet; run steps/score_sclite.sh on the development set first")
    return best_point(read_sweep(path)[0])


def report(results, point, source, rule):
    """Return the lines of scoring/wer.txt: the WER at the chosen point first, the best of the sweep second."""
    lines = [f"# {rule}", f"# LM weight {point.lmwt}, penalty {point.penalty:.1f}: {source}"]
    lines += [f"{c}  {part}" for part, c in _with_total(results[point]).items()]
    best = best_point(results)
    lines += [f"# best of the sweep (chosen on this very set): LM weight {best.lmwt}, penalty {best.penalty:.1f}"]
    return lines + [f"{c}  {part}, best of sweep" for part, c in _with_total(results[best]).items()]


def choose(points, lmwt_from):
    """Return (chosen point or None, where it comes from); it is added to `points` where it is not among them."""
    if not lmwt_from:
        return None, "the best on this very set (no --lmwt-from DEV-DECODE-DIR given)"
    point = chosen_on(lmwt_from)
    if point not in points:
        log(f"{point} of {lmwt_from} is outside of this sweep: added")
        points.append(point)
    return point, f"chosen on {lmwt_from}"


def score(data, lang, decode, model, points, lmwt_from="", scorer="auto", allow_missing=False):
    """Score a decode directory; return the lines of its wer.txt.

    Parameters
    ----------
    data : DataDir
    lang : Path
        Directory with words.txt and phones/.
    decode : Path
    model : Path
        final.mdl, for the phones of transition-ids.
    points : list of Point
    lmwt_from : str
        A scored decode directory of the development set.
    scorer : {"auto", "sclite", "plain"}
    allow_missing : bool
        Count speakers without lattices as deletions.
    """
    points = list(points)
    point, source = choose(points, lmwt_from)
    counter = Scorer(data, Lang(lang).words, decode, scorer)
    found = all_hypotheses(decode, model, lang, points, counter.sclite)
    checked(found, data, decode, allow_missing)
    results = sweep(counter, found, points)
    if point is None and (edge := at_the_edge(results)):
        warn(f"{decode}: {edge}")
    point = point or best_point(results)
    k = points.index(point)
    counter.counts({u: made[which[k]] for u, (made, which) in found.items()}, point, details=True)
    folder = Path(decode) / "scoring"
    write_sweep(folder / "sweep.tsv", results, counter.filter)
    with atomic_open(folder / "chosen.tsv") as stream:
        stream.write(f"{point.lmwt}\t{point.penalty}\t{source}\n")
    lines = report(results, point, source, counter.filter)
    with atomic_open(folder / "wer.txt") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return lines


def grid(min_lmwt, max_lmwt, penalties):
    """Return the Points of a sweep; `penalties` is text as in `0.0,0.5,1.0`."""
    if not 0 < min_lmwt <= max_lmwt:
        raise PymavgError(f"--min-lmwt {min_lmwt} --max-lmwt {max_lmwt}: expected 0 < min <= max")
    try:
        values = [float(p) for p in penalties.replace(" ", ",").split(",") if p]
    except ValueError:
        values = []
    if not values or not np.isfinite(values).all():
        raise PymavgError(f"--word-ins-penalties: expected numbers as in 0.0,0.5,1.0, got '{penalties}'")
    return [Point(lmwt, penalty) for penalty in values for lmwt in range(min_lmwt, max_lmwt + 1)]
