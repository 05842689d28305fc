"""Kaldi's names for inputs: rspecifiers (`scp:f`, `ark:f`, `ark:cmd |`, `ark:-`) and what stands in an scp line.

A place (Kaldi: rxfilename) is a file, `file:offset`, a command ending in `|`, `-` for the standard input, and any of
the first two followed by a range of rows and columns, `[0:9]` or `[0:9,2:5]` (both ends included). Files in .gz are
decompressed. Source: Kaldi's util/kaldi-io.cc and util/kaldi-table.cc.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pymavg.errors import PymavgError

_SPECIFIER = re.compile(r"(?P<kind>ark|scp)(?P<flags>(,[a-z]+)*):(?P<place>.*)", re.DOTALL)
_FLAGS = {"b", "t", "o", "no", "p", "np", "f", "nf", "s", "ns", "cs", "ncs", "bg"}
_RANGE = re.compile(r"(?P<place>.*)\[(?P<range>[^\[\]]*)\]$", re.DOTALL)
_OFFSET = re.compile(r"(?P<file>.+):(?P<offset>\d+)$", re.DOTALL)


def parse_rspecifier(text):
    """Return (kind, place): kind "scp" or "ark", place the text after the colon.

    A bare path counts as scp when its name ends in .scp, as ark else. Flags (`ark,s,cs:`) are accepted and not needed,
    with the exception of `p` (permissive), which is refused: it would leave out what is missing in silence.
    """
    text = str(text)
    found = _SPECIFIER.fullmatch(text)
    if not found:
        return ("scp" if text.endswith(".scp") else "ark"), text
    flags = set(found["flags"].split(",")[1:])
    if flags - _FLAGS:
        raise PymavgError(f"'{text}': unknown flag '{sorted(flags - _FLAGS)[0]}' before the colon")
    if "p" in flags:
        raise PymavgError(f"'{text}': flag p would leave out missing data in silence; not supported, remove it")
    if not found["place"].strip():
        raise PymavgError(f"'{text}': a file or command expected after the colon")
    return found["kind"], found["place"].strip()


@dataclass(frozen=True)
class Place:
    """Where one object lies: a file with an offset, or a command; with a range of rows and columns where given."""

    text: str
    file: str = ""
    offset: int = 0
    command: str = ""
    window: tuple = ()  # () or the slices of rows and columns


def parse_place(text, root=None, where=""):
    """Parse what stands after the key in an scp line.

    Parameters
    ----------
    text : str
        A file, `file:offset` or `command |`, with or without a range.
    root : str, optional
        Where files are looked for: see `reroot`; without it, as in Kaldi, relative paths start from the current
        directory.
    where : str
        File and line for messages.
    """
    text = whole = text.strip()
    window = ()
    ranged = _RANGE.match(text)
    if ranged and not text.endswith("|"):
        text = ranged["place"]
        window = _parse_range(ranged["range"], f"{where}: '{whole}'")
    if text.endswith("|"):
        return Place(whole, command=text[:-1].strip(), window=window)
    found = _OFFSET.match(text)
    file, offset = (found["file"], int(found["offset"])) if found else (text, 0)
    if not file:
        raise PymavgError(f"{where}: a file name expected, found '{whole}'")
    return Place(whole, file if root is None else reroot(file, root), offset, "", window)


def reroot(file, root):
    """Return where `file` lies under the directory `root`, to which an experiment was moved or copied.

    A relative path starts from `root`. An absolute one that is not there any more is looked for by its ending, the
    longest first: /old/s5/mfcc/raw.1.ark is root/s5/mfcc/raw.1.ark, root/mfcc/raw.1.ark or root/raw.1.ark.
    """
    path = Path(file)
    if not path.is_absolute():
        return str(Path(root, file))
    endings = [] if is_there(path) else [Path(root, *path.parts[i:]) for i in range(1, len(path.parts))]
    return str(next((ending for ending in endings if is_there(ending)), path))


def is_there(file):
    """Return whether a file exists, whatever is wrong with its name."""
    try:
        return Path(file).exists()
    except (OSError, ValueError):  # such as a name that is too long
        return False


def _parse_range(text, where):
    parts = text.split(",")
    if len(parts) > 2:
        raise PymavgError(f"{where}: a range [rows] or [rows,columns] expected")
    slices = [slice(None), slice(None)]
    for i, part in enumerate(parts):
        found = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", part)
        if found and int(found[1]) <= int(found[2]):
            slices[i] = slice(int(found[1]), int(found[2]) + 1)
        elif part.strip() not in ("", ":"):
            raise PymavgError(f"{where}: a range first:last with first <= last expected, found '{part}'")
    return tuple(slices)
