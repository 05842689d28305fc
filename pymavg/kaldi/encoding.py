"""Kaldi's elementary encodings written: the other half of pymavg.kaldi.stream, which tells the formats."""

import struct

import numpy as np

BINARY_MARK = b"\0B"
PAIR = np.dtype([("size", "i1"), ("value", "<i4")])  # an element of a std::vector<int32>


class KaldiWriter:
    """Writes Kaldi's encodings to a binary stream; the mark of a binary object is written at once.

    Text carries 7 significant digits, as Kaldi's does.

    Parameters
    ----------
    stream : binary file object
    binary : bool
    """

    def __init__(self, stream, binary=True):
        self.binary = binary
        self._write = stream.write
        if binary:
            self._write(BINARY_MARK)

    def text(self, text):
        """Write `text` as it is, in text mode only (the newlines that Kaldi puts between parts)."""
        if not self.binary:
            self._write(text.encode())

    def raw(self, data):
        """Write bytes as they are."""
        self._write(data)

    def token(self, token):
        """Write a token and one space."""
        self._write(f"{token} ".encode())

    def int32(self, value):
        """Write an integer."""
        self._write(b"\4" + struct.pack("<i", value) if self.binary else f"{value} ".encode())

    def uint32(self, value):
        """Write an unsigned integer."""
        self._write(b"\xfc" + struct.pack("<I", value) if self.binary else f"{value} ".encode())

    def float32(self, value):
        """Write a number in single precision."""
        value = np.float32(value)
        self._write(b"\4" + value.astype("<f4").tobytes() if self.binary else f"{value:.7g} ".encode())

    def float64(self, value):
        """Write a number in double precision."""
        self._write(b"\x08" + struct.pack("<d", value) if self.binary else f"{value:.7g} ".encode())

    def int_vector(self, values):
        """Write integers as Kaldi's WriteIntegerVector does."""
        values = np.ascontiguousarray(values, "<i4")
        if self.binary:
            self._write(b"\4" + struct.pack("<i", len(values)) + values.tobytes())
        else:
            self._write("".join(["[ ", *(f"{v} " for v in values.tolist()), "]\n"]).encode())

    def basic_vector(self, values):
        """Write integers as in archives of alignments."""
        values = np.asarray(values, np.int32)
        if self.binary:
            pairs = np.empty(len(values), PAIR)
            pairs["size"], pairs["value"] = 4, values
            self._write(b"\4" + struct.pack("<i", len(values)) + pairs.tobytes())
        else:
            self._write("".join([*(f"{v} " for v in values.tolist()), "\n"]).encode())

    def vector(self, values, double=False):
        """Write a vector (n,) in single (or double) precision."""
        values = np.ascontiguousarray(values, "<f8" if double else "<f4")
        if self.binary:
            self._write((b"DV " if double else b"FV ") + b"\4" + struct.pack("<i", len(values)) + values.tobytes())
        else:
            self._write(f" [ {_digits(values)}]\n".encode())

    def matrix(self, values, double=False):
        """Write a matrix (rows, columns) in single (or double) precision."""
        values = np.ascontiguousarray(values, "<f8" if double else "<f4")
        if self.binary:
            self._write((b"DM " if double else b"FM ") + struct.pack("<bibi", 4, values.shape[0], 4, values.shape[1]))
            self._write(values.data if values.size else b"")
        elif values.size:
            self._write("".join([" [", *(f"\n  {_digits(row)}" for row in values), "]\n"]).encode())
        else:
            self._write(b" [ ]\n")

    def triangle(self, values):
        """Write the lower triangle (n (n + 1) / 2,) of a symmetric matrix, row after row, in the precision it has."""
        rows = int(np.sqrt(2 * len(values)))
        if self.binary:
            self._write((b"DP " if values.dtype == np.float64 else b"FP ") + b"\4" + struct.pack("<i", rows))
            self._write(values.tobytes())
        else:
            lines = (values[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(rows))
            self._write((" [\n" + "\n".join(_digits(line) for line in lines) + "]\n").encode())


def _digits(values):
    return "".join(f"{v:.7g} " for v in values.tolist())
