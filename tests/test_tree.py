"""Decision trees against Kaldi's files."""

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.kaldi.tree import PDF_CLASS, Constant, ContextDependency, Split, Table, read_tree, write_tree


def walk(node, event):
    """The answer, one event at a time."""
    while not isinstance(node, Constant):
        if isinstance(node, Table):
            node = node.children[event[node.key]]
        else:
            node = node.yes if event[node.key] in node.yes_set else node.no
    return node.answer


@pytest.mark.parametrize("name", ["mono/tree", "tri1/tree", "units/tree"])
def test_binary_form_to_the_byte(golden, tmp_path, name):
    write_tree(tmp_path / "tree", read_tree(golden(f"gmm/{name}")))
    assert (tmp_path / "tree").read_bytes() == golden(f"gmm/{name}").read_bytes()


def test_text_form(golden, tmp_path):
    tree, text = read_tree(golden("gmm/units/tree")), golden("gmm/units/tree.txt")
    write_tree(tmp_path / "tree.txt", tree, binary=False)
    assert (tmp_path / "tree.txt").read_text() == text.read_text()
    assert read_tree(text).root == tree.root


def test_pdfs(golden):
    tree = read_tree(golden("gmm/tri1/tree"))
    assert (tree.width, tree.central, tree.num_pdfs) == (3, 1, 104)
    rng = np.random.default_rng(0)
    windows = rng.integers(1, 87, (500, 3))
    windows[:40, 0], windows[20:60, 2] = 0, 0
    classes = rng.integers(0, 3, 500)
    events = [dict(enumerate(w)) | {PDF_CLASS: c} for w, c in zip(windows.tolist(), classes.tolist(), strict=True)]
    expected = [walk(tree.root, event) for event in events]
    assert tree.pdfs(windows, classes).tolist() == expected
    assert tree.pdf(tuple(windows[7].tolist()), int(classes[7])) == expected[7]
    for window, pdf_class, pdf in zip(windows.tolist(), classes.tolist(), expected, strict=True):
        assert pdf in tree.possible_pdfs(window[1], pdf_class)


def test_no_answer():
    tree = ContextDependency(1, 0, Table(0, (None, Split(PDF_CLASS, frozenset([0]), Constant(0), Constant(3)))))
    assert tree.num_pdfs == 4
    assert tree.pdfs([[1], [1], [0], [9]], [0, 2, 0, 0]).tolist() == [0, 3, -1, -1]
    with pytest.raises(PymavgError, match="no pdf for phones"):
        tree.pdf((9,), 0)


def test_damage_is_told(golden, tmp_path):
    data = golden("gmm/tri1/tree").read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(300):
        damaged = bytearray(data[: rng.integers(2, len(data))] if trial % 3 == 0 else data)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        (tmp_path / "tree").write_bytes(bytes(damaged))
        try:
            assert read_tree(tmp_path / "tree").num_pdfs > 0
        except PymavgError as error:
            assert str(tmp_path) in str(error)
