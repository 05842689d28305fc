"""A byte source that never trusts a size it reads: memory, a file, or a pipe, seen through one window."""

import re
import zlib

import numpy as np

from pymavg.errors import PymavgError

CHUNK = 1 << 16  # bytes read ahead from a stream
LIMIT = 1 << 24  # bytes asked of a stream in one call: a damaged size must not become one giant allocation
LONGEST_TOKEN = 4096

_TOKEN = re.compile(rb"\s*(\S+)(?=\s)[ \t]?")
_LAST_TOKEN = re.compile(rb"\s*(\S+)")
_SPACE = re.compile(rb"\s*")


class ByteSource:
    """Bytes with a cursor; a stream is read on demand, in bounded pieces.

    Parameters
    ----------
    source : bytes-like or binary file object
        All the data, or a stream positioned at the first byte wanted.
    name : str
        Name for messages.
    size : int, optional
        Number of bytes from the start of the stream to its end, where it is known (a regular file): what lies beyond
        is then refused before anything is read.
    start : int
        Offset of the stream's first byte in the file, for messages.
    """

    def __init__(self, source, name, size=None, start=0):
        in_memory = not hasattr(source, "read")
        self.name = name
        self.utterance = None  # named in messages when set
        self._stream = None if in_memory else source
        self._read_some = None if in_memory else getattr(source, "read1", source.read)  # does not wait for all of n
        self._data = source if in_memory else b""
        self._cursor = 0
        self._base = start  # offset in the file of _data[0]
        self._end = size + start if size is not None else None

    @property
    def offset(self):
        """Offset in the file of the next byte."""
        return self._base + self._cursor

    def error(self, message, offset=None):
        """Return a PymavgError that names the file, the offset and, where known, the utterance."""
        utterance = f" utterance {self.utterance}" if self.utterance else ""
        return PymavgError(f"{self.name}:{self.offset if offset is None else offset}{utterance}: {message}")

    def have(self, n):
        """Make up to `n` bytes present after the cursor; return how many are (fewer only at the end of the data)."""
        present = len(self._data) - self._cursor
        if present >= n or self._stream is None:
            return present
        if self._end is not None and self.offset + n > self._end and n > LONGEST_TOKEN:
            return self._end - self.offset
        pieces = [self._data[self._cursor :]]
        while present < n:
            pieces.append(self._read(min(max(n - present, CHUNK), LIMIT)))
            present += len(pieces[-1])
            if not pieces[-1]:
                break
        self._base += self._cursor
        self._data, self._cursor = b"".join(pieces), 0
        return present

    def _read(self, n):
        try:
            return self._read_some(n)
        except (OSError, EOFError, zlib.error) as error:
            raise self.error(f"cannot be read: {error}") from error

    def take(self, n, what):
        """Return the next `n` bytes; `what` tells in the message what is missing where there are fewer."""
        present = self.have(n)
        if present < n:
            raise self.error(f"{what} expected, {present} of {n} bytes present; the file is cut or damaged")
        self._cursor += n
        return self._data[self._cursor - n : self._cursor]

    def rest(self):
        """Return all bytes that are left."""
        n = LIMIT
        while self.have(n) == n:
            n *= 2
        return self.take(self.have(n), "bytes")

    def array(self, dtype, shape, what="values"):
        """Return the next values as a writable array of `shape`, copied once."""
        dtype, count = np.dtype(dtype), int(np.prod(shape, dtype=object))
        present = self.have(count * dtype.itemsize) // dtype.itemsize
        if present < count:
            size = "x".join(map(str, shape))
            raise self.error(f"{size} {what} expected, {present} of {count} present; the file is cut or damaged")
        values = np.frombuffer(self._data, dtype, count, self._cursor).reshape(shape)
        self._cursor += count * dtype.itemsize
        return values.copy()

    def starts_with(self, mark):
        """Tell whether the next bytes are `mark`; nothing is consumed."""
        return self.have(len(mark)) >= len(mark) and self._data[self._cursor : self._cursor + len(mark)] == mark

    def skip_space(self):
        """Move over white space."""
        while self.have(1):
            self._cursor = _SPACE.match(self._data, self._cursor).end()
            if self._cursor < len(self._data):
                break

    def token(self, consume=True):
        """Return the next word as text, '' at the end of the data; a space after it is consumed, a newline is not."""
        self.skip_space()
        while True:
            present = len(self._data) - self._cursor
            found = _TOKEN.match(self._data, self._cursor, self._cursor + LONGEST_TOKEN)
            if found:
                break
            if present >= LONGEST_TOKEN:
                raise self.error(f"a word expected, found {LONGEST_TOKEN} bytes without a space; the file is damaged")
            if self.have(present + 1) == present:
                found = _LAST_TOKEN.match(self._data, self._cursor)
                break
        if not found:
            return ""
        try:
            text = found.group(1).decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"a word expected, found the bytes {found.group(1)[:20]!r}") from None
        if consume:
            self._cursor = found.end()
        return text

    def until(self, mark, what):
        """Return the bytes up to the one-byte `mark`, which is consumed too; the end of the data is an error."""
        searched = 0
        while True:
            at = self._data.find(mark, self._cursor + searched)
            if at >= 0:
                text = self._data[self._cursor : at]
                self._cursor = at + 1
                return text
            searched = len(self._data) - self._cursor
            if self.have(searched + 1) == searched:
                raise self.error(f"'{mark.decode()}' at the end of {what} expected, found the end of the file")

    def line(self):
        """Return the bytes up to the next newline, which is consumed, or to the end of the data."""
        searched = 0
        while True:
            at = self._data.find(b"\n", self._cursor + searched)
            if at < 0:
                searched = len(self._data) - self._cursor
                if self.have(searched + 1) > searched:
                    continue
                at = len(self._data)
            text = self._data[self._cursor : at]
            self._cursor = min(at + 1, len(self._data))
            return text
