"""Kaldi's names for inputs: rspecifiers (`scp:f`, `ark:f`, `ark:cmd |`, `ark:-`) and what stands in an scp line.

A place (Kaldi: rxfilename) is a file, `file:offset`, a command ending in `|`, `-` for the standard input, and any of
the first two followed by a range of rows and columns, `[0:9]` or `[0:9,2:5]` (both ends included). Files in .gz are
decompressed. Source: Kaldi's util/kaldi-io.cc and util/kaldi-table.cc.
"""

import contextlib
import gzip
import re
import subprocess
import sys
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.kaldi.source import ByteSource

_SPECIFIER = re.compile(r"(?P<kind>ark|scp)(?P<flags>(,[a-z]+)*):(?P<place>.*)", re.DOTALL)
_FLAGS = {"b", "t", "o", "no", "p", "np", "f", "nf", "s", "ns", "cs", "ncs", "bg"}
_RANGE = re.compile(r"(?P<place>.*)\[(?P<range>[^\[\]]*)\]$", re.DOTALL)
_OFFSET = re.compile(r"(?P<file>.+):(?P<offset>\d+)$", re.DOTALL)
OPEN_FILES = 8  # files that an OpenFiles keeps open


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
        Directory that relative paths start from; without it, as in Kaldi, the current one.
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
    return Place(whole, file if root is None else str(Path(root, file)), offset, "", window)


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


@contextlib.contextmanager
def open_stream(text):
    """Open a file, `-` or `command |` for reading; yield a ByteSource.

    A command's exit status is checked when the caller has read to the end without an error of its own: any status but 0
    is a PymavgError with the command, the status and the end of its standard error.
    """
    if text.endswith("|"):
        with _open_pipe(text[:-1].strip()) as source:
            yield source
    elif text == "-":
        yield ByteSource(sys.stdin.buffer, "standard input")
    else:
        with _open_file(text) as stream:
            yield ByteSource(stream, text, size_of(stream))


@contextlib.contextmanager
def _open_pipe(command):
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            yield ByteSource(process.stdout, f"'{command} |'")
            process.stdout.read(1)  # a reader that has all it wants must not look like a broken pipe
        except PymavgError as error:
            raise PymavgError(f"{error}{_fault(process, errors, command)}") from error
        finally:
            process.stdout.close()
            process.wait()
        fault = _fault(process, errors, command)
        if fault:
            raise PymavgError(fault.removeprefix("; "))


def _fault(process, errors, command):
    """Return "; command failed ..." when the ended process did fail, or an empty string."""
    process.stdout.close()
    status = process.wait()
    errors.seek(0)
    said = errors.read()[-2000:].decode("utf-8", "replace").strip()
    if status == 0:
        return ""
    return f"; the command '{command}' failed with status {status}: {' / '.join(said.splitlines()[-3:]) or 'silent'}"


def _open_file(path):
    try:
        return gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error.strerror or error}") from error


def size_of(stream):
    """Return the number of bytes of a regular, uncompressed file; None of anything else."""
    if isinstance(stream, gzip.GzipFile):
        return None
    path = Path(stream.name)
    return path.stat().st_size if path.is_file() else None


class OpenFiles:
    """Files by path, the least recently used closed first, so that few are open however many archives there are."""

    def __init__(self, limit=OPEN_FILES):
        self._limit = limit
        self._open = OrderedDict()

    def source(self, path, offset):
        """Return a ByteSource over `path` from `offset` on."""
        if path in self._open:
            self._open.move_to_end(path)
        else:
            stream = _open_file(path)
            self._open[path] = stream, size_of(stream)
            if len(self._open) > self._limit:
                self._open.popitem(last=False)[1][0].close()
        stream, size = self._open[path]
        if size is not None and offset >= size:
            raise PymavgError(f"{path}: has {size} bytes, the scp file says offset {offset}; make the scp file anew")
        try:
            stream.seek(offset)
        except (OSError, EOFError) as error:
            raise PymavgError(f"{path}: cannot be read: {error}") from error
        return ByteSource(stream, path, None if size is None else size - offset, offset)

    def close(self):
        """Close all."""
        while self._open:
            self._open.popitem()[1][0].close()


def read_scp(path):
    """Return the dict key -> (line number, text after the key) of an scp file, in the file's order.

    Raises
    ------
    PymavgError
        For a line with a key alone, or a key that comes twice.
    """
    entries = {}
    for number, line in enumerate(read_lines(path), start=1):
        key, _, rest = line.strip().partition(" ")
        if not rest and "\t" in key:
            key, _, rest = key.partition("\t")
        if not rest.strip():
            raise PymavgError(f"{path}:{number}: '<key> <file>' expected, found '{line}'")
        if key in entries:
            raise PymavgError(f"{path}:{number}: key '{key}' was on line {entries[key][0]} already")
        entries[key] = number, rest.strip()
    return entries
