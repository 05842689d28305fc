r"""FSTs and lattices as text: OpenFst's lines, and Kaldi's text archives of them.

An arc is `source \t target \t input label \t output label [\t cost]`, a final state `state [\t cost]`; costs of 0 are
left out. The first line's source is the start state. In an archive, `key \n`, the lines, and an empty line. A compact
lattice has one label and `graph,acoustic,tid_tid_…` for a cost. Sources: OpenFst's script/print-impl.h, Kaldi's
fstext/kaldi-fst-io-inl.h and lat/kaldi-lattice.cc.
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.kaldi.fst import Fst

LARGEST_STATE = 100_000_000
EXAMPLE = "'source target input output [cost]' or 'state [cost]' expected"


def fst_text(fst, digits=9):
    """Return an FST as OpenFst's fstprint prints it; Kaldi's text archives have 6 digits."""
    order = [fst.start, *(s for s in range(fst.num_states) if s != fst.start)]
    return "".join("".join(_state_lines(fst, state, digits)) for state in order)


def _state_lines(fst, state, digits):
    for arc in range(int(fst.offset[state]), int(fst.offset[state + 1])):
        labels = f"{state}\t{fst.target[arc]}\t{fst.ilabel[arc]}\t{fst.olabel[arc]}"
        yield labels + _cost(fst.weight[arc], digits)
    if np.isfinite(fst.final[state]):
        yield f"{state}{_cost(fst.final[state], digits)}"


def _cost(cost, digits):
    return f"\t{cost:.{digits}g}\n" if cost else "\n"


def parse_fst(lines, name):
    """Return the Fst of numbered text lines: pairs (number, text).

    Raises
    ------
    PymavgError
        With the number of a line that is neither an arc nor a final state.
    """
    arcs, finals, start = [], {}, None
    for number, line in lines:
        words = line.split()
        try:
            if len(words) in (4, 5):
                arcs.append([*map(int, words[:4]), float(words[4]) if len(words) == 5 else 0.0])
            elif len(words) in (1, 2):
                finals[int(words[0])] = float(words[1]) if len(words) == 2 else 0.0
            else:
                raise ValueError
            start = int(words[0]) if start is None else start
        except ValueError:
            raise PymavgError(f"{name}:{number}: {EXAMPLE}, found '{line.strip()[:60]}'") from None
    if start is None:
        raise PymavgError(f"{name}: no arc and no state; an FST expected")
    highest = max([*finals, *(max(arc[0], arc[1]) for arc in arcs)])
    if highest > LARGEST_STATE or min([*finals, *(min(arc[:4]) for arc in arcs)]) < 0:
        raise PymavgError(f"{name}: a state or label is out of range; the FST is damaged")
    if highest > 4 * (len(arcs) + len(finals)) + 1000:
        raise PymavgError(f"{name}: state {highest} in an FST of {len(arcs)} arcs; the FST is damaged")
    final = np.full(highest + 1, np.inf)
    final[list(finals)] = list(finals.values())
    columns = zip(*arcs, strict=True) if arcs else [()] * 5
    source, target, ilabel, olabel, weight = map(list, columns)
    try:
        fst = Fst.from_arcs(start, final, source, ilabel, olabel, weight, target)
    except OverflowError:
        raise PymavgError(f"{name}: a label is out of range; the FST is damaged") from None
    return fst.check(name)


def read_text_fst(path):
    """Read one FST in text form."""
    return parse_fst([(n, line) for n, line in enumerate(read_lines(path), 1) if line.strip()], str(path))


def read_text_fsts(path):
    """Yield (key, Fst) of a text archive."""
    key, lines = None, []
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line.strip() and key is None:
            key = line.strip()
            if len(key.split()) > 1:
                raise PymavgError(f"{path}:{number}: a key alone expected, found '{key[:60]}'")
        elif line.strip():
            lines.append((number, line))
        elif key is not None:
            yield key, parse_fst(lines, f"{path}: {key}")
            key, lines = None, []


class _TextWriter:
    """A text archive: a context manager whose `write(key, value)` appends an entry."""

    def __init__(self, path):
        self._file = atomic_open(path)

    def __enter__(self):
        self._stream = self._file.__enter__()
        return self

    def __exit__(self, *exception):
        return self._file.__exit__(*exception)

    def write(self, key, value):
        """Append one entry."""
        self._stream.write(f"{key} \n{self._text(value)}\n")


class TextFstWriter(_TextWriter):
    """Writes FSTs as text."""

    @staticmethod
    def _text(fst):
        return fst_text(fst, 6)


class TextLatticeWriter(_TextWriter):
    """Writes lattices as Kaldi's lattice-copy does in text: compact ones, or raw where arcs hold one transition-id."""

    @staticmethod
    def _text(lattice):
        raw = np.diff(lattice.offset).max(initial=0) <= 1
        last, lines = lattice.num_states - 1, []
        merged = ((lattice.target == last) & (lattice.word == 0)) & (not raw or np.diff(lattice.offset) == 0)
        merged &= np.bincount(lattice.source[merged], minlength=last + 1)[lattice.source] == 1
        if (lattice.target[~merged] == last).any():
            merged[:] = False
        for arc in np.lexsort((merged, lattice.source)).tolist():
            tids = lattice.tids[lattice.offset[arc] : lattice.offset[arc + 1]].tolist()
            costs = f"{lattice.graph_cost[arc]:.6g},{lattice.acoustic_cost[arc]:.6g}"
            sequence = "" if raw else "," + "_".join(map(str, tids))
            weight = "" if costs == "0,0" and not tids else f"\t{costs}{sequence}"
            if merged[arc]:
                lines.append(f"{lattice.source[arc]}{weight}\n")
                continue
            labels = f"{tids[0] if tids else 0}\t{lattice.word[arc]}" if raw else str(lattice.word[arc])
            weight = f"\t{costs}" if raw and weight else weight
            lines.append(f"{lattice.source[arc]}\t{lattice.target[arc]}\t{labels}{weight}\n")
        return "".join(lines if merged.any() else [*lines, f"{last}\n"])
