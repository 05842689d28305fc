"""Archives of lattices in Kaldi's form: Lattice (raw) and CompactLattice, binary and text.

Layout of a binary entry: `KEY `, OpenFst's header with arc type lattice4 or compactlattice44, then each state: its
final weight, the number of its arcs (int64), the arcs (two labels, weight, target). A weight is two float32 (graph,
acoustic cost), in a compact lattice followed by a count and as many transition-ids. Sources: OpenFst's vector-fst.h,
Kaldi's lat/kaldi-lattice.cc and fstext/lattice-weight.h. Kaldi's programs read a raw lattice where they expect a
compact one.
"""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
from numba import njit

from pymavg.decoding.lattice import Lattice, gather
from pymavg.errors import PymavgError
from pymavg.files import atomic_open

MAGIC = 2125659606
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
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such lattice archive; decode first") from None
    except (OSError, EOFError, zlib.error) as error:
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


@njit(cache=True)
def _number(data, at):
    return (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
    )


@njit(cache=True)
def _scan(data, start, num_states, extra):
    """Return (end of the body, arcs, transition-ids), or the first bad state as (-1, state, 0); extra: compact."""
    at, arcs, tids = start, 0, 0
    for state in range(num_states):
        left = 1  # the final weight, then each arc
        in_final = True
        while left > 0:
            size = 8 + 12 * (not in_final)
            if at + size + 4 * extra > data.size:
                return -1, state, 0
            at += 8 if in_final else 16
            if extra:
                length = _number(data, at)
                if length > (data.size - at) // 4:
                    return -1, state, 0
                at += 4 + 4 * length
                tids += length
            at += 0 if in_final else 4
            left -= 1
            if in_final:
                in_final = False
                if at + 8 > data.size or _number(data, at + 4) != 0 or _number(data, at) > data.size // 20:
                    return -1, state, 0
                left = _number(data, at)
                arcs += left
                at += 8
    return at, arcs, tids


@njit(cache=True)
def _fill(words, num_states, num_arcs, num_tids, extra):
    """Return columns (num_arcs + num_states, 6) source, target, ilabel, olabel, graph, acoustic bits; offsets; tids.

    Final weights come as arcs to state `num_states`.
    """
    column = np.zeros((num_arcs + num_states, 6), np.int32)
    offset, tids = np.zeros(num_arcs + num_states + 1, np.int64), np.empty(num_tids, np.int32)
    at = row = used = 0
    for state in range(num_states):
        count = np.int64(-1)  # -1: the final weight is still to come
        left = np.int64(1)
        while left > 0:
            if count >= 0:
                column[row, 2], column[row, 3] = words[at], words[at + 1]
                at += 2
            column[row, 0], column[row, 4], column[row, 5] = state, words[at], words[at + 1]
            at += 2
            if extra:
                for k in range(words[at]):
                    tids[used + k] = words[at + 1 + k]
                used += words[at]
                at += 1 + words[at]
            offset[row + 1] = used
            left -= 1
            if count >= 0:
                column[row, 1] = words[at]
                at += 1
            else:
                column[row, 1] = num_states
                left = count = words[at]
                at += 2
            row += 1
    return column, offset, tids


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
    end, arcs, num_tids = _scan(np.frombuffer(data, np.uint8), body, num_states, compact)
    if end < 0:
        raise PymavgError(f"{name}: state {arcs} of {num_states} does not fit into the file; decode again")
    words = np.frombuffer(data[body:end], "<i4")
    column, offset, tids = _fill(words, num_states, arcs, num_tids, compact)
    costs = np.ascontiguousarray(column[:, 4:]).view("<f4")
    return _build(start, num_states, column[:, :4], costs, (offset, tids) if compact else None, name), end


def _build(start, num_states, column, costs, sequences, name):
    """Return the Lattice of arcs [source, target, ilabel, olabel]; those into state `num_states` are final weights."""
    kept = np.isfinite(costs).all(axis=1)
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
            raw |= len(labels) == 4
            row = [labels[0], -1, 0, 0] if len(labels) == 1 else [*labels[:3], labels[-1]]
            costs.append([float(weight[0]), float(weight[1])])
            sequences.append([int(x) for x in weight[2].split("_") if x] if len(weight) > 2 else [])
            columns.append(row)
        except (ValueError, IndexError):
            raise PymavgError(f"{name}: line {number}: '{line[:60]}' is no arc or final state of a lattice") from None
    if not columns:
        raise PymavgError(f"{name}: the lattice is empty; decode again")
    column = np.array(columns, np.int64)
    num_states = int(column[:, :2].max()) + 1
    column[column[:, 1] < 0, 1] = num_states
    offset = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)
    tids = np.array([t for s in sequences for t in s], np.int32)
    costs = np.array(costs, np.float32)
    start = int(column[0, 0])
    return _build(start, num_states, column, costs, None if raw else (offset, tids), name), end


@njit(cache=True)
def _pack(num_states, final_arc, own, column, offset, tids, extra):
    """Return the body of one entry as int32 words: the inverse of _fill.

    `final_arc` (S,) is the row of `column` that holds a state's final weight: -1 for none, -2 for weight zero; `own`
    tells which rows are arcs. Columns are source, target, ilabel, olabel, graph and acoustic bits.
    """
    infinity = 0x7F800000
    words = np.zeros((4 + extra) * num_states + (5 + extra) * own.sum() + tids.size, np.int32)
    count_at = np.empty(num_states, np.int64)
    at = row = 0
    for state in range(num_states):
        weight = final_arc[state]
        if weight >= 0:
            words[at], words[at + 1] = column[weight, 4], column[weight, 5]
        elif weight == -1:
            words[at] = words[at + 1] = infinity
        at += 2
        if extra:
            at = _pack_sequence(words, at, offset, tids, weight)
        count_at[state] = at
        at += 2
        while row < own.size and column[row, 0] == state:
            if own[row]:
                words[count_at[state]] += 1
                for k in range(4):
                    words[at + k] = column[row, 2 + k]
                at = _pack_sequence(words, at + 4, offset, tids, row) if extra else at + 4
                words[at] = column[row, 1]
                at += 1
            row += 1
    return words[:at]


@njit(cache=True)
def _pack_sequence(words, at, offset, tids, row):
    if row < 0:
        return at + 1
    words[at] = offset[row + 1] - offset[row]
    for k in range(offset[row], offset[row + 1]):
        at += 1
        words[at] = tids[k]
    return at + 1


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
    body = _pack(num_states, final_arc, ~ending, column, lattice.offset, lattice.tids, compact)
    return header + body.astype("<i4").tobytes()


class LatticeWriter:
    """Archive of lattices: a context manager; names in .gz are compressed, and no half archive gets the final name."""

    def __init__(self, path):
        self._file = atomic_open(path, "wb")

    def __enter__(self):
        self._stream = self._file.__enter__()
        return self

    def write(self, utterance, lattice):
        """Append one lattice, raw or compact as it is."""
        self._stream.write(utterance.encode() + b" " + _bytes(lattice))

    def __exit__(self, *exception):
        return self._file.__exit__(*exception)
