"""References and hypotheses with times: NIST's stm and ctm files, and what must hold between them.

stm: FILE CHANNEL SPEAKER BEGIN END [<LABEL>] WORD …        ctm: FILE CHANNEL BEGIN DURATION WORD [CONFIDENCE]
"""

import re
from dataclasses import dataclass
from math import inf

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.options import warn

CHANNELS = {"1": "A", "2": "B"}
PART_NAMES = {"sw": "swbd", "en": "callhm", "fsh": "fsh"}  # of Hub5'00 and RT-03, by the first letters of the file


@dataclass
class Stm:
    """A reference.

    Attributes
    ----------
    path : str
    comments : list of str
        Its `;;` lines.
    rows : list of list of str
        FILE, CHANNEL, SPEAKER, BEGIN, END, the rest of the line.
    parts : dict str -> str
        File -> name of the part of the test set it belongs to, `all` where there are no parts.
    """

    path: str
    comments: list
    rows: list
    parts: dict

    @property
    def channels(self):
        """The set of (file, channel)."""
        return {(row[0], row[1]) for row in self.rows}


def read_stm(path):
    """Read an stm file.

    A file of Hub5'00 is of part `swbd` or `callhm`, one of RT-03 of `swbd` or `fsh`. A LABEL line whose description
    ends in `: NAME` names the part of the files that begin with that label. The parts of Hub5'01 are the labels P0,
    P1, … of its segments, by the short names that their LABEL lines give them.

    Raises
    ------
    PymavgError
        When it is missing, has no segments, or a line is malformed.
    """
    comments, rows = [], []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split(maxsplit=5)
        if line.startswith(";;") or not fields:
            comments.append(line)
            continue
        try:
            begin, end = float(fields[3]), float(fields[4])
        except (IndexError, ValueError):
            raise PymavgError(
                f"{path}:{number}: expected 'file channel speaker begin end words', got '{line}'"
            ) from None
        if not 0 <= begin <= end:
            raise PymavgError(f"{path}:{number}: segment from {begin} to {end}; end must not lie before begin")
        rows.append([*fields, ""][:6])
    if not rows:
        raise PymavgError(f"{path}: no segments; the reference is empty")
    names = dict(PART_NAMES)
    for line in comments:
        label = re.match(r';;\s*LABEL\s+"(\w+)"\s+"[^"]*"\s+"[^"]*:\s*(\w+)\s*"', line)
        if label:
            names[label[1]] = label[2]
    parts = {row[0]: next((n for key, n in names.items() if row[0].startswith(key)), "all") for row in rows}
    for row in rows:
        if phase := re.match(r"<(?:[^>]*,)?(P\d+)[,>]", row[5]):
            short = (re.match(rf';;\s*LABEL\s+"{phase[1]}"\s+"([^"]+)"', line) for line in comments)
            parts[row[0]] = next((re.sub(r"\W", "", m[1]).lower() for m in short if m), phase[1].lower())
    return Stm(str(path), comments, rows, parts)


def read_ctm(path):
    """Read a ctm file; return a list of (file, channel, begin, duration, word, confidence).

    Raises
    ------
    PymavgError
        When it is missing, empty, or a line is malformed.
    """
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        try:
            begin, duration, confidence = map(float, (*fields[2:4], *(fields[5:6] or ["1"])))
            if not (0 <= begin < inf and 0 <= duration < inf):
                raise ValueError
            rows.append((fields[0], fields[1], begin, duration, fields[4], confidence))
        except (IndexError, ValueError):
            raise PymavgError(f"{path}:{number}: expected 'file channel begin duration word', got '{line}'") from None
    if not rows:
        raise PymavgError(f"{path}: no words at all; an empty hypothesis is not scored: look at the decoding log")
    return rows


def matched_ctm(rows, stm, name, allow_missing=False):
    """Return the rows sorted and with the reference's names of channels.

    Parameters
    ----------
    rows : list of tuple
        As from read_ctm, in any order.
    stm : Stm
    name : str
        Of the hypothesis, for messages.
    allow_missing : bool
        Score channels without any word as deletions.

    Raises
    ------
    PymavgError
        For an empty hypothesis, files or channels that the reference does not know, and channels without words.
    """
    if not rows:
        raise PymavgError(f"{name}: no words at all; an empty hypothesis is not scored: look at the decoding log")
    known = stm.channels
    rows = [(f, c if (f, c) in known else CHANNELS.get(c, c), *rest) for f, c, *rest in rows]
    found = {(row[0], row[1]) for row in rows}
    if found - known:
        first, expected = min(found - known), min(known)
        raise PymavgError(
            f"{name}: {len(found - known)} of {len(found)} channels are not in {stm.path}; "
            f"first of each: {' '.join(first)} / {' '.join(expected)}"
        )
    missing = sorted(known - found)
    if missing:
        problem = f"{len(missing)} of {len(known)} channels have no words"
        if not allow_missing:
            raise PymavgError(f"{name}: {problem}, first: {' '.join(missing[0])}; --allow-missing true scores them")
        warn(f"{name}: {problem}: counted as deletions")
    return sorted(rows)
