"""Counts of pronunciations and silence from alignments, their probabilities, and the lexicon that holds them."""

import math

import numpy as np
import pytest
from gmm_data import alignments, lang_of
from test_lang import make_dict

from pymavg.errors import PymavgError
from pymavg.graph.dictionary import read_dictionary
from pymavg.graph.lang import Lang
from pymavg.graph.prepare_lang import prepare_lang
from pymavg.graph.pronunciation_files import add_probabilities, read_counts, write_counts
from pymavg.graph.pronunciations import PronunciationCounts, WordSplitter
from pymavg.graph.validate_lang import validate_lang
from pymavg.kaldi.transitions import read_transition_model
from pymavg.tools import dict_dir_add_pronprobs, get_prons

AB, BA = ("ab", "A", "B"), ("ab", "B", "A")


@pytest.fixture
def counts():
    """`ab` said twice as A B with silence between, once as B A after silence."""
    found = PronunciationCounts()
    found.add([None, AB, None, AB])
    found.add([None, BA, None])
    return found


def test_words_of_an_alignment_are_those_of_the_text(golden, tmp_path):
    lang, data = lang_of(golden), golden("gmm/data/test")
    splitter = WordSplitter(read_transition_model(golden("gmm/mono/trans_model.txt")), lang)
    text = dict(line.split(None, 1) for line in (data / "text").read_text().splitlines())
    for line in golden("gmm/units/align_mono.ali.txt").read_text().splitlines()[:5]:
        utterance, *tids = line.split()
        spoken = splitter.split(np.array(tids, int), text[utterance].split(), utterance)
        assert [form[0] for form in spoken if form] == text[utterance].split()
        lexicon = {(p.word, *p.phones) for p in read_dictionary(golden("gmm/dict")).lexicon}
        assert {form for form in spoken if form} <= lexicon
    with pytest.raises(PymavgError, match="words in the alignment, 1 in the text"):
        splitter.split(np.array(tids, int), ["one"], utterance)


def test_the_tool_counts_a_whole_directory(golden, tmp_path):
    data = golden("gmm/data/train")
    for name, source in (("final.mdl", "gmm/mono/final.mdl"), ("ali.1.gz", "gmm/mono/ali_final.gz")):
        (tmp_path / name).write_bytes(golden(source).read_bytes())
    get_prons.main([str(data), str(golden("gmm/lang")), str(tmp_path)])
    found = read_counts(tmp_path / "pron_counts_nowb.txt", tmp_path / "pron_bigram_counts_nowb.txt")
    words = [word for line in (data / "text").read_text().splitlines() for word in line.split()[1:]]
    assert found.forms.total() == len(words)
    assert found.silence.total() == len(words) + len(alignments(golden("gmm/mono/ali_final.gz")))
    for line in (tmp_path / "sil_counts_nowb.txt").read_text().splitlines():
        sil_before, none_before, sil_after, none_after, *form = line.split()
        if form[0] not in ("<s>", "</s>"):
            assert int(sil_before) + int(none_before) == int(sil_after) + int(none_after) == found.forms[tuple(form)]


def test_counts_are_kept(counts, tmp_path):
    write_counts(tmp_path, counts)
    assert (tmp_path / "pron_counts_nowb.txt").read_text() == "2 ab A B\n1 ab B A\n"
    assert "2 0 1 1 ab A B\n" in (tmp_path / "sil_counts_nowb.txt").read_text()
    again = read_counts(tmp_path / "pron_counts_nowb.txt", tmp_path / "pron_bigram_counts_nowb.txt")
    assert again == counts
    (tmp_path / "bad").write_text("2 ab A B\nmany ab\n")
    with pytest.raises(PymavgError, match="bad:2: '<count> <word> <phone> …' expected"):
        read_counts(tmp_path / "bad")


def test_probabilities_by_hand(counts, tmp_path):
    make_dict(tmp_path / "dict", lexicon="<unk> SPN\nab A B\nab B A\n")
    add_probabilities(tmp_path / "dict", counts, tmp_path / "new", max_normalize=True, with_silence=True)
    made = read_dictionary(tmp_path / "new")
    assert [p.probability for p in made.lexicon] == pytest.approx([1.0, 1.0, 2 / 3], rel=1e-4)
    overall = 4 / 5  # of five places between words or at the ends
    after_ab = (1 + 2 * overall) / (2 + 2)
    assert made.lexicon[1].silence.after == pytest.approx(after_ab, rel=1e-4)
    after_start = (2 + 2 * overall) / (2 + 2)
    assert made.ends.after == pytest.approx(after_start, rel=1e-4)
    assert made.lexicon[1].silence.before == pytest.approx((2 + 2) / (after_start + after_ab + 2), rel=1e-4)
    assert made.lexicon[0].silence.after == pytest.approx(overall, rel=1e-4)
    assert made.lexicon[0].silence[1:] == (1.0, 1.0)
    add_probabilities(tmp_path / "new", counts, tmp_path / "plain", max_normalize=False, with_silence=False)
    assert [p.probability for p in read_dictionary(tmp_path / "plain").lexicon] == pytest.approx([1, 0.6, 0.4])


def test_the_lexicon_weighs_silence_by_its_neighbours(counts, tmp_path):
    make_dict(tmp_path / "dict", lexicon="<unk> SPN\nab A B\nab B A\n")
    write_counts(tmp_path, counts)
    files = [str(tmp_path / f"{name}_counts_nowb.txt") for name in ("pron", "sil", "pron_bigram")]
    dict_dir_add_pronprobs.main(["--max-normalize", "true", str(tmp_path / "dict"), *files, str(tmp_path / "new")])
    prepare_lang(tmp_path / "new", "<unk>", tmp_path / "lang")
    validate_lang(tmp_path / "lang")
    lang, made = Lang(tmp_path / "lang"), read_dictionary(tmp_path / "new")
    ab, ba, ends = made.lexicon[1], made.lexicon[2], made.ends
    word = lang.words.id_of["ab"]
    phones = {name: lang.phones.id_of[name] for name in ("SIL", "A_B", "B_E", "B_B", "A_E")}
    said = [phones[name] for name in ("SIL", "A_B", "B_E", "SIL", "B_B", "A_E")]  # silence ab silence ba, nothing after
    probability = ends.after * ab.silence.before * ab.silence.after * ba.silence.before * ba.probability
    probability *= (1 - ba.silence.after) * ends.none_before
    assert path_cost(lang.lexicon_fst, said, [word, word]) == pytest.approx(-math.log(probability), rel=1e-4)
    said = [phones[name] for name in ("A_B", "B_E", "SIL")]
    probability = (1 - ends.after) * ab.silence.none_before * ab.silence.after * ends.before
    assert path_cost(lang.lexicon_fst, said, [word]) == pytest.approx(-math.log(probability), rel=1e-4)


def path_cost(fst, phones, words):
    """Return the cost of the only path with these labels."""

    def ways(state, i, j):
        if i == len(phones) and j == len(words) and np.isfinite(fst.final[state]):
            yield float(fst.final[state])
        for arc in range(fst.offset[state], fst.offset[state + 1]):
            phone, word = fst.ilabel[arc], fst.olabel[arc]
            if (phone == 0 or phones[i : i + 1] == [phone]) and (word == 0 or words[j : j + 1] == [word]):
                for rest in ways(fst.target[arc], i + (phone > 0), j + (word > 0)):
                    yield fst.weight[arc] + rest

    (cost,) = ways(fst.start, 0, 0)
    return cost


def test_what_does_not_belong_together_is_named(counts, tmp_path):
    make_dict(tmp_path / "dict", lexicon="<unk> SPN\nab A B\n")
    add_probabilities(tmp_path / "dict", counts, tmp_path / "new", max_normalize=True, with_silence=True)
    path = tmp_path / "new/lexiconp_silprob.txt"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:1]))
    with pytest.raises(PymavgError, match="'ab A B' is in one of lexicon and lexiconp_silprob.txt only"):
        read_dictionary(tmp_path / "new")
    path.write_text(whole.replace("ab 1 ", "ab 1 1.5 "))
    with pytest.raises(PymavgError, match="lexiconp_silprob.txt:2: a probability of silence in"):
        read_dictionary(tmp_path / "new")
    path.write_text(whole)
    (tmp_path / "new/silprob.txt").write_text("<s> 0.5\n")
    with pytest.raises(PymavgError, match="silprob.txt: <s>, </s>_s, </s>_n: a probability"):
        read_dictionary(tmp_path / "new")
    with pytest.raises(PymavgError, match="same directory"):
        add_probabilities(tmp_path / "dict", counts, tmp_path / "dict", True, True)
    with pytest.raises(PymavgError, match="no counts of silence"):
        add_probabilities(tmp_path / "dict", PronunciationCounts(), tmp_path / "new2", True, True)
