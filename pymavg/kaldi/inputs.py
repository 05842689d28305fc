"""Opening what a rspecifier names: files, plain or compressed, and pipes, none of which may fail unnoticed."""

import contextlib
import gzip
import os
import signal
import subprocess
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.kaldi.source import CHUNK, ByteSource

OPEN_FILES = 8  # files that an OpenFiles keeps open


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
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # so that all of a pipeline can be ended
        )
        try:
            yield ByteSource(process.stdout, f"'{command} |'")
            while process.stdout.read(CHUNK):  # what the reader did not want; else the command would see a broken pipe
                pass
        except PymavgError as error:
            raise PymavgError(f"{error}{_fault(process, errors, command)}") from error
        except BaseException:  # the reader stopped early
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            process.stdout.close()
            process.wait()
        fault = _fault(process, errors, command)
        if fault:
            raise PymavgError(fault.removeprefix("; "))


def _fault(process, errors, command):
    """Return "; the command ... failed ..." when it did by its own fault, or an empty string."""
    process.stdout.close()
    status = process.wait()
    if status in (0, -signal.SIGPIPE, 128 + signal.SIGPIPE):
        return ""
    errors.seek(0)
    said = errors.read()[-2000:].decode("utf-8", "replace").strip()
    return f"; the command '{command}' failed with status {status}: {' / '.join(said.splitlines()[-3:]) or 'silent'}"


def _open_file(path):
    try:
        return gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # the latter for a name with a zero byte
        raise PymavgError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


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


def read_scp(place):
    """Return the dict key -> (line number, text after the key) of an scp file, `-` or `command |`, in its order.

    Raises
    ------
    PymavgError
        For an empty table, a line with a key alone, or a key that comes twice.
    """
    entries = {}
    for number, line in enumerate(_lines(str(place)), start=1):
        key, *rest = line.split(None, 1)[:2] or [""]
        if not rest or not rest[0].strip():
            raise PymavgError(f"{place}:{number}: '<key> <file>' expected, found '{line.strip()}'")
        if key in entries:
            raise PymavgError(f"{place}:{number}: key '{key}' was on line {entries[key][0]} already")
        entries[key] = number, rest[0].strip()
    if not entries:
        raise PymavgError(f"{place}: is empty; lines '<key> <file>' expected")
    return entries


def _lines(place):
    if place != "-" and not place.endswith("|"):
        return read_lines(place)
    with open_stream(place) as source:
        try:
            return source.rest().decode("utf-8").splitlines()
        except UnicodeDecodeError:
            raise source.error("not UTF-8 text") from None
