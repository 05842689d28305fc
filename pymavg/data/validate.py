"""Checks of a data directory; every problem is one line with file:line, what was found, and the remedy."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from pymavg.data.datadir import BY_RECORDING, BY_SPEAKER, BY_UTTERANCE, TABLES, DataDir, join_members
from pymavg.data.segments import MAX_OVERSHOOT
from pymavg.data.split import is_stale
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.options import warn

COLUMNS = {  # how many a line must have: fewest, most (0: any number), and their names
    "utt2spk": (2, 2, "utterance speaker"),
    "spk2utt": (2, 0, "speaker utterance…"),
    "text": (1, 0, "utterance word…"),
    "segments": (4, 5, "utterance recording start end"),
    "wav.scp": (2, 0, "recording file"),
    "feats.scp": (2, 0, "utterance archive:offset"),
    "cmvn.scp": (2, 0, "speaker archive:offset"),
    "vad.scp": (2, 0, "utterance archive:offset"),
    "utt2lang": (2, 2, "utterance language"),
    "utt2dur": (2, 2, "utterance seconds"),
    "utt2num_frames": (2, 2, "utterance frames"),
    "reco2dur": (2, 2, "recording seconds"),
    "reco2file_and_channel": (3, 3, "recording file channel"),
    "spk2gender": (2, 2, "speaker gender"),
}
NUMBERS = ("utt2dur", "utt2num_frames", "reco2dur")  # tables whose second column is a number
CR = "\r"
NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?")
BOM = "\ufeff"  # byte-order mark, which editors put before the first line
SHOWN = 5  # problems of one file that are told


@dataclass(frozen=True)
class Problem:
    """One line of complaint, and whether fix_data_dir.sh mends it."""

    message: str
    fixable: bool = True


def validate(path, need_feats=True, need_text=True, need_wav=True, non_print=False, allow_empty_text=False):
    """Check a data directory whole.

    Parameters
    ----------
    path : str or Path
    need_feats, need_text, need_wav : bool
        feats.scp, text, wav.scp must be there.
    non_print : bool
        Accept characters in text that cannot be printed.
    allow_empty_text : bool
        Accept utterances without words, as a test set may have.

    Raises
    ------
    PymavgError
        Holds all problems, one a line, at most 5 of each kind.
    """
    path = Path(path)
    problems = _missing(path, need_feats, need_text, need_wav)
    for name in TABLES:
        if (path / name).is_file():
            problems += check_table(path / name, non_print, allow_empty_text)[1]
    if not problems:
        data = DataDir(path)
        problems = _check_keys(data) + check_segments(data)
        _warn_of_details(data)
    if problems:
        lines = [problem.message for problem in problems]
        raise PymavgError(
            "\n".join([*lines, f"{path} is not a valid data directory: {len(lines)} problems, see above"])
        )


def _missing(path, need_feats, need_text, need_wav):
    steps = "run steps/make_mfcc.sh or steps/make_fbank.sh, or give --no-feats"
    wanted = {"utt2spk": "lines '<utterance> <speaker>' expected"}
    wanted |= {"feats.scp": steps} if need_feats else {}
    wanted |= {"text": "lines '<utterance> <words>' expected, or give --no-text"} if need_text else {}
    wanted |= {"wav.scp": "lines '<recording> <file>' expected, or give --no-wav"} if need_wav else {}
    missing = [
        Problem(f"{path / name}: no such file; {remedy}", False)
        for name, remedy in wanted.items()
        if not (path / name).is_file()
    ]
    if not (path / "spk2utt").is_file():
        missing.append(Problem(f"{path}/spk2utt: no such file; run utils/fix_data_dir.sh {path}"))
    return missing


def check_table(path, non_print=True, allow_empty_text=True):
    """Check the form of one table: order, columns, empty lines, keys that come twice, and characters of text.

    Returns
    -------
    rows : list of (line number, key, rest)
    problems : list of Problem
    """
    rows, problems, seen = [], [], {}
    remedy = f"run utils/fix_data_dir.sh {path.parent}"
    in_order = True
    for number, line in enumerate(read_lines(path), 1):
        place = f"{path}:{number}"
        if line.startswith(BOM):
            problems.append(Problem(f"{place}: begins with {describe(BOM)}; {remedy}"))
            line = line.removeprefix(BOM)
        words = line.rstrip(CR).replace("\t", " ").split(" ")
        key, *rest = [word for word in words if word] or [""]
        if not key:
            problems.append(Problem(f"{place}: the line is empty; {remedy}"))
            continue
        if path.name == "text":
            problems += _check_text(place, key, line, non_print, allow_empty_text)
        elif line.endswith(CR):
            problems.append(Problem(f"{place}: '{key}' ends in {describe(CR)}; {remedy}"))
        problems += _check_columns(path, place, line, rest)
        if key in seen:
            problems.append(_twice(place, key, " ".join(rest), *seen[key], remedy))
        elif in_order and rows and key < rows[-1][1]:
            in_order = False
            before = f"'{rows[-1][1]}' (line {rows[-1][0]})"
            problems.append(Problem(f"{place}: '{key}' must come before {before} in C order; {remedy}"))
        seen.setdefault(key, (number, " ".join(rest)))
        rows.append((number, key, " ".join(rest)))
    if not rows:
        problems.append(Problem(f"{path}: is empty; lines '{COLUMNS[path.name][2]}' expected", False))
    return rows, _shortened(path, problems)


def _check_columns(path, place, line, rest):
    fewest, most, names = COLUMNS[path.name]
    count = 1 + len(rest)
    if count < fewest or (most and count > most):
        wanted = f"{fewest}" if fewest == most else f"{fewest} or more"
        found = f"{count} columns found, {wanted} expected"
    elif path.name in NUMBERS and not NUMBER.fullmatch(rest[0]):
        found = f"a number expected, found '{rest[0]}'"
    else:
        return []
    return [Problem(f"{place}: '{line}': {found} ({names}); correct the line", False)]


def _twice(place, key, rest, first_line, first_rest, remedy):
    message = f"{place}: '{key} {rest}': the key '{key}' is on line {first_line} already"
    if rest == first_rest:
        return Problem(f"{message}; {remedy}")
    return Problem(f"{message} as '{key} {first_rest}'; remove one of the lines", False)


def _check_text(place, utt, line, non_print, allow_empty):
    directory = place.rpartition("/")[0]
    remedy = f"run utils/fix_data_dir.sh --fix-text {directory}"
    bad = sorted({c for c in line if is_bad(c) and (not non_print or c.isspace())})
    problems = [Problem(f"{place}: {utt}: {describe(c)} in the text; {remedy}") for c in bad]
    if not allow_empty and not line[line.find(utt) + len(utt) :].strip():
        problems.append(Problem(f"{place}: {utt}: has no words; {remedy} (or allow it: --allow-empty-text)"))
    return problems


def is_bad(char):
    """Return whether a character may not stand in text: control, invisible, or white space other than blank and tab.

    The joiners U+200C and U+200D may, as several scripts of India and Iran are written with them.
    """
    return char not in " \t\u200c\u200d" and unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co")


def describe(char):
    """Return a character's code point and name, as in `U+00A0 (NO-BREAK SPACE)`."""
    return f"U+{ord(char):04X} ({'CR' if char == CR else unicodedata.name(char, 'no name')})"


def _shortened(path, problems):
    if len(problems) <= SHOWN:
        return problems
    rest = problems[SHOWN:]
    more = Problem(f"{path}: and {len(rest)} more problems", all(problem.fixable for problem in rest))
    return [*problems[:SHOWN], more]


def _check_keys(data):
    """Check that all tables speak of the same utterances, speakers and recordings."""
    problems = []
    recordings = {segment.recording for segment in data.segments.values()}
    for names, keys, of in (
        (BY_UTTERANCE, set(data.utts), "utt2spk"),
        (BY_SPEAKER, set(data.spk2utt), "utt2spk"),
        (BY_RECORDING, recordings, "segments" if data.has("segments") else "utt2spk"),
    ):
        for name in filter(data.has, names):
            problems += compare_keys(data.path, name, set(data.table(name)), of, keys)
    if not problems and data.table("spk2utt") != join_members(data.spk2utt):
        remedy = f"run utils/fix_data_dir.sh {data.path}"
        problems.append(Problem(f"{data.path}/spk2utt: does not say the same as utt2spk; {remedy}"))
    return problems


def compare_keys(path, name, found, of, expected):
    """Return the problem, if any, that the keys of table `name` are not those that table `of` asks for."""
    lacking, extra = expected - found, found - expected
    if not lacking and not extra:
        return []
    message = f"{path}/{name}: is not of the same set as {of}:"
    if lacking:
        message += f" {len(lacking)} of {len(expected)} lacking (first: {min(lacking)})"
    if extra:
        message += f"{',' if lacking else ''} {len(extra)} too many (first: {min(extra)})"
    return [Problem(f"{message}; run utils/fix_data_dir.sh {path}")]


def check_segments(data):
    """Check segments against the lengths of the recordings, where reco2dur has them."""
    if not data.has("segments") or not data.has("reco2dur"):
        return []
    problems = []
    for utt, segment in data.segments.items():
        length = data.reco2dur.get(segment.recording)
        if length is None or not overshoots(segment, length):
            continue
        found = f"{segment.start:g} to {segment.end or length:g} s, but {segment.recording} lasts {length:g} s"
        problems.append(Problem(f"{segment.place}: {utt}: {found}; run utils/fix_data_dir.sh {data.path}"))
    return _shortened(data.path / "segments", problems)


def overshoots(segment, length):
    """Return whether a segment starts after its recording's end or ends more than 0.5 s after it."""
    return segment.start >= length or (segment.end or 0.0) > length + MAX_OVERSHOOT


def _warn_of_details(data):
    for whole in sorted(data.path.glob("split*")):
        if whole.is_dir() and is_stale(whole):
            warn(f"{whole}: older than {data.path}; utils/split_data.sh will remake it")
    alien = [utt for utt, spk in data.utt2spk.items() if not utt.startswith(spk)]
    if alien:
        spk = data.utt2spk[alien[0]]
        warn(f"{data.path}/utt2spk: '{alien[0]}' does not begin with its speaker '{spk}'; Kaldi's own tools want that")
