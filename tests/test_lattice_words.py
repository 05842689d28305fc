"""Words and phones in time: word lattices, ctm, alignments as phones, against Kaldi's (golden/graph) and by hand."""

import itertools

import numpy as np
import pytest
from test_lattice import cost, file, lattices, symbols, table  # noqa: F401

from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.lattice import Lattice
from pymavg.decoding.mbr import mbr_decode
from pymavg.decoding.word_lattice import WordAligner
from pymavg.decoding.word_lattice_lexicon import LexiconWordAligner
from pymavg.decoding.word_times import WordTimer, phone_spans
from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.graph.topology import make_topology
from pymavg.kaldi.transitions import TransitionModel, read_transition_model
from pymavg.tools import lattice_align_words, lattice_oracle, lattice_to_ctm, show_alignments


@pytest.fixture
def lang(golden):
    golden("gmm/lang/phones/word_boundary.int")
    return Lang(golden("gmm/lang"))


@pytest.fixture
def model_file(golden, file):  # noqa: F811
    return golden(f"gmm/{'mono' if file('lat.ark').name.startswith('mono') else 'tri1'}/trans_model.txt")


@pytest.fixture
def model(model_file):
    return read_transition_model(model_file)


@pytest.fixture
def noisy(golden):
    """Return (a lattice, its model)."""
    lattice = dict(read_lattices(golden("graph/tri1_noisy.lat.ark")))["theo-test-004"]
    return lattice, read_transition_model(golden("gmm/tri1/trans_model.txt"))


@pytest.mark.parametrize(("kind", "choose"), [("mbr.ctm", True), ("conf_1best.ctm", False)])
def test_ctm_with_confidences_from_word_lattices(file, lattices, symbols, lang, model, kind, choose):  # noqa: F811
    aligner, found = WordAligner(model, lang.word_boundary), []
    for utterance, lattice in lattices.items():
        words = aligner.align(lattice)
        result = mbr_decode(words, cost(words), choose)
        for word, (start, end), p in zip(result.words, result.times, result.confidences, strict=True):
            found.append((utterance, symbols[word], start / 100, (end - start) / 100, p))
    expected = [line.split() for line in file(kind).read_text().split("\n") if line]
    assert [(r[0], r[1]) for r in found] == [(r[0], r[4]) for r in expected]
    assert np.allclose([r[2:] for r in found], [[float(r[k]) for k in (2, 3, 5)] for r in expected], atol=0.0101)


def test_word_lattices_and_their_posteriors(file, lattices, lang, model):  # noqa: F811
    expected, found = {}, {}
    aligner, aligned = WordAligner(model, lang.word_boundary), dict(read_lattices(file("aligned_words.txt")))
    for line in file("arc_post.txt").read_text().split("\n")[:-1]:
        utterance, start, frames, p, word, *phones = line.split()
        key = utterance, int(start), int(frames), int(word), tuple(map(int, phones))
        expected[key] = expected.get(key, 0.0) + float(p)
    for utterance, lattice in lattices.items():
        words = aligner.align(lattice)
        assert spans(words) == spans(aligned[utterance])
        p, _ = paths.posteriors(words, cost(words))
        for a, (start, end, word) in enumerate(all_spans(words)):
            phones = phone_spans(model, words.tids[words.offset[a] : words.offset[a + 1]]) if end > start else []
            key = utterance, start, end - start, word, tuple(phone for *_, phone in phones)
            found[key] = found.get(key, 0.0) + p[a]
    assert {key for key, p in found.items() if p > 1e-3} <= expected.keys()
    for key, p in expected.items():
        assert found[key] == pytest.approx(p, abs=1e-3)


@pytest.mark.parametrize("kind", ["aligned_words", "aligned_words_lexicon"])
def test_word_lattices_have_kaldis_paths_and_times(file, lattices, lang, model, kind):  # noqa: F811
    by_lexicon, expected = kind.endswith("lexicon"), dict(read_lattices(file(f"{kind}.txt")))
    aligner = LexiconWordAligner(model, lang.align_lexicon) if by_lexicon else WordAligner(model, lang.word_boundary)
    for utterance, lattice in lattices.items():
        assert_same_paths(aligner.align(lattice, utterance), expected[utterance])


def assert_same_paths(found, expected):
    tables = []
    for lattice in (found, expected):
        ways = paths.n_best(lattice, cost(lattice), 10_000)
        tables.append({tuple(cut(lattice, way)): (way.graph_cost, way.acoustic_cost) for way in ways})
        assert len(tables[-1]) == len(ways) < 10_000
    assert tables[0].keys() == tables[1].keys()
    for way, costs in tables[1].items():
        assert tables[0][way] == pytest.approx(costs, rel=3e-6, abs=1e-3)  # the text has six digits for each arc


def cut(lattice, path):
    """Yield (word, transition-ids) of the arcs of a path; the one into the end has none in Kaldi's files."""
    for a in path.arcs:
        tids = tuple(lattice.tids[lattice.offset[a] : lattice.offset[a + 1]].tolist())
        if tids:
            yield int(lattice.word[a]), tids


def all_spans(lattice):
    times = lattice.times
    return list(zip(times[lattice.source].tolist(), times[lattice.target].tolist(), lattice.word.tolist(), strict=True))


def spans(lattice):
    return {span for span in all_spans(lattice) if span[1] > span[0]}


@pytest.mark.parametrize("by_boundary", [True, False])
def test_word_times_of_the_best_path(file, lattices, symbols, lang, model, by_boundary):  # noqa: F811
    timer, found = WordTimer(model, lang), []
    timer.boundary = lang.word_boundary if by_boundary else {}
    for utterance, lattice in lattices.items():
        best = paths.best_path(lattice, cost(lattice))
        for start, end, word in timer.times(best.tids, best.words):
            found.append([utterance, "1", f"{start / 100:.3f}", f"{(end - start) / 100:.3f}", symbols[word]])
    assert found == [line.split() for line in file("1best.ctm").read_text().split("\n") if line]


def test_words_of_another_lexicon_are_refused_and_broken_paths_are_not(noisy, lang):
    lattice, model = noisy
    best = paths.best_path(lattice, cost(lattice))
    with pytest.raises(PymavgError, match="u1: 3 words, but phones of 4 words"):
        WordTimer(model, lang).times(best.tids, best.words[:3], "u1")
    times = WordTimer(model, lang).times(best.tids[:45], best.words[:1])
    assert times[-1][1] == 45 or times[-1][1] == 38


def test_phones_of_the_best_path(golden, file, model_file, capsys):  # noqa: F811
    """Of ali-to-phones --ctm-output; lattice-align-phones cuts the lattice at some of the same places."""
    show_alignments.main(
        ["--form", "ctm", str(golden("gmm/lang/phones.txt")), str(model_file), str(file("1best_ali.txt"))]
    )
    rows = [line.split() for line in file("1best_phones.ctm").read_text().splitlines()]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == rows
    alignments = table(file("1best_ali.txt"))
    for utterance, lattice in read_lattices(file("1best_phone_lat.txt")):
        assert lattice.tids.tolist() == [int(tid) for tid in alignments[utterance]]
        borders = {round(100 * float(row[2])) for row in rows if row[0] == utterance} | {lattice.num_frames}
        assert set(lattice.times.tolist()) <= borders


@pytest.mark.parametrize("by_lexicon", ["false", "true"])
def test_tool_that_cuts_lattices_into_words(golden, file, model_file, tmp_path, by_lexicon):  # noqa: F811
    out = tmp_path / "words.gz"
    arguments = [golden("gmm/lang"), model_file, file("lat.ark"), out]
    lattice_align_words.main([f"--by-lexicon={by_lexicon}", *map(str, arguments)])
    expected = dict(read_lattices(file("aligned_words.txt")))
    for utterance, lattice in read_lattices(out):
        assert_same_paths(lattice, expected[utterance])


@pytest.mark.parametrize(("kind", "choose"), [("mbr.ctm", "true"), ("conf_1best.ctm", "false")])
def test_tool_that_writes_ctm(golden, file, model_file, capsys, kind, choose):  # noqa: F811
    arguments = [golden("gmm/lang"), model_file, file("lat.ark")]
    lattice_to_ctm.main([f"--decode-mbr={choose}", *map(str, arguments)])
    found, expected = (
        [row.split() for row in text.splitlines()] for text in (capsys.readouterr().out, file(kind).read_text())
    )
    assert [row[:2] + row[4:5] for row in found] == [row[:2] + row[4:5] for row in expected]
    numbers = [[[float(row[k]) for k in (2, 3, 5)] for row in rows] for rows in (found, expected)]
    np.testing.assert_allclose(*numbers, atol=0.0101)


def test_tool_that_finds_the_oracle(golden, tmp_path, capsys):
    (tmp_path / "text").write_text(golden("graph/text").read_text().replace("five", "fifth"))
    arguments = [golden("graph/fst/words.txt"), tmp_path / "text", golden("graph/tri1_noisy.lat.ark")]
    lattice_oracle.main(["--write-lattices", str(tmp_path / "o.gz"), *map(str, arguments)])
    shown = capsys.readouterr()
    assert "[ 14 / 25, 0 ins, 0 del, 14 sub ]" in shown.err
    for utterance, lattice in read_lattices(tmp_path / "o.gz"):
        (path,) = paths.n_best(lattice, cost(lattice), 2)
        assert len(table_of(shown.out)[utterance]) == len(path.words)
    (tmp_path / "text").write_text("other one\n")
    with pytest.raises(PymavgError, match="no utterance of .*text is here"):
        lattice_oracle.main([*map(str, arguments)])


def table_of(text):
    return {line.split()[0]: line.split()[1:] for line in text.splitlines()}


# A lexicon in which everything that is awkward happens: phone 1 is silence between words, and also a word; word 2 is
# the beginning of word 3; word 5 has no phones, and word 6 two pronunciations, put out as word 7.
LEXICON = [
    (0, 0, (1,)),
    (1, 1, (1,)),
    (2, 2, (2,)),
    (3, 3, (2, 3)),
    (4, 4, (3,)),
    (5, 5, ()),
    (6, 7, (3, 2)),
    (6, 7, (2,)),
]


@pytest.fixture(scope="module")
def one_state():
    """A model whose phones 1 to 3 have one state each."""
    return TransitionModel(make_topology([2, 3], [1], 1, 1), [(phone, 0, phone - 1, phone - 1) for phone in (1, 2, 3)])


def spoken(rng, model, words):
    """Return (words, transition-ids) of a word sequence with random pronunciations, silences and durations."""
    phones = []
    for word in words:
        phones += [1] * int(rng.integers(2))
        ways = [p for w, _, p in LEXICON if w == word]
        phones += ways[rng.integers(len(ways))]
    tids = []
    for phone in phones or [1]:
        states = [t for t in range(1, model.num_tids + 1) if model.tid_phone[t] == phone]
        (loop,) = (t for t in states if model.tid_is_self_loop[t])
        (leave,) = (t for t in states if model.tid_is_final[t])
        tids += [leave] + [loop] * int(rng.integers(3))
    return tuple(words), tuple(tids)


def chains(rng, ways):
    """Return a lattice of these (words, transition-ids) with words on any arcs of their paths, and costs."""
    rows, states = [], 1
    for words, tids in ways:
        size = int(rng.integers(1, 5))
        places = np.sort(rng.integers(0, len(tids) + 1, size - 1))
        pieces = np.split(np.array(tids), places)
        on = np.sort(rng.integers(0, size, len(words)))
        pieces = [(piece, [w for w, k in zip(words, on, strict=True) if k == i]) for i, piece in enumerate(pieces)]
        arcs = [(piece if n == 0 else [], w) for piece, ws in pieces for n, w in enumerate(ws or [0])]
        for n, (piece, word) in enumerate(arcs):
            rows.append(
                (0 if n == 0 else states - 1, -1 if n == len(arcs) - 1 else states, word, *rng.random(2), piece)
            )
            states += n < len(arcs) - 1
    source, target, word, graph, acoustic, pieces = zip(*rows, strict=True)
    target = [states if t < 0 else t for t in target]
    offset = np.concatenate([[0], np.cumsum([len(p) for p in pieces])])
    return Lattice.from_arcs(
        states + 1, source, target, word, graph, acoustic, (offset, np.concatenate(pieces).astype(int))
    )


def cuts(words, phones):
    """Yield every way to share phones (as (phone, transition-ids)) between words and silences: ((word, tids), …)."""
    if not words and not phones:
        yield ()
    for word, out, pronunciation in LEXICON:
        rest = words[1:] if word else words
        n = len(pronunciation)
        if (word == 0 or words[:1] == (word,)) and tuple(p for p, _ in phones[:n]) == pronunciation:
            unit = out, tuple(itertools.chain(*(tids for _, tids in phones[:n])))
            for others in cuts(rest, phones[n:]):
                yield (unit, *others)


def test_every_path_comes_out_once_for_each_way_of_cutting_it(one_state):
    rng = np.random.default_rng(0)
    aligner = LexiconWordAligner(one_state, LEXICON)
    for _ in range(60):
        ways = {spoken(rng, one_state, rng.integers(1, 7, rng.integers(1, 5)).tolist()) for _ in range(3)}
        lattice = chains(rng, sorted(ways))
        expected = []
        for words, tids in ways:
            starts = [t for t, tid in enumerate(tids) if one_state.tid_is_final[tid]]
            pieces = [tids[a:b] for a, b in itertools.pairwise([*starts, len(tids)])]
            expected += list(cuts(words, [(int(one_state.tid_phone[piece[0]]), piece) for piece in pieces]))
        found = aligner.align(lattice)
        got = [tuple(unit for unit in arcs(found, path)) for path in paths.n_best(found, cost(found), 10_000)]
        assert sorted(got) == sorted(expected)


def arcs(lattice, path):
    return [
        (int(lattice.word[a]), tuple(lattice.tids[lattice.offset[a] : lattice.offset[a + 1]].tolist()))
        for a in path.arcs
    ]


def test_what_is_left_at_the_end_is_kept_and_what_does_not_fit_is_told(one_state, noisy, lang):
    lattice, model = noisy
    best = paths.best_path(lattice, cost(lattice))
    ways = best.words.tolist()[:2], best.tids[:57].tolist()
    broken = Lattice.from_arcs(
        3, [0, 1], [1, 2], ways[0], [1.0, 2.0], [3.0, 4.0], (np.array([0, 57, 57]), np.array(ways[1]))
    )
    found = LexiconWordAligner(model, lang.align_lexicon).align(broken)
    units = arcs(found, paths.best_path(found, cost(found)))
    assert [word for word, _ in units if word] == ways[0]
    assert sum(len(tids) for _, tids in units) == 57
    with pytest.raises(PymavgError, match="u1: its phones are not those of its words"):
        LexiconWordAligner(one_state, LEXICON[:2]).align(chains(np.random.default_rng(0), [((2, 2), (3, 5, 3))]), "u1")
    with pytest.raises(PymavgError, match="align_lexicon.int is empty"):
        LexiconWordAligner(one_state, [])
    with pytest.raises(PymavgError, match="phone 3 of the model is not in word_boundary.int"):
        WordAligner(one_state, {1: "nonword", 2: "singleton"})
