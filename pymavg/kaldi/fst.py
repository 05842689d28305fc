"""Weighted finite-state transducers in the tropical semiring, as flat arrays.

Decoders, aligners and graph builders work on the arrays; the library kaldifst is used for its algorithms only, through
`to_kaldifst` and `from_kaldifst`, and sees only what has been checked here.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.inputs import open_stream
from pymavg.kaldi.openfst import parse, serialise
from pymavg.kaldi.rspecifier import parse_rspecifier

LARGEST_FILE = 1 << 40  # bytes


@dataclass
class Fst:
    """A transducer with S states and A arcs; the arcs of state s are those from offset[s] to offset[s + 1].

    Attributes
    ----------
    start : int
        Start state; -1 where there is no state at all.
    final : float32 (S,)
        Cost of ending in each state, infinite where it is not final.
    offset : int64 (S + 1,)
    ilabel, olabel : int32 (A,)
        Labels; 0 is epsilon.
    weight : float32 (A,)
        Costs, that is, negative log-probabilities.
    target : int32 (A,)
        The state an arc leads to.
    """

    start: int
    final: np.ndarray
    offset: np.ndarray
    ilabel: np.ndarray
    olabel: np.ndarray
    weight: np.ndarray
    target: np.ndarray

    @classmethod
    def from_arcs(cls, start, final, source, ilabel, olabel, weight, target):
        """Build from arcs in any order; each state keeps the order of its arcs."""
        source = np.asarray(source, np.int64)
        order = np.argsort(source, kind="stable")
        offset = np.zeros(len(final) + 1, np.int64)
        np.cumsum(np.bincount(source, minlength=len(final)), out=offset[1:])
        labels = [np.asarray(column, np.int32)[order] for column in (ilabel, olabel, target)]
        weight = np.asarray(weight, np.float32)[order]
        return cls(int(start), np.asarray(final, np.float32), offset, labels[0], labels[1], weight, labels[2])

    @property
    def num_states(self):
        """Number of states S."""
        return len(self.final)

    @property
    def num_arcs(self):
        """Number of arcs A."""
        return len(self.target)

    @property
    def source(self):
        """State that each arc leaves, int32 (A,)."""
        return np.repeat(np.arange(self.num_states, dtype=np.int32), np.diff(self.offset))

    def arcs_from(self, arcs, final=None):
        """Return this FST with the arcs of the index array `arcs` only, in that order (grouped by their source)."""
        columns = [self.source, self.ilabel, self.olabel, self.weight, self.target]
        return Fst.from_arcs(self.start, self.final if final is None else final, *(column[arcs] for column in columns))

    def arcsorted(self, by):
        """Return this FST with each state's arcs sorted by "ilabel" or "olabel"."""
        return self.arcs_from(np.lexsort((getattr(self, by), self.source)))

    def check(self, name):
        """Raise PymavgError, naming `name`, unless every state, label and cost is in range; return self."""
        labels = np.concatenate([self.ilabel, self.olabel])
        if self.num_arcs and (self.target.min() < 0 or self.target.max() >= self.num_states):
            arc = np.argmax((self.target < 0) | (self.target >= self.num_states))
            problem = f"arc {arc} leads to state {self.target[arc]} of {self.num_states}"
        elif not (0 <= self.start < self.num_states or (self.start == -1 and self.num_states == 0)):
            problem = f"start state {self.start} of {self.num_states}"
        elif len(labels) and labels.min() < 0:
            problem = f"label {labels.min()} is negative, of arc {np.argmin(labels) % self.num_arcs}"
        elif np.isnan(self.weight).any() or np.isnan(self.final).any():
            problem = f"the cost of {self._place(np.isnan)} is not a number"
        elif np.isneginf(self.weight).any() or np.isneginf(self.final).any():
            problem = f"the cost of {self._place(np.isneginf)} is minus infinity"
        else:
            return self
        raise PymavgError(f"{name}: {problem}; the FST is damaged: make it again")

    def _place(self, wrong):
        """Return the first arc or final state whose cost is `wrong`, in words."""
        found = wrong(self.weight)
        return f"arc {np.argmax(found)}" if found.any() else f"final state {np.argmax(wrong(self.final))}"


def read_fst(path):
    """Read one FST in OpenFst's binary format, type vector or const.

    Raises
    ------
    PymavgError
        When the file is missing, damaged, of another type, or holds no states.
    """
    data = _read_bytes(path)
    fields, end = parse(data, 0, str(path))
    if end != len(data):
        raise PymavgError(f"{path}: byte {end}: {len(data) - end} bytes after the end of the FST; it is damaged")
    fst = Fst(**fields).check(str(path))
    if fst.num_states == 0:
        raise PymavgError(f"{path}: the FST has no states; make it again and look at the log")
    return fst


def write_fst(path, fst):
    """Write `fst` in OpenFst's binary vector format, which every Kaldi tool reads."""
    with atomic_open(path, "wb") as stream:
        stream.write(serialise(fst.check(str(path))))


def read_fsts(rspecifier):
    """Yield (utterance, Fst) from an archive of FSTs in Kaldi's binary form: `ark:x.gz`, `ark:command |`, or a path.

    Raises
    ------
    PymavgError
        Naming the archive and the utterance.
    """
    kind, path = parse_rspecifier(rspecifier)
    if kind != "ark":
        raise PymavgError(f"{rspecifier}: expected an archive (ark:) of FSTs")
    data = _read_bytes(path)
    position = 0
    while position < len(data):
        blank = data.find(b" ", position, position + 4096)
        if blank < 0:
            raise PymavgError(f"{path}: byte {position}: expected an utterance name; the archive is damaged")
        utterance = data[position:blank].decode("utf-8", "replace")
        fields, position = parse(data, blank + 1, f"{path}: utterance {utterance}")
        yield utterance, Fst(**fields).check(f"{path}: utterance {utterance}")


class FstWriter:
    """Archive of FSTs: a context manager whose `write(utterance, fst)` appends one; .gz names are compressed."""

    def __init__(self, path):
        self._file = atomic_open(path, "wb")

    def __enter__(self):
        self._stream = self._file.__enter__()
        return self

    def write(self, utterance, fst):
        """Append one FST."""
        self._stream.write(utterance.encode() + b" " + serialise(fst))

    def __exit__(self, *exception):
        return self._file.__exit__(*exception)


def to_kaldifst(fst):
    """Return `fst` as a kaldifst.StdVectorFst."""
    import kaldifst  # here, since programs that only search a graph start faster without it

    with tempfile.TemporaryDirectory(prefix="pymavg.") as folder:
        path = Path(folder, "fst")
        path.write_bytes(serialise(fst.check("FST")))
        return kaldifst.StdVectorFst.read(str(path))


def from_kaldifst(library_fst):
    """Return a kaldifst FST as Fst; nothing refers to the library's object afterwards."""
    with tempfile.TemporaryDirectory(prefix="pymavg.") as folder:
        path = Path(folder, "fst")
        if not library_fst.write(str(path)):
            raise PymavgError(f"{path}: cannot be written; check the space in TMPDIR ({folder})")
        return Fst(**parse(path.read_bytes(), 0, str(path))[0])


def _read_bytes(place):
    with open_stream(str(place)) as source:
        return source.take(source.have(LARGEST_FILE), "an FST")
