"""Tables: archives (ark) and scripts (scp) of matrices, vectors and alignments, read and written.

Every reader takes an rspecifier (see pymavg.kaldi.rspecifier) and yields (key, value) pairs; damaged data, a missing
file or a failing pipe is a PymavgError that names file, offset and utterance. Every writer gives its files their final
names only when all is written.

The readers are our own and not those of the package kaldi-io, which could not be made safe from outside: it cannot read
compressed matrices with NumPy 2.4 at all, leaves utterances of an scp file out after any error with no more than a
printed line, ends in silence where a pipe fails, trusts every size it reads, and edits PATH when imported. The
encodings are needed for models in any case (pymavg.kaldi.stream); the tests compare with kaldi-io on what both read.
"""

import threading
from collections.abc import Mapping

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.kaldi.inputs import OpenFiles, open_stream, read_scp
from pymavg.kaldi.rspecifier import is_there, parse_place, parse_rspecifier
from pymavg.kaldi.stream import KaldiReader
from pymavg.kaldi.writers import IntVectorWriter, MatrixWriter, VectorWriter

__all__ = [
    "IntVectorWriter",
    "MatrixScp",
    "MatrixWriter",
    "Scp",
    "VectorWriter",
    "read_archive",
    "read_int_vectors",
    "read_matrices",
    "read_token_map",
    "read_vectors",
]


def read_matrices(rspecifier, dtype=np.float32, root=None):
    """Yield (key, matrix (rows, columns) of `dtype`) of an ark or scp; single, double, compressed, text."""
    yield from _read_table(rspecifier, lambda reader: reader.matrix(dtype), root)


def read_vectors(rspecifier, dtype=np.float32, root=None):
    """Yield (key, vector (n,) of `dtype`) of an ark or scp."""
    yield from _read_table(rspecifier, lambda reader: reader.vector(dtype), root)


def read_int_vectors(rspecifier, root=None):
    """Yield (key, int32 vector (n,)), as in alignments, of an ark or scp."""
    yield from _read_table(rspecifier, KaldiReader.basic_vector, root)


def _read_table(rspecifier, read, root):
    kind, place = parse_rspecifier(rspecifier)
    if kind == "scp":
        yield from Scp(place, read, root).items()
    else:
        yield from read_archive(place, read)


def read_archive(place, read):
    """Yield (key, read(reader)) for each entry of the archive `place`: a file, `-`, or a command ending in `|`."""
    with open_stream(place) as source:
        reader = KaldiReader(source)
        count = 0
        while True:
            source.utterance = None
            source.skip_space()
            key = source.token()
            if not key:
                break
            source.utterance = key
            reader.begin()
            yield key, read(reader)
            count += 1
        if not count:
            raise PymavgError(f"{source.name}: the archive is empty; an utterance expected")


class Scp(Mapping):
    """Objects of an scp file by key, each read when asked for.

    Parameters
    ----------
    path : str or Path
    read : callable
        Takes a KaldiReader at the start of an object, returns the object.
    root : str, optional
        Where the file's paths are looked for (rspecifier.reroot); without it, relative ones start, as in Kaldi, from
        the current directory.
    """

    def __init__(self, path, read, root=None):
        self.path = str(path)
        self._read = read
        self._root = root
        self._entries = read_scp(path)
        self._files = OpenFiles()
        self._lock = threading.Lock()  # several workers of one process read ahead, each in its thread

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return iter(self._entries)

    def __contains__(self, key):
        return key in self._entries

    def __getitem__(self, key):
        """Read the object of `key`."""
        if key not in self._entries:
            raise KeyError(key)
        line, text = self._entries[key]
        place = parse_place(text, self._root, f"{self.path}:{line}")
        try:
            value = self._load(place, key)
        except PymavgError as error:
            raise PymavgError(f"{self.path}:{line}: {key}: {error}{_moved(place)}") from error
        return self._cut(value, place, key)

    def _load(self, place, key):
        if place.command:
            with open_stream(place.command + " |") as source:
                return self._object(source, key)
        if place.file == "-":
            raise PymavgError(f"'{place.text}': the standard input cannot be read at random; use ark:-")
        with self._lock:
            return self._object(self._files.source(place.file, place.offset), key)

    def _object(self, source, key):
        source.utterance = key
        reader = KaldiReader(source)
        reader.begin()
        return self._read(reader)

    def _cut(self, value, place, key):
        window = place.window[: value.ndim]
        if any((s.stop or 0) > n for s, n in zip(window, value.shape, strict=False)):
            raise PymavgError(f"{self.path}: {key}: '{place.text}' is out of range, the whole is {value.shape}")
        return np.ascontiguousarray(value[window])

    def close(self):
        """Close the archives."""
        self._files.close()


def _moved(place):
    """Return the remedy where the file of an scp line is not there, or an empty string."""
    if not place.file or is_there(place.file):
        return ""
    return "; do the paths start from another directory? utils/copy_data_dir.sh --root DIR sets them right"


class MatrixScp(Scp):
    """Matrices (rows, columns) of an scp file by utterance, each read when asked for."""

    def __init__(self, path, dtype=np.float32, root=None):
        super().__init__(path, lambda reader: reader.matrix(dtype), root)


def read_token_map(path):
    """Return the dict of a text file of lines `key rest of the line`, as utt2spk, spk2utt, text or utt2num_frames.

    Raises
    ------
    PymavgError
        For an empty line or a key that comes twice.
    """
    table = {}
    for number, line in enumerate(read_lines(path), start=1):
        key, *rest = line.strip().split(None, 1)[:2] or [""]
        if not key:
            raise PymavgError(f"{path}:{number}: '<key> <value>' expected, found an empty line")
        if key in table:
            raise PymavgError(f"{path}:{number}: key '{key}' comes twice")
        table[key] = rest[0] if rest else ""
    return table
