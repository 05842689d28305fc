"""Phonetic decision trees: from a window of phones and a pdf class to a pdf, as in Kaldi's tree/event-map.h.

An *event* gives a value to each key: key -1 is the pdf class, key k ≥ 0 the phone at position k of the window
(0 outside the utterance).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.stream import KaldiWriter, open_reader

PDF_CLASS = -1
LARGEST_VALUE = 1_000_000  # of a phone or pdf class
DEEPEST = 500  # nesting beyond this is damage


@dataclass(frozen=True)
class Constant:
    """A leaf."""

    answer: int

    def answers(self, events, rows):
        """Yield (rows, answer) pairs for `rows` of the events."""
        yield rows, self.answer


@dataclass(frozen=True)
class Table:
    """Branches by the value of `key`; None where a value has no branch."""

    key: int
    children: tuple

    def answers(self, events, rows):
        """Yield (rows, answer) pairs for `rows` of the events."""
        values = events[self.key][rows]
        for value in np.unique(values):
            child = self.children[value] if 0 <= value < len(self.children) else None
            if child is not None:
                yield from child.answers(events, rows[values == value])


@dataclass(frozen=True)
class Split:
    """Branches by whether the value of `key` is one of `yes_set`."""

    key: int
    yes_set: frozenset
    yes: object
    no: object

    @cached_property
    def _member(self):
        """Whether each value is in `yes_set`; the last entry stands for all larger ones."""
        member = np.zeros(max(self.yes_set, default=0) + 2, bool)
        member[sorted(self.yes_set)] = True
        return member

    def answers(self, events, rows):
        """Yield (rows, answer) pairs for `rows` of the events."""
        values = events[self.key][rows]
        is_yes = self._member[np.minimum(values, len(self._member) - 1)]
        for child, chosen in ((self.yes, rows[is_yes]), (self.no, rows[~is_yes])):
            if len(chosen):
                yield from child.answers(events, chosen)


class ContextDependency:
    """A tree with the shape of its windows.

    Parameters
    ----------
    width, central : int
        Number of phones in a window, and the position of the phone itself (3 and 1 for triphones).
    root : Constant, Table or Split
    """

    def __init__(self, width, central, root):
        self.width, self.central, self.root = width, central, root
        self.num_pdfs = 1 + max(leaf.answer for leaf in _leaves(root))

    def pdfs(self, windows, pdf_classes):
        """Return the pdf of each window, -1 where the tree has no answer.

        Parameters
        ----------
        windows : int array (N, width)
            Phones; 0 outside the utterance.
        pdf_classes : int array (N,)
            HMM pdf class of each.

        Returns
        -------
        int32 (N,)
        """
        windows = np.asarray(windows).reshape(-1, self.width)
        events = {k: windows[:, k] for k in range(self.width)} | {PDF_CLASS: np.asarray(pdf_classes)}
        found = np.full(len(windows), -1, np.int32)
        for rows, answer in self.root.answers(events, np.arange(len(windows))):
            found[rows] = answer
        return found

    def pdf(self, window, pdf_class):
        """Return the pdf of one window, a tuple of `width` phones.

        Raises
        ------
        PymavgError
            When the tree does not cover it.
        """
        answer = int(self.pdfs([window], [pdf_class])[0])
        if answer < 0:
            raise PymavgError(f"the tree has no pdf for phones {window}, pdf class {pdf_class}; is it of another lang?")
        return answer

    def possible_pdfs(self, phone, pdf_class):
        """Return the sorted pdfs of `phone` and `pdf_class` over all contexts."""
        event = {self.central: phone, PDF_CLASS: pdf_class}
        return sorted({leaf.answer for leaf in _leaves(self.root, event)})


def _leaves(node, event=None):
    """Yield the leaves that an event with some keys open can reach."""
    if isinstance(node, Constant):
        yield node
    elif isinstance(node, Table):
        value = (event or {}).get(node.key)
        children = node.children if value is None else node.children[value : value + 1]
        for child in children:
            if child is not None:
                yield from _leaves(child, event)
    else:
        value = (event or {}).get(node.key)
        for child, answer in ((node.yes, True), (node.no, False)):
            if value is None or (value in node.yes_set) == answer:
                yield from _leaves(child, event)


def read_tree(path):
    """Read a tree file, binary or text.

    Raises
    ------
    PymavgError
        When the file is missing or damaged.
    """
    reader = open_reader(path)
    reader.expect("ContextDependency")
    width, central = reader.int32(), reader.int32()
    if not 0 <= central < width <= 100:
        raise reader.error(f"a window of phones expected, found width {width} and position {central}")
    reader.expect("ToPdf")
    root = _read_node(reader, width, 0)
    reader.expect("EndContextDependency")
    return ContextDependency(width, central, root)


def _read_node(reader, width, depth):
    kind = reader.expect("CE", "TE", "SE", "NULL")
    if kind == "NULL":
        return None
    number = reader.int32()
    if kind == "CE":
        if number < 0:
            raise reader.error(f"a pdf expected, found {number}; the tree is damaged")
        return Constant(number)
    if not PDF_CLASS <= number < width or depth > DEEPEST:
        raise reader.error(f"a key of the window of {width} phones expected, found {number}; the tree is damaged")
    if kind == "TE":
        size = reader.uint32()
        reader.expect("(")
        children = []
        while len(children) < size:  # each child takes bytes, so that a damaged size ends at the end of the file
            children.append(_read_node(reader, width, depth + 1))
        reader.expect(")")
        return Table(number, tuple(children))
    yes_set = frozenset(reader.int_vector().tolist())
    if yes_set and not 0 <= min(yes_set) <= max(yes_set) <= LARGEST_VALUE:
        raise reader.error("a set of phones or pdf classes with numbers out of range; the tree is damaged")
    reader.expect("{")
    yes, no = _read_node(reader, width, depth + 1), _read_node(reader, width, depth + 1)
    reader.expect("}")
    if yes is None or no is None:
        raise reader.error("a split without two branches; the tree is damaged")
    return Split(number, yes_set, yes, no)


def write_tree(path, tree, binary=True):
    """Write a tree file as Kaldi does."""
    with atomic_open(path, "wb") as stream:
        writer = KaldiWriter(stream, binary)
        writer.token("ContextDependency")
        writer.int32(tree.width)
        writer.int32(tree.central)
        writer.token("ToPdf")
        _write_node(writer, tree.root)
        writer.token("EndContextDependency")


def _write_node(writer, node):
    if node is None:
        writer.token("NULL")
    elif isinstance(node, Constant):
        writer.token("CE")
        writer.int32(node.answer)
    elif isinstance(node, Table):
        writer.token("TE")
        writer.int32(node.key)
        writer.uint32(len(node.children))
        writer.token("(")
        for child in node.children:
            _write_node(writer, child)
        writer.token(")")
        writer.text("\n")
    else:
        writer.token("SE")
        writer.int32(node.key)
        writer.int_vector(sorted(node.yes_set))
        writer.token("{")
        _write_node(writer, node.yes)
        _write_node(writer, node.no)
        writer.token("}")
        writer.text("\n")
