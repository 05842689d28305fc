"""The written conventions of Switchboard and Hub5: one example for each rule."""

import pytest

from pymavg.data import swbd_text


@pytest.mark.parametrize(
    "written, trained",
    [
        ("Okay", "okay"),  # lower case
        ("[laughter-story]", "story"),  # said while laughing
        ("[laughter-STORY]-", "story-"),
        ("-[laughter-story]", "-story"),
        ("[it'n/isn't]", "it'n"),  # mispronounced: what was said
        ("[lem[guini]-/linguini]", "lem-"),  # mispronounced and cut off
        ("-[an]y", "-y"),  # beginning cut off
        ("[an]y", "-y"),
        ("ab[solute]-", "ab-"),  # end cut off
        ("ab[solute]", "ab-"),
        ("-[a]b[out]-", "-b-"),
        ("ex[specially]-/especially]", "ex-"),  # a bracket lost in the transcript
        ("{yuppiedom}", "yuppiedom"),  # unusual or new word
        ("ammu[n]it-", "ammu-it-"),  # middle cut off
        ("them_1", "them"),  # second pronunciation
        ("them_1's", "them's"),
        ("[noise]", "[noise]"),
        ("[laughter]", "[laughter]"),
        ("[vocalized-noise]", "[vocalized-noise]"),
        ("uh-huh", "uh-huh"),
        ("'em", "'em"),
        ("-", "-"),
    ],
)
def test_map_word(written, trained):
    assert swbd_text.map_word(written) == trained


def test_training_words_leave_out_silence_and_asides():
    line = "[silence] I <b_aside> saw [laughter-them_1] <e_aside> [noise]"
    assert swbd_text.training_words(line) == ["i", "saw", "them", "[noise]"]
    assert swbd_text.training_words("[silence]") == []
    assert swbd_text.training_words("the IBM", {"ibm": "i._b._m."}) == ["the", "i._b._m."]


LEXICON = [
    ("ibm", "ay b iy eh m"),
    ("tvs", "t iy v iy z"),
    ("tv's", "t iy v iy z"),
    ("b", "b iy"),
    ("a", "ey"),
    ("i", "ay"),
    ("be", "b iy"),
    ("us", "ah s"),
    ("us", "y uw eh s"),
    ("uh-huh", "ah hh ah"),
    ("-s", "s"),
]


def test_acronyms_are_found_by_their_pronunciation():
    found = swbd_text.find_acronyms(LEXICON)
    assert found == {"ibm": "i._b._m.", "tvs": "t._v.s", "tv's": "t._v.'s", "b": "b.", "us": "u._s."}


@pytest.mark.parametrize(
    "word, letters",
    [
        ("i._b._m.", ["i", "b", "m"]),
        ("b.", ["b"]),
        ("t._v.'s", ["t", "v's"]),
        ("t._v.s", ["t", "vs"]),
        ("mr.", ["mr."]),
    ],
)
def test_spell_out(word, letters):
    assert swbd_text.spell_out(word) == letters


@pytest.mark.parametrize(
    "reference, words",
    [
        ("(%HESITATION) WELL (OKAY)", ["well", "okay"]),
        ("{IT'S / IT IS} MINE", ["it's", "mine"]),
        ("<B_ASIDE> HELLO <E_ASIDE>", ["hello"]),
        ("(W-) WHAT", ["w-", "what"]),
        ("{UM / @} YES", ["um", "yes"]),
        ("%BCACK YES", ["yes"]),
    ],
)
def test_reference_words(reference, words):
    assert swbd_text.reference_words(reference.split()) == words


def test_stm_lines_are_mended():
    line = "en_4156 A en_4156_A 1.00 2.00 <O,en,F,en-F> ((WELL) <B_ASIDE>HI<E_ASIDE>"
    assert swbd_text.mend_stm_line(line) == "en_4156 A en_4156_A 1.00 2.00 <O,en,F,en-F> (WELL) HI"
