"""Phonetic decision trees from statistics: greedy splitting by questions, then merging of similar leaves.

Sources: BuildTree of Kaldi's tree/build-tree.cc, SplitDecisionTree and ClusterEventMapRestrictedByMap of
tree/build-tree-utils.cc. A leaf's gain by all questions about one key comes from one matrix product: questions × values
of the key, times the sums for each value.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.merge_leaves import LeafMerger
from pymavg.gmm.tree_roots import pdf_classes, stub_map
from pymavg.gmm.tree_stats import ABSENT, gaussian_loglike
from pymavg.kaldi.tree import PDF_CLASS, Constant, ContextDependency, Split, Table

ROUND_TO = 8


@dataclass
class TreeOptions:
    """Limits of the tree.

    Attributes
    ----------
    max_leaves : int
        Leaves before merging.
    thresh : float
        Gain of log-likelihood that a split must exceed.
    cluster_thresh : float
        Leaves of one root are merged where that costs less; negative: the gain of the last split made; 0: no merging.
    round_num_leaves : bool
        Merge on until the number of leaves is a multiple of 8.
    """

    max_leaves: int = 0
    thresh: float = 300.0
    cluster_thresh: float = -1.0
    round_num_leaves: bool = True


@dataclass
class _Leaf:
    """A node under construction: rows of the statistics that reach it, and its split if it has one."""

    answer: int
    rows: np.ndarray
    question: tuple = None  # (key, phones or classes)
    children: list = field(default_factory=list)

    def node(self, renumber):
        """Return it as a node of pymavg.kaldi.tree."""
        if not self.children:
            return Constant(renumber[self.answer])
        key, yes_set = self.question
        return Split(key, frozenset(yes_set), *(child.node(renumber) for child in self.children))


def build_tree(stats, questions, roots, topology, options, width=3, central=1):
    """Build a tree.

    Parameters
    ----------
    stats : pymavg.gmm.tree_stats.TreeStats
    questions : list of lists of int
        Sets of phones.
    roots : list of (shared, split, phones)
        One tree root each: shared by the states of a phone or not; may it be split (lang/phones/roots.int).
    topology : pymavg.kaldi.topology.Topology
    options : TreeOptions
    width, central : int

    Returns
    -------
    (ContextDependency, dict)
        The tree; `leaves_split`, `gain` (per frame), `smallest_split` and `leaves` for the log.

    Raises
    ------
    PymavgError
        When the statistics hold phones that no root has.
    """
    num_classes = pdf_classes(topology)
    stub, num_leaves = stub_map(roots, num_classes, central)
    leaves = _initial_leaves(stats, stub, num_leaves)
    fixed = [phone for _, split, phones in roots if not split for phone in phones]
    free = ~np.isin(stats.keys[:, central], fixed)
    asked = _questions_by_key(questions, width, max(num_classes.values()))
    grower = _Grower(stats, asked, options, leaves, free)
    grower.grow()
    merged = _merge_leaves(stats, leaves, grower, options)
    renumber = {answer: number for number, answer in enumerate(sorted(set(merged.values())))}
    root = _graft(stub, leaves, {answer: renumber[kept] for answer, kept in merged.items()})
    frames = float(stats.sums[:, 0].sum())
    report = {
        "leaves_split": grower.num_leaves,
        "gain": grower.gain / frames,
        "smallest_split": grower.smallest,
        "leaves": len(renumber),
    }
    return ContextDependency(width, central, root), report


def _initial_leaves(stats, stub, num_leaves):
    rows_of = {answer: np.zeros(0, np.int64) for answer in range(num_leaves)}
    found = 0
    for rows, answer in stub.answers(stats.events(), np.arange(len(stats.keys))):
        rows_of[answer] = np.sort(np.concatenate([rows_of[answer], rows]))
        found += len(rows)
    if found < len(stats.keys):
        raise PymavgError("the statistics have phones that no tree root has; make lang and alignments again")
    return [_Leaf(answer, rows) for answer, rows in rows_of.items()]


def _questions_by_key(questions, width, num_classes):
    """Return the dict key -> list of value sets; of the pdf class it is asked whether it is below 1, 2, ….

    Sorted, as Kaldi's compile-questions does: of questions that divide the data alike, the first one is taken.
    """
    phones = [list(q) for q in sorted({tuple(sorted(question)) for question in questions})]
    return {PDF_CLASS: [list(range(k)) for k in range(1, num_classes)]} | dict.fromkeys(range(width), phones)


class _Grower:
    """Splits the leaf with the largest gain, again and again."""

    def __init__(self, stats, questions, options, leaves, free):
        self.stats, self.questions, self.options, self.free = stats, questions, options, free
        self.num_leaves, self.gain, self.smallest = len(leaves), 0.0, 1e10
        self._columns = stats.events()
        self._tables = {}
        for key, sets in questions.items():
            table = np.zeros((len(sets), 1 + max(self._columns[key].max(), max(map(max, sets), default=0))), bool)
            for row, values in enumerate(sets):
                table[row, values] = True
            self._tables[key] = table
        self._queue = []
        for leaf in leaves:
            self._enter(leaf)

    def grow(self):
        """Split until no gain is left or the number of leaves is reached."""
        limit = self.options.max_leaves
        while self._queue and (limit <= 0 or self.num_leaves < limit):
            gain, _, leaf, question = heapq.heappop(self._queue)
            key, values = question
            is_yes = np.isin(self._columns[key][leaf.rows], values)
            leaf.question = question
            leaf.children = [_Leaf(leaf.answer, leaf.rows[is_yes]), _Leaf(self.num_leaves, leaf.rows[~is_yes])]
            self.num_leaves += 1
            self.gain -= gain
            self.smallest = min(self.smallest, -gain)
            for child in leaf.children:
                self._enter(child)

    def _enter(self, leaf):
        rows = leaf.rows[self.free[leaf.rows]]
        best, question = self.options.thresh, None
        for key, sets in self.questions.items():
            gain, index = self._best_question(key, rows)
            if gain > best:
                best, question = gain, (key, sets[index])
        if question:
            heapq.heappush(self._queue, (-best, leaf.answer, leaf, question))

    def _best_question(self, key, rows):
        """Return (gain, index) of the best question about `key`; (0, -1) without any."""
        values = self._columns[key][rows]
        if len(rows) < 2 or values.min() == ABSENT:
            return 0.0, -1
        present, group = np.unique(values, return_inverse=True)
        if len(present) < 2:
            return 0.0, -1
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(present)))
        by_value = np.add.reduceat(self.stats.sums[rows[order]], starts, axis=0)
        table, indices = _distinct(self._tables[key][:, present])
        if not indices:
            return 0.0, -1
        yes, total = table.astype(np.float64) @ by_value, by_value.sum(0)
        # in single precision as in Kaldi, so that what is equal but for rounding stays a tie that the first one wins
        parts = np.stack([total - yes, yes, np.broadcast_to(total, yes.shape)])
        rest, taken, whole = gaussian_loglike(parts).astype(np.float32)
        gain = rest + taken - whole
        best = int(np.argmax(gain))
        return float(gain[best]), indices[best]


def _distinct(table):
    """Return the rows that divide the values differently, the first of each kind, and their indices."""
    table = table ^ table[:, :1]  # yes and no exchanged is the same division
    first = {}
    for index, packed in enumerate(map(bytes, np.packbits(table, axis=1))):
        first.setdefault(packed, index)
    first.pop(bytes(-(-table.shape[1] // 8)), None)
    indices = list(first.values())
    return table[indices], indices


def _final_leaves(leaf):
    if not leaf.children:
        return [leaf]
    return [final for child in leaf.children for final in _final_leaves(child)]


def _merge_leaves(stats, leaves, grower, options):
    """Return the dict from each leaf's number to the number it is merged into."""
    thresh = options.cluster_thresh if options.cluster_thresh >= 0 else grower.smallest
    finals = [sorted(_final_leaves(root), key=lambda leaf: leaf.answer) for root in leaves]
    mergers = [LeafMerger(np.stack([stats.sums[leaf.rows].sum(0) for leaf in root])) for root in finals]
    for merger in mergers:
        while merger.cheapest < thresh:
            merger.merge()
    surplus = sum(merger.alive.sum() for merger in mergers) % ROUND_TO if options.round_num_leaves else 0
    for _ in range(surplus):
        best = min(mergers, key=lambda merger: merger.cheapest)
        if np.isfinite(best.cheapest):
            best.merge()
    merged = {}
    for root, merger in zip(finals, mergers, strict=True):
        merged |= {leaf.answer: root[group].answer for leaf, group in zip(root, merger.groups(), strict=True)}
    return merged


def _graft(node, leaves, renumber):
    """Return the stub map with its leaves replaced by the trees that grew there."""
    if isinstance(node, Constant):
        return leaves[node.answer].node(renumber)
    if isinstance(node, Table):
        return Table(node.key, tuple(child and _graft(child, leaves, renumber) for child in node.children))
    return Split(node.key, node.yes_set, _graft(node.yes, leaves, renumber), _graft(node.no, leaves, renumber))
