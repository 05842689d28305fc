"""Archives of lattices in Kaldi's form: Lattice (raw) and CompactLattice, binary and text.

Layout of a binary entry: `KEY `, OpenFst's header with arc type lattice4 or compactlattice44, then each state: its
final weight, the number of its arcs (int64), the arcs (two labels, weight, target). A weight is two float32 (graph,
acoustic cost), in a compact lattice followed by a count and as many transition-ids. Sources: OpenFst's vector-fst.h,
Kaldi's lat/kaldi-lattice.cc and fstext/lattice-weight.h. Kaldi's programs read a raw lattice where they expect a
compact one.
"""

import mmap
import struct
from pathlib import Path

import numpy as np

from pymavg.decoding.lattice import Lattice, gather
from pymavg.decoding.lattice_format import fill, pack, scan
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, decompress
from pymavg.kaldi.inputs import read_scp
from pymavg.kaldi.rspecifier import parse_place

MAGIC = 2125659606
LARGEST = 2**31 - 1  # of states and labels
RAW, COMPACT = b"lattice4", b"compactlattice44"


def read_lattices(path):
    """Yield (utterance, Lattice) of an archive, plain or .gz; `ark:` before the name is taken off.

    Raises
    ------
    PymavgError
        When the file is missing, damaged, or holds something else.
    """
    path = str(path).removeprefix("ark:")
    try:
        data = Path(path).read_bytes()
        data = decompress(data, path) if data[:2] == b"\x1f\x8b" else data
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such lattice archive; decode first") from None
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error}") from error
    position = 0
    while position < len(data):
        blank = data.find(b" ", position, position + 4096)
        if blank < 0:
            raise PymavgError(f"{path}: byte {position}: expected an utterance name; the archive is damaged")
        utterance = data[position:blank].decode("utf-8", "replace")
        name = f"{path}: utterance {utterance}"
        read = _read_text if data[blank + 1 : blank + 2] in (b"\n", b"\r") else _read_binary
        lattice, position = read(data, blank + 1, name)
        yield utterance, lattice


def _header(data, position, name):
    """Return (start state, number of states, whether compact, body's position)."""
    try:
        magic, size = struct.unpack_from("<ii", data, position)
        kind = data[position + 8 : position + 8 + size] if magic == MAGIC and 0 <= size < 64 else b""
        position += 8 + len(kind)
        size = struct.unpack_from("<i", data, position)[0]
        arc_type = data[position + 4 : position + 4 + size] if kind == b"vector" and 0 <= size < 64 else b""
        position += 4 + len(arc_type)
        _, flags, _, start, num_states, _ = struct.unpack_from("<iiQqqq", data, position)
    except struct.error:
        raise PymavgError(f"{name}: the archive ends within a header; decode again") from None
    if arc_type not in (RAW, COMPACT) or flags:
        found = arc_type.decode("latin-1") or "something else"
        raise PymavgError(f"{name}: expected a lattice (arcs lattice4 or compactlattice44), found {found}")
    if not 0 <= start < num_states <= len(data):
        raise PymavgError(f"{name}: start state {start} of {num_states}; the lattice is empty or damaged")
    return start, num_states, arc_type == COMPACT, position + 40


def _read_binary(data, position, name):
    start, num_states, compact, body = _header(data, position, name)
    words = np.frombuffer(data, "<i4", (len(data) - body) // 4, body)
    length, arcs, num_tids = scan(words, num_states, compact)
    if length < 0:
        raise PymavgError(f"{name}: state {arcs} of {num_states} does not fit into the file; decode again")
    words = words[:length].copy()  # aligned
    column, offset, tids = fill(words, num_states, arcs, num_tids, compact)
    costs = np.ascontiguousarray(column[:, 4:]).view("<f4")
    return _build(start, num_states, column[:, :4], costs, (offset, tids) if compact else None, name), body + 4 * length


def _build(start, num_states, column, costs, sequences, name):
    """Return the Lattice of arcs [source, target, ilabel, olabel]; those into state `num_states` are final weights."""
    if np.isnan(costs).any():
        raise PymavgError(f"{name}: a cost is not a number; the lattice is damaged: decode again")
    kept, none = np.isfinite(costs).all(axis=1), np.isposinf(costs).all(axis=1)
    if not (kept | none).all():  # Kaldi's LatticeWeight has either two finite costs or none
        raise PymavgError(f"{name}: arc {np.argmin(kept | none)}: one infinite cost; decode again")
    source, target, ilabel, olabel = column[kept].T
    if len(target) and (target.min() < 0 or target.max() > num_states or min(ilabel.min(), olabel.min()) < 0):
        raise PymavgError(f"{name}: a state or label is out of range; the lattice is damaged: decode again")
    if sequences:
        tids = gather(*sequences, np.flatnonzero(kept))
    else:
        tids = np.where(target == num_states, 0, ilabel)
    if start != 0:
        source, target = (np.where(s == start, 0, np.where(s == 0, start, s)) for s in (source, target))
    return Lattice.from_arcs(num_states + 1, source, target, olabel, *costs[kept].T, tids, name)


def _read_text(data, position, name):
    """Read `source target [tid] word [weight]` and `state [weight]` lines up to an empty line."""
    end = data.find(b"\n\n", position)
    end = len(data) if end < 0 else end + 2
    columns, costs, sequences, raw = [], [], [], False
    for number, line in enumerate(data[position:end].decode("utf-8", "replace").split("\n")):
        fields = line.split()
        if not fields:
            continue
        try:
            has_weight = "," in fields[-1]
            weight = fields.pop().split(",") if has_weight else ["0", "0"]
            labels = [int(x) for x in fields]
            if len(labels) not in (1, 3, 4):
                raise ValueError(line)
            raw |= len(labels) == 4
            row = [labels[0], -1, 0, 0] if len(labels) == 1 else [*labels[:3], labels[-1]]
            costs.append([float(weight[0]), float(weight[1])])
            sequences.append([int(x) for x in weight[2].split("_") if x] if len(weight) > 2 else [])
            columns.append(row)
        except (ValueError, IndexError):
            raise PymavgError(f"{name}: line {number}: '{line[:60]}' is no arc or final state of a lattice") from None
    if not columns:
        raise PymavgError(f"{name}: the lattice is empty; decode again")
    tids = [t for s in sequences for t in s]
    numbers = [n for row in columns for n in row] + tids
    num_states = max(max(row[0], row[1]) for row in columns) + 1
    if max(numbers) > LARGEST or min(row[0] for row in columns) < 0 or num_states > 2 * len(columns):
        raise PymavgError(f"{name}: a state or label is out of range; the lattice is damaged: decode again")
    column = np.array(columns, np.int64)
    column[column[:, 1] < 0, 1] = num_states
    offset = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)
    tids = np.array(tids, np.int32)
    with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite
        costs = np.array(costs, np.float32)
    start = int(column[0, 0])
    return _build(start, num_states, column, costs, None if raw else (offset, tids), name), end


def _bytes(lattice):
    """Return the lattice in OpenFst's form, raw if every arc has at most one transition-id."""
    length = np.diff(lattice.offset)
    compact, last = bool(length.max(initial=0) > 1), lattice.num_states - 1
    final_arc = np.full(last + 1, -1)
    ending = (lattice.target == last) & (lattice.word == 0) & (compact | (length == 0))
    if (lattice.target[~ending] == last).any() or len(np.unique(lattice.source[ending])) < ending.sum():
        ending[:] = False  # real arcs lead to the end: it stays a state of its own
        num_states, final_arc[last] = last + 1, -2
    else:
        num_states, final_arc[lattice.source[ending]] = last, np.flatnonzero(ending)
    column = np.empty((lattice.num_arcs, 6), np.int32)
    column[:, 0], column[:, 1], column[:, 3] = lattice.source, lattice.target, lattice.word
    column[:, 2] = lattice.word if compact else lattice.tid
    costs = np.stack([lattice.graph_cost, lattice.acoustic_cost], axis=1)
    column[:, 4:] = costs.astype(np.float32).view(np.int32)
    kind = COMPACT if compact else RAW
    header = struct.pack("<ii6si", MAGIC, 6, b"vector", len(kind)) + kind
    header += struct.pack("<iiQqqq", 2, 0, 3, 0, num_states, 0)
    body = pack(num_states, final_arc, ~ending, column, lattice.offset, lattice.tids, compact)
    return header + body.astype("<i4").tobytes()


class LatticeScp:
    """Lattices by utterance, each read when asked for, from the archives that an scp file points into.

    Parameters
    ----------
    path : str or Path
        Lines `utterance archive:offset`, as Kaldi's programs and LatticeWriter make them; no compressed archives.

    Raises
    ------
    PymavgError
        When the file is missing or damaged.
    """

    def __init__(self, path):
        self.path, self._entries, self._archives = str(path), read_scp(path), {}

    def __contains__(self, utterance):
        return utterance in self._entries

    def __iter__(self):
        return iter(self._entries)

    def __getitem__(self, utterance):
        """Return the Lattice of an utterance."""
        line, text = self._entries[utterance]
        place = parse_place(text, where=f"{self.path}:{line}")
        name = f"{self.path}:{line}: {place.file}: utterance {utterance}"
        data = self._archive(place.file, name)
        read = _read_text if data[place.offset : place.offset + 1] in (b"\n", b"\r") else _read_binary
        return read(data, place.offset, name)[0]

    def _archive(self, file, name):
        if file not in self._archives:
            try:
                with open(file, "rb") as stream:
                    self._archives[file] = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                raise PymavgError(f"{name}: cannot be read: {error}") from error
        return self._archives[file]


class LatticeWriter:
    """Archive of lattices: a context manager; no half archive gets the final name.

    Parameters
    ----------
    path : str or Path
        A name in .gz is compressed.
    scp : str or Path, optional
        Gets lines `utterance path:offset`, for LatticeScp; not with a compressed archive.
    """

    def __init__(self, path, scp=None):
        if scp and str(path).endswith(".gz"):
            raise PymavgError(f"{path}: an scp file cannot point into a compressed archive; write a plain .ark")
        self._path, self._scp, self._lines = path, scp, []
        self._file = atomic_open(path, "wb")

    def __enter__(self):
        self._stream = self._file.__enter__()
        return self

    def write(self, utterance, lattice):
        """Append one lattice, raw or compact as it is."""
        self._stream.write(utterance.encode() + b" ")
        self._lines.append(f"{utterance} {self._path}:{self._stream.tell()}\n")
        self._stream.write(_bytes(lattice))

    def __exit__(self, kind, error, trace):
        self._file.__exit__(kind, error, trace)
        if kind is None and self._scp:
            with atomic_open(self._scp) as stream:
                stream.writelines(self._lines)
