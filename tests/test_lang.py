"""Dictionaries and lang directories: equal to Kaldi's, and every fault named with file and line."""

import filecmp
import shutil

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.graph.dictionary import Pronunciation, read_dictionary
from pymavg.graph.lang import Lang
from pymavg.graph.lexicon import add_disambiguation
from pymavg.graph.prepare_lang import LangOptions, prepare_lang
from pymavg.graph.validate_lang import validate_lang
from pymavg.kaldi.fst import read_fst
from pymavg.tools import format_lm as format_lm_tool
from pymavg.tools import make_grammar
from pymavg.tools import prepare_lang as prepare_lang_tool


def make_dict(path, **files):
    contents = {
        "silence_phones": "SIL\nSPN\n",
        "nonsilence_phones": "A\nB C\n",
        "optional_silence": "SIL\n",
        "lexicon": "<unk> SPN\nab A B\nabc A B C\nba B A\nbaa B A\n",
    }
    path.mkdir()
    for name, text in (contents | files).items():
        if text is not None:
            (path / f"{name}.txt").write_text(text)
    return path


def test_lang_equals_prepare_langs(golden, tmp_path):
    prepare_lang(golden("gmm/dict"), "<UNK>", tmp_path / "lang")
    expected = golden("gmm/lang")
    names = sorted(str(p.relative_to(expected)) for p in expected.rglob("*") if p.is_file())
    assert names == sorted(str(p.relative_to(tmp_path / "lang")) for p in (tmp_path / "lang").rglob("*") if p.is_file())
    for name in names:
        mine, kaldis = tmp_path / "lang" / name, expected / name
        if name.endswith(".fst"):
            a, b = read_fst(mine), read_fst(kaldis)
            assert all(np.array_equal(getattr(a, field), getattr(b, field)) for field in vars(a)), name
        else:
            strip = [[line.rstrip() for line in path.read_text().split("\n")] for path in (mine, kaldis)]
            assert strip[0] == strip[1], name
    validate_lang(tmp_path / "lang")


def test_reading_a_lang(golden):
    lang = Lang(golden("gmm/lang"))
    assert lang.words.ids(["zero", "nought"], unknown=lang.oov) == [12, 2]
    assert lang.silence_phones == list(range(1, 11)) and lang.disambig == [87, 88]
    assert lang.roots[2] == (True, True, [11, 12, 13, 14]) and lang.sets[2] == [11, 12, 13, 14]
    assert lang.word_boundary[12] == "end" and lang.optional_silence == 1
    assert lang.align_lexicon[3] == (3, 3, (27, 64))
    with pytest.raises(PymavgError, match=r"text:3: 'nought' is not in .*words.txt"):
        lang.words.ids(["nought"], "text:3")


def test_disambiguation_symbols():
    lexicon = [
        Pronunciation(w, 1.0, tuple(p)) for w, p in [("a", "A"), ("ab", "AB"), ("b", "BA"), ("c", "BA"), ("d", "D")]
    ]
    marked, highest = add_disambiguation(lexicon)
    assert [p.phones[-1] for p in marked] == ["#1", "B", "#1", "#2", "D"] and highest == 2


def test_variants_and_shared_silence(tmp_path):
    make_dict(tmp_path / "dict", extra_questions="A B\nSIL\n")
    prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang", LangOptions(share_silence_phones=True))
    roots = (tmp_path / "lang/phones/roots.txt").read_text().splitlines()
    assert roots[0] == "not-shared not-split SIL SIL_B SIL_E SIL_I SIL_S SPN SPN_B SPN_E SPN_I SPN_S"
    assert roots[2] == "shared split B_B B_E B_I B_S C_B C_E C_I C_S"
    questions = (tmp_path / "lang/phones/extra_questions.txt").read_text().splitlines()
    assert questions[:2] == ["A_B A_E A_I A_S B_B B_E B_I B_S", "SIL SIL_B SIL_E SIL_I SIL_S"]
    assert questions[2] == "A_B B_B C_B" and len(questions) == 11
    validate_lang(tmp_path / "lang")


def test_without_positions_and_silence(tmp_path):
    make_dict(tmp_path / "dict")
    options = LangOptions(position_dependent_phones=False, sil_prob=0.0, num_nonsil_states=1, num_sil_states=3)
    prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang", options)
    lang = Lang(tmp_path / "lang")
    assert list(lang.phones.id_of) == ["<eps>", "SIL", "SPN", "A", "B", "C", "#0", "#1", "#2", "#3"]
    assert lang.word_boundary == {} and len(lang.extra_questions) == 0
    assert lang.lexicon_fst.start == 0 and np.isfinite(lang.lexicon_fst.final).tolist() == [True] + [False] * 5
    assert not np.isin(lang.lexicon_fst.ilabel, [1]).any()
    validate_lang(lang.path)


def test_pronunciation_probabilities(tmp_path):
    make_dict(tmp_path / "dict", lexicon=None, lexiconp="<unk> 1 SPN\nab 0.25 A B\nab 1.0 B A\n")
    prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang")
    lexicon = read_fst(tmp_path / "lang/L.fst")
    assert np.exp(-lexicon.weight[lexicon.olabel == 2]) == pytest.approx([0.25, 1.0])


def test_an_old_lang_is_replaced_only_when_the_new_one_is_whole(tmp_path):
    make_dict(tmp_path / "dict")
    prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang")
    before = (tmp_path / "lang/words.txt").read_text()
    (tmp_path / "dict/lexicon.txt").write_text("<unk> SPN\nnew A\n")
    with pytest.raises(PymavgError, match="expected at least 1"):
        prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang", LangOptions(num_sil_states=2))
    assert (tmp_path / "lang/words.txt").read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dict", "lang"]
    prepare_lang(tmp_path / "dict", "<unk>", tmp_path / "lang")
    assert "new 2" in (tmp_path / "lang/words.txt").read_text()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("lexicon", "<unk> SPN\nab A X\n", "lexicon.txt:2: phone 'X' is neither"),
        ("lexicon", "<unk> SPN\nab\n", "lexicon.txt:2: word 'ab' has no phones"),
        ("lexicon", "<unk> SPN\nab A\nab A\n", "lexicon.txt:3: 'ab A' is there already at .*:2"),
        ("lexicon", "<unk> SPN\n<s> A\n", "lexicon.txt:2: '<s>' is reserved"),
        ("lexicon", "<unk> SPN\n#2 A\n", "lexicon.txt:2: '#2' is reserved"),
        ("lexicon", "<unk> SPN\n\nab A\n", "lexicon.txt:2: an empty line"),
        ("lexicon", "<unk> SPN\nab A\r\n", r"lexicon.txt:2: character U\+000D"),
        ("lexicon", "<unk> SPN\nab A\u00a0B\n", r"lexicon.txt:2: character U\+00A0"),
        ("lexicon", "", "lexicon.txt: has no words"),
        ("lexiconp", "<unk> 1 SPN\nab 1.5 A B\n", r"lexiconp.txt:2: expected a probability in \(0, 1\]"),
        ("lexiconp", "<unk> 1.0 SPN\n", "in one of lexicon.txt and lexiconp.txt only"),
        (
            "silence_phones",
            "SIL\nSPN\nA\n",
            "nonsilence_phones.txt:1: phone A is listed already at .*silence_phones.txt:3",
        ),
        ("nonsilence_phones", "A\nB C\nD_S\n", "nonsilence_phones.txt:3: phone D_S ends as position-dependent"),
        ("nonsilence_phones", "A\nB C\n#1\n", "nonsilence_phones.txt:3: '#1' is reserved"),
        ("optional_silence", "A\n", "expected one phone of silence_phones.txt"),
        ("extra_questions", "A\nQ\n", "extra_questions.txt:2: phone 'Q'"),
    ],
)
def test_faulty_dictionaries(tmp_path, file, text, message):
    make_dict(tmp_path / "dict", **{file: text})
    with pytest.raises(PymavgError, match=message):
        read_dictionary(tmp_path / "dict")


def test_unknown_word_must_be_in_the_lexicon(tmp_path):
    make_dict(tmp_path / "dict")
    with pytest.raises(PymavgError, match="'<oov>' for unknown words is not in the lexicon"):
        prepare_lang_tool.main([str(tmp_path / "dict"), "<oov>", "tmp", str(tmp_path / "lang")])
    assert not (tmp_path / "lang").exists()


def spoil(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("phones.txt", "#1 88", "#1 89", "without gaps"),
        ("words.txt", "zero 12", "zero twelve", "words.txt:13: expected 'symbol id'"),
        ("words.txt", "<s> 14", "<S> 14", "'<s>' is not in"),
        ("phones/silence.csl", "1:2", "2:1", "silence.csl: differs from silence.int"),
        ("phones/sets.int", "6 7 8", "6 8 7", "sets.int:2: 8 is not the id of 'SPN_B'"),
        ("phones/align_lexicon.int", "3 3 27", "4 4 27", "align_lexicon.int:4: 4 is not the id of 'eight'"),
        ("topo", "11 12", "12", "topo: does not list each of the 86 phones once; see phone 11"),
        ("oov.int", "2", "99", "99 is not the id of a word"),
        ("phones/roots.int", "shared split 6", "shared 6", "roots.int:2: 6 is not the id of 'split'"),
    ],
)
def test_faulty_langs(golden, tmp_path, file, old, new, message):
    shutil.copytree(golden("gmm/lang"), tmp_path / "lang")
    spoil(tmp_path / "lang" / file, old, new)
    with pytest.raises(PymavgError, match=message):
        validate_lang(tmp_path / "lang")


def test_faulty_fsts_in_a_lang(golden, tmp_path):
    shutil.copytree(golden("gmm/lang"), tmp_path / "lang")
    shutil.copy(golden("graph/fst/HCLG_mono.fst"), tmp_path / "lang/G.fst")
    with pytest.raises(PymavgError, match=r"G.fst: label \d+ is not in .*words.txt \(16 symbols\)"):
        validate_lang(tmp_path / "lang")
    shutil.copy(golden("gmm/lang/L.fst"), tmp_path / "lang/L_disambig.fst")
    with pytest.raises(PymavgError, match="L_disambig.fst: lacks the self-loop of #0"):
        validate_lang(tmp_path / "lang")
    with pytest.raises(PymavgError, match="no words.txt here"):
        validate_lang(tmp_path)


def test_format_lm(golden, tmp_path):
    arguments = [golden("gmm/lang"), golden("graph/bigram.arpa"), golden("gmm/dict/lexicon.txt"), tmp_path / "out"]
    format_lm_tool.main([str(a) for a in arguments])
    validate_lang(tmp_path / "out")
    assert filecmp.cmp(golden("gmm/lang/words.txt"), tmp_path / "out/words.txt", shallow=False)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(("kind", "arcs"), [("single", 2), ("loop", 4)])
def test_word_list_grammars(golden, tmp_path, kind, arcs):
    (tmp_path / "words").write_text("one\nzero\n")
    make_grammar.main(["--type", kind, str(golden("gmm/lang")), str(tmp_path / "words"), str(tmp_path / "out")])
    grammar = Lang(tmp_path / "out").grammar_fst
    assert grammar.num_arcs == arcs and np.exp(-grammar.weight[:2]) == pytest.approx([0.5, 0.5])
    assert np.exp(-grammar.final[1]) == pytest.approx(1.0 if kind == "single" else 1 / 3)
    (tmp_path / "words").write_text("one\nnought\n")
    with pytest.raises(PymavgError, match="words:2: 'nought' is not in"):
        make_grammar.main([str(golden("gmm/lang")), str(tmp_path / "words"), str(tmp_path / "out")])
