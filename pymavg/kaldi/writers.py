"""Archives written: matrices, vectors and alignments; no file has its final name before all is written."""

from contextlib import ExitStack

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.compressed import write_compressed
from pymavg.kaldi.stream import KaldiWriter


class TableWriter:
    """Writes one archive, and an scp file that points into it, as a context manager.

    Parameters
    ----------
    ark : str or Path
        The archive; a name in .gz is compressed (no scp file then).
    scp : str or Path, optional
        Gets lines `key ark:offset` with the path of `ark` as given.
    binary : bool
        Text when False.

    Raises
    ------
    PymavgError
        On leaving, when nothing was written: an empty archive is never a result.
    """

    def __init__(self, ark, scp=None, binary=True):
        if scp and str(ark).endswith(".gz"):
            raise PymavgError(f"{ark}: an scp file cannot point into a compressed archive; write a plain .ark")
        self._ark, self._scp, self._binary = str(ark), scp, binary
        self._seen = set()
        self._lines = []

    def __enter__(self):
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(atomic_open(self._ark, "wb"))
        return self

    def __exit__(self, kind, error, trace):
        if kind is None and not self._seen:
            error = PymavgError(f"{self._ark}: nothing to write; utterances expected")
            self._stack.__exit__(PymavgError, error, None)
            raise error
        self._stack.__exit__(kind, error, trace)
        if kind is None and self._scp:
            with atomic_open(self._scp) as stream:
                stream.writelines(self._lines)

    def write(self, key, value):
        """Write `value` under `key`."""
        if not key or key.split() != [key]:
            raise PymavgError(f"{self._ark}: a key without spaces expected, found '{key}'")
        if key in self._seen:
            raise PymavgError(f"{self._ark}: key '{key}' is written twice")
        self._seen.add(key)
        try:
            self._stream.write(f"{key} ".encode())
            if self._scp:
                self._lines.append(f"{key} {self._ark}:{self._stream.tell()}\n")
            self._put(KaldiWriter(self._stream, self._binary), value)
        except OSError as error:
            raise PymavgError(f"{self._ark}: cannot be written: {error.strerror or error}; check the disk") from error

    def _put(self, writer, value):
        raise NotImplementedError


class MatrixWriter(TableWriter):
    """Writes matrices (rows, columns): float32, float64 with `double`, or compressed.

    `compress` is Kaldi's compression method, 1 to 7: see compressed.py; True is 1.
    """

    def __init__(self, ark, scp=None, compress=False, double=False, binary=True):
        super().__init__(ark, scp, binary)
        self._compress, self._double = compress, double

    def _put(self, writer, value):
        if self._compress:
            if not np.isfinite(value).all():
                raise PymavgError(f"{self._ark}: values that are not finite cannot be compressed")
            write_compressed(writer, value, self._compress)
        else:
            writer.matrix(value, self._double)


class VectorWriter(TableWriter):
    """Writes float32 vectors (n,)."""

    def _put(self, writer, value):
        writer.vector(value)


class IntVectorWriter(TableWriter):
    """Writes int32 vectors (n,) as in alignments; binary."""

    def _put(self, writer, value):
        values = np.asarray(value)
        if values.dtype.kind not in "iu" and values.size:
            raise PymavgError(f"{self._ark}: whole numbers expected, found {values.dtype}")
        writer.basic_vector(values)


def write_matrix(path, matrix, double=False):
    """Write a file that holds one matrix (rows, columns), as final.mat; float32 unless `double`."""
    with atomic_open(path, "wb") as stream:
        KaldiWriter(stream).matrix(matrix, double)
