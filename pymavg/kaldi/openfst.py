"""OpenFst's binary format for tropical FSTs, read and written as arrays.

Layout (little-endian): a header, optional symbol tables, then for type "vector" each state as
`final f32, arcs i64` followed by its arcs `ilabel i32, olabel i32, weight f32, target i32`, and for type "const" all
states as `final f32, first arc u32, arcs u32, input epsilons u32, output epsilons u32` followed by all arcs.
Source: OpenFst's fst.h (header), vector-fst.h, const-fst.h and symbol-table.h.

Everything is checked here: the library kaldifst loads a damaged file without a word, then crashes or hangs.
"""

import struct

import numpy as np
from numba import njit

from pymavg.compiled import patient
from pymavg.errors import PymavgError

MAGIC = 2125659606
SYMBOL_MAGIC = 2125658996
EXPANDED_MUTABLE = 3  # the only two of OpenFst's property bits that we claim; it derives the others itself
HAS_INPUT_SYMBOLS, HAS_OUTPUT_SYMBOLS, IS_ALIGNED = 1, 2, 4
ARC = np.dtype([("ilabel", "<i4"), ("olabel", "<i4"), ("weight", "<f4"), ("target", "<i4")])
CONST_STATE = np.dtype([("final", "<f4"), ("first", "<u4"), ("arcs", "<u4"), ("ieps", "<u4"), ("oeps", "<u4")])


class _Cursor:
    """Bounds-checked reading of numbers and strings from a buffer."""

    def __init__(self, data, position, name):
        self.data, self.position, self.name = data, position, name

    def fail(self, problem):
        raise PymavgError(f"{self.name}: byte {self.position}: {problem}; the FST file is damaged or not OpenFst's")

    def take(self, size):
        if size < 0 or size > len(self.data) - self.position:
            left = len(self.data) - self.position
            self.fail(f"expected {size} more bytes, {left} are left")
        self.position += size
        return memoryview(self.data)[self.position - size : self.position]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def string(self):
        return bytes(self.take(self.number("i"))).decode("latin-1")

    def align(self):
        """Skip the padding to the next multiple of 16 bytes."""
        self.take(-self.position % 16)

    def skip_symbols(self):
        if self.number("i") != SYMBOL_MAGIC:
            self.fail("expected a symbol table")
        self.string()
        self.number("q")
        for _ in range(self.number("q")):
            self.string()
            self.number("q")


def parse(data, position=0, name="FST"):
    """Parse one FST.

    Parameters
    ----------
    data : bytes
        The file, or an archive that holds the FST at `position`.
    position : int
        Where the FST starts.
    name : str
        File (and utterance) for messages.

    Returns
    -------
    fields : dict
        start, final, offset, ilabel, olabel, weight, target as in `pymavg.kaldi.fst.Fst`.
    end : int
        The byte after the FST.

    Raises
    ------
    PymavgError
        For another type of FST, and for anything out of range.
    """
    cursor = _Cursor(data, position, name)
    if cursor.number("i") != MAGIC:
        cursor.position = position
        cursor.fail("no OpenFst header here")
    kind, arc_type, version = cursor.string(), cursor.string(), cursor.number("i")
    if kind not in ("vector", "const") or arc_type != "standard":
        raise PymavgError(
            f"{name}: byte {position}: an FST of type '{kind}' with '{arc_type}' arcs; expected vector or const with "
            "standard (tropical) arcs: convert it with fstconvert or fstmap"
        )
    flags, _ = cursor.number("i"), cursor.number("Q")
    start, num_states, num_arcs = cursor.number("q"), cursor.number("q"), cursor.number("q")
    for flag in (HAS_INPUT_SYMBOLS, HAS_OUTPUT_SYMBOLS):
        if flags & flag:
            cursor.skip_symbols()
    if kind == "vector":
        final, offset, arcs = _vector_body(cursor, num_states)
    else:
        aligned = version == 1 or bool(flags & IS_ALIGNED)
        final, offset, arcs = _const_body(cursor, num_states, num_arcs, aligned)
    fields = {"start": start, "final": final, "offset": offset}
    fields |= {field: np.ascontiguousarray(arcs[field]) for field in ARC.names}
    return fields, cursor.position


@patient(lambda words, num_states, offset: num_states)
@njit(cache=True)
def _scan_states(words, num_states, offset):
    """Fill `offset` from the states' arc counts; return the number of states that fit into `words`."""
    position = 0
    for state in range(num_states):
        if position + 3 > len(words):
            return state
        count = int(words[position + 1])
        if words[position + 2] != 0 or count < 0 or count > (len(words) - position - 3) // 4:
            return state
        offset[state + 1] = offset[state] + count
        position += 3 + 4 * count
    return num_states


def _vector_body(cursor, num_states):
    left = len(cursor.data) - cursor.position
    if not 0 <= num_states <= left // 12:
        cursor.fail(f"{num_states} states announced, {left} bytes are left")
    words = np.frombuffer(cursor.data, "<i4", left // 4, cursor.position)
    offset = np.zeros(num_states + 1, np.int64)
    whole = _scan_states(words, num_states, offset)
    if whole < num_states:
        cursor.fail(f"the arcs of state {whole} of {num_states} do not fit into the file")
    words = np.frombuffer(cursor.take(4 * (3 * num_states + 4 * int(offset[-1]))), "<i4")
    state_word, arc_word = _word_positions(offset)
    final = words[state_word].view("<f4")
    arcs = words[arc_word[:, None] + np.arange(4)].view(ARC)[:, 0]
    return final, offset, arcs


def _word_positions(offset):
    """Return where, in 4-byte words, each state and each arc of a vector FST lies."""
    num_states = len(offset) - 1
    source = np.repeat(np.arange(num_states), np.diff(offset))
    return 3 * np.arange(num_states) + 4 * offset[:-1], 3 * (source + 1) + 4 * np.arange(offset[-1])


def _const_body(cursor, num_states, num_arcs, aligned):
    if aligned:
        cursor.align()
    states = np.frombuffer(cursor.take(num_states * CONST_STATE.itemsize), CONST_STATE)
    if aligned:
        cursor.align()
    arcs = np.frombuffer(cursor.take(num_arcs * ARC.itemsize), ARC)
    offset = np.zeros(num_states + 1, np.int64)
    np.cumsum(states["arcs"], out=offset[1:])
    if offset[-1] != num_arcs or np.any(offset[:-1] != states["first"]):
        cursor.fail(f"the states' arc counts do not add up to the {num_arcs} arcs of the header")
    return np.ascontiguousarray(states["final"]), offset, arcs


def serialise(fst):
    """Return the bytes of `fst` (as `pymavg.kaldi.fst.Fst`) in the vector format, which Kaldi's tools read."""
    num_states, num_arcs = len(fst.final), len(fst.target)
    header = struct.pack("<i", MAGIC)
    for text in (b"vector", b"standard"):
        header += struct.pack("<i", len(text)) + text
    header += struct.pack("<iiQqqq", 2, 0, EXPANDED_MUTABLE, fst.start, num_states, 0)
    words = np.zeros(3 * num_states + 4 * num_arcs, "<i4")
    state_word, arc_word = _word_positions(fst.offset)
    words[state_word] = fst.final.astype("<f4").view("<i4")
    words[state_word + 1] = np.diff(fst.offset)
    for column, field in enumerate(ARC.names):
        words[arc_word + column] = getattr(fst, field).astype(ARC[field]).view("<i4")
    return header + words.tobytes()
