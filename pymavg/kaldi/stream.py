r"""Kaldi's elementary encodings: tokens, numbers, vectors and matrices, binary and text, read and written.

A binary object starts with the mark "\0B". Then a token is its characters and one space; a number is one byte with its
size (4) and the value; a matrix is "FM ", rows, columns, values in rows (FV for a vector, D for double precision, CM,
CM2, CM3 compressed). Text has the same order with white space between. Sources: Kaldi's base/io-funcs.cc,
matrix/kaldi-matrix.cc, matrix/kaldi-vector.cc, util/kaldi-holder-inl.h.

Everything is checked against the bytes that are really there, so that a damaged size is an error and not an allocation.
"""

import struct
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import decompress
from pymavg.kaldi.compressed import COMPRESSED, read_compressed
from pymavg.kaldi.encoding import BINARY_MARK, PAIR, KaldiWriter
from pymavg.kaldi.source import ByteSource

__all__ = ["KaldiReader", "KaldiWriter", "open_reader"]


def open_reader(path):
    """Return a KaldiReader over the whole file `path`, plain or .gz.

    Raises
    ------
    PymavgError
        When the file is missing, empty, or cannot be read.
    """
    try:
        data = Path(path).read_bytes()
        data = decompress(data, path) if Path(path).suffix == ".gz" else data
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error}") from error
    if not data:
        raise PymavgError(f"{path}: is empty")
    return KaldiReader(data, path)


class KaldiReader:
    """Reads Kaldi's encodings from bytes or a binary stream.

    Parameters
    ----------
    source : bytes, binary file object, or ByteSource
        The object's data; the mark of a binary object is consumed at once and sets `binary`. A ByteSource is taken as
        it stands: call `begin` where an object starts.
    name : str or Path
        Name for messages; every error is a PymavgError that starts with "name:offset".
    """

    def __init__(self, source, name=None):
        self.binary = False
        if isinstance(source, ByteSource):
            self.source = source
        else:
            self.source = ByteSource(source, str(name))
            self.begin()

    def begin(self):
        """Consume the mark of a binary object, if there is one, and set `binary` accordingly."""
        self.binary = self.source.starts_with(BINARY_MARK)
        if self.binary:
            self.source.take(2, "mark")

    def error(self, message):
        """Return a PymavgError that starts with file and offset."""
        return self.source.error(message)

    @property
    def at_end(self):
        """True when nothing but white space (text) or nothing at all (binary) is left."""
        if not self.binary:
            self.source.skip_space()
        return self.source.have(1) == 0

    def peek(self):
        """Return the next token without consuming it; '' at the end."""
        return self.source.token(consume=False)

    def token(self):
        """Return the next token; the end of the data is an error."""
        word = self.source.token()
        if not word:
            raise self.error("a token expected, found the end of the file")
        return word

    def expect(self, *tokens):
        """Consume the next token, which must be one of `tokens`, and return it."""
        offset, found = self.source.offset, self.source.token()
        if found not in tokens:
            raise self.source.error(f"{' or '.join(tokens)} expected, found '{found[:40]}'", offset)
        return found

    def int32(self):
        """Return the next 32-bit integer."""
        if self.binary:
            return self._sized("<i")
        return self._number(int, "a whole number")

    def uint32(self):
        """Return the next unsigned 32-bit integer (its size byte is -4)."""
        if not self.binary:
            return self._number(int, "a whole number")
        start, data = self.source.offset, self.source.take(5, "a number")
        if data[0] != 0xFC:
            raise self.source.error(f"an unsigned number expected, found the size byte {data[0]}", start)
        return struct.unpack_from("<I", data, 1)[0]

    def float32(self):
        """Return the next number as a Python float; single and double precision are accepted."""
        if self.binary:
            return self._sized("<d" if self.source.starts_with(b"\x08") else "<f")
        return self._number(float, "a number")

    def _sized(self, code):
        size = struct.calcsize(code)
        start = self.source.offset
        data = self.source.take(1 + size, "a number")
        if data[0] != size:
            raise self.source.error(f"a number of {size} bytes expected, found the size byte {data[0]}", start)
        return struct.unpack_from(code, data, 1)[0]

    def _number(self, kind, what):
        offset, word = self.source.offset, self.token()
        try:
            return kind(word)
        except ValueError:
            raise self.source.error(f"{what} expected, found '{word[:40]}'", offset) from None

    def int_vector(self):
        """Return an int32 array (n,) as Kaldi's WriteIntegerVector lays it out."""
        if self.binary:
            return self.source.array("<i4", (self._size("a vector"),), "integers")
        return self._numbers(self._bracketed("a vector").split(), np.int32)

    def basic_vector(self):
        """Return an int32 array (n,) as in archives of alignments: each element carries its size byte."""
        if not self.binary:
            words = [w for w in self.source.line().split() if w not in (b"[", b"]")]
            return self._numbers(words, np.int32)
        pairs = self.source.array(PAIR, (self._size("a vector"),), "integers")
        if np.any(pairs["size"] != 4):
            raise self.error("integers of 4 bytes expected, found other size bytes; the file is damaged")
        return np.ascontiguousarray(pairs["value"])

    def vector(self, dtype=np.float32):
        """Return a vector (n,) of `dtype`, from single or double precision; None keeps what it has."""
        if not self.binary:
            return self._numbers(self._bracketed("a vector").split(), dtype or np.float32)
        kind = self.expect("FV", "DV")
        return self._floats(kind, (self._size("a vector"),), dtype)

    def matrix(self, dtype=np.float32):
        """Return a matrix (rows, columns) of `dtype` from single or double precision, or compressed (CM, CM2, CM3).

        None keeps the precision that it has.
        """
        if not self.binary:
            return self._text_matrix(dtype or np.float32)
        kind = self.expect("FM", "DM", *COMPRESSED)
        if kind in COMPRESSED:
            return read_compressed(self.source, kind).astype(dtype or np.float32, copy=False)
        shape = self._size("a matrix"), self._size("a matrix")
        return self._floats(kind, shape, dtype)

    def _floats(self, kind, shape, dtype):
        values = self.source.array("<f4" if kind[0] == "F" else "<f8", shape, "floats")
        with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite
            return values if dtype is None else values.astype(dtype, copy=False)

    def triangle(self):
        """Return the lower triangle of a symmetric matrix, row after row: a flat array (n (n + 1) / 2,)."""
        if not self.binary:
            return self._numbers(self._bracketed("a triangle").split(), np.float64)
        kind, n = self.expect("FP", "DP"), self._size("a triangle")
        return self._floats(kind, (n * (n + 1) // 2,), None)

    def _size(self, what):
        n = self.int32()
        if n < 0:
            raise self.error(f"the size of {what} expected, found {n}; the file is damaged")
        return n

    def _text_matrix(self, dtype):
        lines = self._bracketed("a matrix").replace(b";", b"\n").split(b"\n")
        rows = [words for words in map(bytes.split, lines) if words]
        if not rows:
            return np.zeros((0, 0), dtype)
        columns = len(rows[0])
        for i, words in enumerate(rows):
            if len(words) != columns:
                raise self.error(f"row {i + 1} of a matrix has {len(words)} numbers, its first row {columns}")
        return self._numbers([word for words in rows for word in words], dtype).reshape(len(rows), columns)

    def _bracketed(self, what):
        self.source.skip_space()
        if not self.source.starts_with(b"["):
            raise self.error(f"'[' at the start of {what} expected, found '{self.peek()[:40]}'")
        self.source.take(1, "[")
        text = self.source.until(b"]", what)
        if self.source.starts_with(b"\n"):  # it belongs to the object; what follows may be binary
            self.source.take(1, "newline")
        return text

    def _numbers(self, words, dtype):
        try:
            return np.array(words, dtype=np.bytes_).astype(dtype) if words else np.zeros(0, dtype)
        except (ValueError, OverflowError) as error:
            raise self.error(f"numbers expected, found text: {error}") from None
