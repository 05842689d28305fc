"""Tree statistics, questions and trees against Kaldi's files."""

import numpy as np
import pytest
from gmm_data import alignments, features, lang_of

from pymavg.errors import PymavgError
from pymavg.gmm.build_tree import TreeOptions, build_tree
from pymavg.gmm.c_random import c_random, choice, name_seed
from pymavg.gmm.merge_leaves import LeafMerger
from pymavg.gmm.questions import find_questions
from pymavg.gmm.tree_roots import monophone_tree
from pymavg.gmm.tree_stats import (
    ABSENT,
    TreeStats,
    accumulate_tree_stats,
    distinct_rows,
    frame_keys,
    gaussian_loglike,
    load_tree_stats,
)
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import write_tree


@pytest.fixture(scope="module")
def made():
    return {}


@pytest.fixture
def stats(golden, made):
    """Tree statistics of golden's monophone alignments."""
    if not made:
        tids, feats = alignments(golden("gmm/mono/ali_final.gz")), features(golden("gmm/data/train"))
        model = read_transition_model(golden("gmm/mono/trans_model.txt"))
        keys = frame_keys(model, list(tids.values()), lang_of(golden).context_indep, 3, 1)
        made["stats"] = accumulate_tree_stats(keys, np.concatenate([feats[utterance] for utterance in tids]))
    return made["stats"]


def read_sets(path):
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()]


def test_statistics_of_a_hand_made_alignment(golden):
    model = read_transition_model(golden("gmm/mono/trans_model.txt"))
    tids = alignments(golden("gmm/mono/ali_final.gz"))["george-train-000"]
    keys = frame_keys(model, [tids, tids], [1], 3, 1)
    phones = [phone for *_, phone in model.split_to_phones(tids)]
    assert len(keys) == 2 * len(tids)
    assert keys[0].tolist() == [ABSENT, 1, ABSENT, 0]  # silence, without context
    first = keys[np.argmax(keys[:, 1] != 1)]
    assert first[:3].tolist() == [1, *phones[1:3]]
    assert np.array_equal(keys[: len(tids)], keys[len(tids) :])


def test_questions_equal_kaldis(golden, stats):
    lang = lang_of(golden)
    found = find_questions(stats, lang.sets, central=1)
    assert found == read_sets(golden("gmm/units/questions_auto.int"))
    assert found + lang.extra_questions == read_sets(golden("gmm/units/questions.int"))


@pytest.mark.parametrize(
    ("name", "options", "split", "gain", "leaves"),
    [
        ("tree", TreeOptions(max_leaves=150), 110, 4.4254, 104),
        ("tree_90_ct200", TreeOptions(max_leaves=90, cluster_thresh=200.0), 90, 4.28586, 88),
    ],
)
def test_trees_equal_kaldis_to_the_byte(golden, tmp_path, stats, name, options, split, gain, leaves):
    lang, questions = lang_of(golden), read_sets(golden("gmm/units/questions.int"))
    tree, report = build_tree(stats, questions, lang.roots, lang.topology, options)
    write_tree(tmp_path / "tree", tree)
    assert (tmp_path / "tree").read_bytes() == golden(f"gmm/units/{name}").read_bytes()
    assert (report["leaves_split"], report["leaves"]) == (split, leaves)
    assert report["gain"] == pytest.approx(gain, rel=1e-4)


def test_last_split_is_kaldis_threshold(golden, stats):
    lang, questions = lang_of(golden), read_sets(golden("gmm/units/questions.int"))
    _, report = build_tree(stats, questions, lang.roots, lang.topology, TreeOptions(max_leaves=150))
    assert report["smallest_split"] == pytest.approx(300.438, rel=1e-4)


def test_monophone_tree_equals_kaldis(golden, tmp_path):
    lang = lang_of(golden)
    write_tree(tmp_path / "tree", monophone_tree(lang.topology, lang.sets))
    assert (tmp_path / "tree").read_bytes() == golden("gmm/mono/tree").read_bytes()
    assert monophone_tree(lang.topology).num_pdfs == 10 * 5 + 76 * 3


def random_stats(rng, phones, dim=4):
    """Statistics of phones whose middle state sounds like left neighbour 1 or not; the others all sound alike."""
    keys = np.array([(a, b, c, s) for a in phones for b in phones for c in phones for s in range(3)], np.int32)
    means = rng.standard_normal((len(phones) + 1, 3, dim))[keys[:, 1], keys[:, 3]]
    means[(keys[:, 0] == 1) & (keys[:, 3] == 1)] += 3
    n = rng.integers(20, 40, len(keys))[:, None].astype(float)
    return TreeStats(keys, np.hstack([n, n * means, n * (means**2 + 0.5)]))


def test_a_planted_question_is_found_with_roots_not_shared(golden):
    lang = lang_of(golden)
    phones = [11, 12, 13]
    stats = random_stats(np.random.default_rng(0), range(4))
    stats = TreeStats(np.where(stats.keys > 0, stats.keys + [10, 10, 10, 0], stats.keys), stats.sums)
    stats = TreeStats(stats.keys[stats.keys[:, 1] > 0], stats.sums[stats.keys[:, 1] > 0])
    roots = [(False, True, [phone]) for phone in phones[:2]] + [(False, False, phones[2:])]
    options = TreeOptions(max_leaves=11, cluster_thresh=0.0, round_num_leaves=False)
    tree, report = build_tree(stats, [[11], [12], [11, 12]], roots, lang.topology, options)
    assert report["leaves"] == 11
    for phone in phones[:2]:
        assert tree.pdf((11, phone, 12), 1) != tree.pdf((12, phone, 12), 1)
        assert tree.pdf((11, phone, 12), 0) == tree.pdf((12, phone, 12), 0)
    assert tree.pdf((11, 13, 12), 1) == tree.pdf((12, 13, 12), 1)  # not to be split


def test_phones_without_a_root_are_refused(golden):
    stats = random_stats(np.random.default_rng(0), range(4))
    with pytest.raises(PymavgError, match="no tree root"):
        build_tree(stats, [[11]], [(True, True, [11]), (True, True, [12])], lang_of(golden).topology, TreeOptions())


def test_leaves_are_merged_where_it_costs_least():
    rng = np.random.default_rng(1)
    n = np.full((6, 1), 100.0)
    means = np.array([0.0, 5.0, 0.1, 5.1, 9.0, 0.3])[:, None] + np.zeros((6, 2))
    points = np.hstack([n, n * means, n * (means**2 + 1 + 0.01 * rng.random((6, 2)))])
    merger, lost = LeafMerger(points), 0.0
    while merger.cheapest < 50:
        lost += merger.cheapest
        merger.merge()
    assert merger.groups() == [2, 0, 2, 0, 1, 2]  # numbered in the order of each cluster's last point: 3, 4, 5
    groups = np.array(merger.groups())
    sums = np.stack([points[groups == group].sum(0) for group in range(3)])
    assert lost == pytest.approx(gaussian_loglike(points).sum() - gaussian_loglike(sums).sum())


def test_random_numbers_are_the_c_librarys():
    draws = c_random()
    assert [next(draws) for _ in range(4)] == [1804289383, 846930886, 1681692777, 1714636915]
    assert next(c_random(3000000000)) == 2058147116
    assert choice(iter([7]), 1) == 0 and choice(iter([7]), 4) == 3
    assert name_seed("ab") == 97 * 7853 + 98


def test_distinct_rows_are_numpys():
    rows = np.random.default_rng(2).integers(-1, 4, (200, 3)).astype(np.int32)
    expected, group = np.unique(rows, axis=0, return_inverse=True)
    found, index = distinct_rows(rows)
    assert np.array_equal(found, expected) and np.array_equal(index, group.ravel())


def test_statistics_of_jobs_add_up(tmp_path):
    rng = np.random.default_rng(3)
    keys, feats = rng.integers(0, 3, (50, 4)).astype(np.int32), rng.standard_normal((50, 2))
    for job, part in ((1, slice(0, 20)), (2, slice(20, 50))):
        accumulate_tree_stats(keys[part], feats[part]).save(tmp_path / f"{job}.treeacc")
    both = load_tree_stats([tmp_path / "1.treeacc", tmp_path / "2.treeacc"])
    whole = accumulate_tree_stats(keys, feats)
    assert np.array_equal(both.keys, whole.keys)
    np.testing.assert_allclose(both.sums, whole.sums)
    (tmp_path / "2.treeacc").write_bytes(b"PK")
    with pytest.raises(PymavgError, match="2.treeacc: not tree statistics"):
        load_tree_stats([tmp_path / "1.treeacc", tmp_path / "2.treeacc"])
