"""Statistics and what updates gain, against what Kaldi's accumulators hold and its programs logged (gmm/units)."""

import itertools
import re

import numpy as np
import pytest
from gmm_data import alignments, features_of, lang_of
from test_gmm_estimate import training_data
from test_gmm_tree import made, read_sets, stats  # noqa: F401

from pymavg.formats.kinds import copy
from pymavg.gmm.accumulate import GmmStats, accumulate
from pymavg.gmm.build_tree import TreeOptions, build_tree
from pymavg.gmm.estimate import UpdateOptions, update
from pymavg.gmm.first_model import AlignmentConverter
from pymavg.gmm.mllt import accumulate_mllt
from pymavg.gmm.silence import tid_weights
from pymavg.gmm.tree_stats import ABSENT, gaussian_loglike
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree


@pytest.fixture
def words(golden, tmp_path):
    """Return the function name -> words of the text form of a file of gmm/units."""

    def read(name):
        copy(str(golden(f"gmm/units/{name}")), tmp_path / "text", binary=False)
        return (tmp_path / "text").read_text().split()

    return read


def bracketed(words, marker, count):
    """Return the numbers in brackets behind each of `count` markers, one row each."""
    rows = []
    for at in [k for k, word in enumerate(words) if word == marker]:
        begin = words.index("[", at) + 1
        rows.append([float(w) for w in words[begin : words.index("]", begin)]])
    assert len(rows) == count
    return np.array(rows)


def test_tree_statistics_equal_kaldis(words, stats):  # noqa: F811
    text = words("treeacc")
    events = [k for k, word in enumerate(text) if word == "EV"]
    expected = {}
    sums = bracketed(text, "GCL", len(events))
    for at, row in zip(events, sums, strict=True):
        pairs = np.array(text[at + 2 : at + 2 + 2 * int(text[at + 1])], int).reshape(-1, 2)
        key = dict.fromkeys((0, 1, 2), ABSENT) | dict(pairs.tolist())
        count = float(text[text.index("GCL", at) + 1])
        expected[key[0], key[1], key[2], key[-1]] = np.append(count, row)
    assert expected.keys() == set(map(tuple, stats.keys.tolist()))
    for key, row in zip(stats.keys.tolist(), stats.sums, strict=True):
        wanted = expected[tuple(key)]
        size = np.sqrt(wanted[0] * np.append(wanted[40:], wanted[40:]))  # a sum may cancel; its terms do not
        assert row[0] == wanted[0]
        # A frame's coefficient differs by a digit of cepstra of up to 128 (7.6e-6), which Kaldi decompresses and
        # normalises in single precision; sums of squares, by this measure, by twice as much.
        assert (np.abs(row[1:] - wanted[1:]) / size).max() < 1.6e-5


def test_statistics_of_the_first_triphones_and_their_gain_equal_kaldis(golden, words):
    tree, (transitions, gmm) = read_tree(golden("gmm/units/tree")), read_model(golden("gmm/units/init.mdl"))
    tids, frames = training_data(golden)
    old = read_transition_model(golden("gmm/mono/trans_model.txt"))
    converted = np.concatenate(AlignmentConverter(old, transitions, tree).convert(list(tids.values())))
    found = GmmStats.zeros(gmm, transitions.num_tids)
    accumulate(found, gmm, transitions.tid_pdf, frames, converted)
    text = words("init.acc")
    assert found.transitions.tolist() == [float(w) for w in text[text.index("[") + 1 : text.index("]")]]
    np.testing.assert_allclose(found.occupancy, bracketed(text, "<OCCUPANCY>", 104)[:, 0], rtol=1e-6)
    second = bracketed(text, "<DIAGVARACCS>", 104)
    np.testing.assert_allclose(found.second, second, rtol=1e-5)
    size = np.maximum(np.sqrt(found.occupancy[:, None] * second), 1.0)
    assert (np.abs(found.first - bracketed(text, "<MEANACCS>", 104)) / size).max() < 1e-5
    assert found.loglike == pytest.approx(float(text[text.index("<total_like>") + 1]), rel=1e-6)
    new, _ = update(gmm, found, UpdateOptions(remove_low_count_gaussians=False))
    gain = (objective(new, found) - objective(gmm, found)) / found.frames
    assert gain == pytest.approx(logged(golden, "GMM update: Overall")[0], abs=1e-5)  # none but for rounding


def logged(golden, text):
    """Return the number behind each `text` in Kaldi's log."""
    return [float(x) for x in re.findall(re.escape(text) + r" ([-+.e\d]+)", golden("gmm/units/objf.txt").read_text())]


def objective(gmm, found):
    """Return Σ γ log N of a model on statistics, summed as Kaldi does: its log shows what single precision loses."""
    occupancy, first, second = (x.astype(np.float32) for x in (found.occupancy, found.first, found.second))
    total = 0.0
    for begin, end in itertools.pairwise(gmm.offset.tolist()):
        linear = np.vdot(first[begin:end], gmm.means_invvars[begin:end].astype(np.float32))
        squares = np.vdot(second[begin:end], gmm.inv_vars[begin:end].astype(np.float32))
        total += float(occupancy[begin:end] @ gmm.gconsts[begin:end] + linear - np.float32(0.5) * squares)
    return total


def test_gain_of_the_update_of_a_trained_model_is_kaldis(golden):
    transitions, gmm = read_model(golden("gmm/mono/final.mdl"))
    tids, frames = training_data(golden)
    found = GmmStats.zeros(gmm, transitions.num_tids)
    accumulate(found, gmm, transitions.tid_pdf, frames, np.concatenate(list(tids.values())))
    new, _ = update(gmm, found, UpdateOptions(remove_low_count_gaussians=False))
    gain = (objective(new, found) - objective(gmm, found)) / found.frames
    assert gain == pytest.approx(logged(golden, "GMM update: Overall")[1], abs=5e-6)  # found 2e-6


def test_mllt_statistics_equal_kaldis(golden, words):
    transitions, gmm = read_model(golden("gmm/tri2/final.mdl"))
    tids = alignments(golden("gmm/tri2/ali_final.gz"))
    weights = tid_weights(transitions, golden("gmm/lang/phones/silence.csl").read_text().strip(), 0.0)
    feats, flat = features_of(golden("gmm/data/train"), golden("gmm/tri2")), np.concatenate(list(tids.values()))
    rows = np.flatnonzero(weights[flat])
    found = accumulate_mllt(
        gmm, np.concatenate([feats[u] for u in tids]), rows, transitions.tid_pdf[flat][rows], weights[flat][rows]
    )
    text = words("mllt.acc")
    lower = np.array([w for w in text[3:-1] if w not in ("<G>", "[", "]")], float).reshape(40, -1)
    assert found.frames == pytest.approx(float(text[1]))
    for second, expected in zip(found.second, lower, strict=True):
        diagonal = np.sqrt(np.diag(second))
        error = np.abs(second[np.tril_indices(40)] - expected) / np.outer(diagonal, diagonal)[np.tril_indices(40)]
        assert error.max() < 1e-4


@pytest.mark.parametrize(
    ("options", "number"), [(TreeOptions(max_leaves=150), 0), (TreeOptions(max_leaves=90, cluster_thresh=200.0), 1)]
)
def test_what_merging_leaves_costs_is_kaldis(golden, stats, options, number):  # noqa: F811
    lang, questions = lang_of(golden), read_sets(golden("gmm/units/questions.int"))
    gains = []
    whole = TreeOptions(max_leaves=options.max_leaves, cluster_thresh=0.0, round_num_leaves=False)
    for each in (options, whole):
        tree, _ = build_tree(stats, questions, lang.roots, lang.topology, each)
        pdfs = tree.pdfs(stats.keys[:, :3], stats.keys[:, 3])
        sums = np.zeros((tree.num_pdfs, stats.sums.shape[1]))
        np.add.at(sums, pdfs, stats.sums)
        gains.append(gaussian_loglike(sums[sums[:, 0] > 0]).sum() / sums[:, 0].sum())
    assert gains[0] - gains[1] == pytest.approx(logged(golden, "due to clustering")[number], rel=1e-3)


def test_questions_asked_are_kaldis(golden, words):
    """compile-questions asks each position the phone sets of questions.int, and the pdf class how large it is."""
    text = words("questions.qst")
    keys = [k for k, word in enumerate(text) if word == "<Key>"]
    assert [int(text[k + 1]) for k in keys] == [-1, 0, 1, 2]
    phone_sets = sorted(read_sets(golden("gmm/units/questions.int")))
    for begin, end in zip(keys, [*keys[1:], len(text)], strict=True):
        part = " ".join(text[begin:end])
        sets = [[int(w) for w in inner.split()] for inner in re.findall(r"\[([^\]]*)\]", part)]
        assert sets == ([[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]] if begin == keys[0] else phone_sets)
