"""Archives, entry by entry: described, and written in another form."""

import io

import numpy as np

from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.formats import copier as grammar
from pymavg.formats.copier import Copier
from pymavg.formats.fst_text import TextFstWriter, TextLatticeWriter, fst_text, read_text_fst, read_text_fsts
from pymavg.formats.recognise import OPENFST, read_head
from pymavg.formats.summary import Numbers, sizes, some
from pymavg.kaldi.compressed import write_compressed
from pymavg.kaldi.encoding import BINARY_MARK, KaldiWriter
from pymavg.kaldi.fst import FstWriter, read_fst, read_fsts, write_fst
from pymavg.kaldi.rspecifier import parse_rspecifier
from pymavg.kaldi.tables import Scp, read_archive
from pymavg.kaldi.writers import TableWriter


def _posterior_weights(frames):
    return np.array([weight for frame in frames for _, weight in frame], np.float32)


RULES = {  # kind -> (grammar of an entry, numbers in its value, what an entry is called)
    "matrices": (Copier.matrix, lambda m: m, "matrices"),
    "vectors": (Copier.vector, lambda v: v, "vectors"),
    "integers": (Copier.integers, lambda v: v, "integer vectors, as alignments are"),
    "posteriors": (grammar.posteriors, _posterior_weights, "posteriors"),
    "number pairs": (grammar.number_pairs, lambda v: v, "vectors of number pairs, as times of confusion networks"),
}


def entries(place, rule, writer=None):
    """Yield (key, value) of a table; `writer` (a CopyWriter) gets each entry."""
    kind, place = parse_rspecifier(place)

    if kind == "scp":  # ranges of rows and columns are cut after reading
        for key, value in Scp(place, lambda reader: rule(Copier(reader))).items():
            if writer is not None:
                writer.write(key, writer.encoded(rule, value))
            yield key, value
        return
    read = (lambda reader: (rule(Copier(reader)), b"")) if writer is None else writer.recorder(rule)
    for key, (value, data) in read_archive(place, read):
        if writer is not None:
            writer.write(key, data)
        yield key, value


def describe(kind, path):
    """Return (title, lines) of an archive of matrices, vectors, integers, posteriors or number pairs."""
    rule, numbers_of, called = RULES[kind]
    numbers, keys, lengths, columns, doubles = Numbers(), [], [], set(), 0
    for key, value in entries(path, rule):
        found = numbers_of(value)
        numbers.add(found, key)
        keys.append(key)
        lengths.append(len(value))
        columns.add(found.shape[1] if getattr(found, "ndim", 1) == 2 else 1)
        doubles += getattr(found, "dtype", None) == np.float64
    lines = [f"keys: {some(keys)}", f"length: {sizes(lengths)}, {sum(lengths)} in all"]
    if kind == "matrices":
        lines.append(f"columns: {sizes(columns)}")
        if doubles:
            lines.append("double precision")
    return f"archive of {len(keys)} {called}", lines + numbers.lines()


def lattices(path):
    """Describe an archive of lattices."""
    keys, states, arcs, frames, numbers, words = [], 0, 0, [], Numbers(), 0
    for key, lattice in read_lattices(path):
        keys.append(key)
        states, arcs = states + lattice.num_states, arcs + lattice.num_arcs
        frames.append(lattice.num_frames)
        words = max(words, int(lattice.word.max(initial=0)))
        numbers.add(lattice.graph_cost, key)
        numbers.add(lattice.acoustic_cost, key)
    if not keys:
        raise PymavgError(f"{path}: the archive is empty; a lattice expected")
    lines = [f"keys: {some(keys)}", f"frames: {sizes(frames)}, {sum(frames)} in all"]
    lines.append(f"{states} states, {arcs} arcs ({arcs / len(keys):.1f} each); highest word {words}")
    return f"archive of {len(keys)} lattices", lines + numbers.lines()


def fst(path):
    """Describe one FST."""
    return "FST", _fst_lines([_one_fst(path)])


def fsts(path):
    """Describe an archive of FSTs."""
    found = list(_many_fsts(path))
    if not found:
        raise PymavgError(f"{path}: the archive is empty; an FST expected")
    return f"archive of {len(found)} FSTs", [f"keys: {some(k for k, _ in found)}", *_fst_lines([f for _, f in found])]


def _is_text(path):
    return OPENFST not in read_head(path)[0]


def _one_fst(path):
    return read_text_fst(path) if _is_text(path) else read_fst(path)


def _many_fsts(path):
    return read_text_fsts(path) if _is_text(path) else read_fsts(f"ark:{path}")


def _fst_lines(graphs):
    numbers = Numbers()
    for graph in graphs:
        numbers.add(graph.weight)
    states, arcs = sum(g.num_states for g in graphs), sum(g.num_arcs for g in graphs)
    final = sum(int(np.isfinite(g.final).sum()) for g in graphs)
    highest = [max((int(getattr(g, side).max(initial=0)) for g in graphs), default=0) for side in ("ilabel", "olabel")]
    eps = sum(int((g.ilabel == 0).sum()) for g in graphs)
    lines = [f"{states} states, {arcs} arcs, {final} final; {eps} arcs without input label"]
    return [*lines, f"highest input label {highest[0]}, output label {highest[1]}", *numbers.lines()]


class CopyWriter(TableWriter):
    """Writes entries that were read by a grammar, in their own precision or compressed.

    Parameters
    ----------
    ark, scp, binary : see TableWriter
    compress : bool or int
        Write matrices by Kaldi's compression method of this number; True is 1.
    """

    def __init__(self, ark, scp=None, binary=True, compress=False):
        super().__init__(ark, scp, binary)
        self._compress = compress

    def recorder(self, rule):
        """Return the function that reads an object by a grammar and returns (value, bytes of the entry)."""

        def read(reader):
            if self._compress:
                value = rule(Copier(reader))
                return value, self.encoded(rule, value)
            stream = io.BytesIO()
            value = rule(Copier(reader, KaldiWriter(stream, self._binary)))
            return value, self._bare(stream)

        return read

    def encoded(self, rule, value):
        """Return the bytes of an entry for a matrix, vector or integers."""
        stream = io.BytesIO()
        writer = KaldiWriter(stream, self._binary)
        if self._compress:
            write_compressed(writer, value, self._compress)
        elif rule is Copier.integers:
            writer.basic_vector(value)
        else:
            write = writer.matrix if value.ndim == 2 else writer.vector
            write(value, value.dtype == np.float64)
        return self._bare(stream)

    def _bare(self, stream):
        """Return what was written, without the mark of a binary object."""
        return stream.getvalue().removeprefix(BINARY_MARK if self._binary else b"")

    def _put(self, writer, value):
        writer.raw(value)


def write_archive(kind, place, out, binary=True, scp=None, compress=False):
    """Write an archive in another form; return the number of its entries."""
    if kind == "lattices":
        return _copy_with(LatticeWriter(out) if binary else TextLatticeWriter(out), read_lattices(place))
    if kind == "FSTs":
        return _copy_with(FstWriter(out) if binary else TextFstWriter(out), _many_fsts(place))
    with CopyWriter(out, scp, binary, compress) as writer:
        return sum(1 for _ in entries(place, RULES[kind][0], writer))


def _copy_with(writer, found):
    count = 0
    with writer:
        for count, (key, value) in enumerate(found, 1):  # noqa: B007
            writer.write(key, value)
        if not count:
            raise PymavgError("nothing to write; the archive is empty")
    return count


def write_one_fst(path, out, binary):
    """Write one FST, binary or as text."""
    graph = _one_fst(path)
    if binary:
        write_fst(out, graph)
    else:
        with atomic_open(out) as stream:
            stream.write(fst_text(graph))
