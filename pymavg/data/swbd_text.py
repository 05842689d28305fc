"""The written conventions of the Switchboard and Hub5 transcripts, and what they become for training and scoring.

The rules are those of Kaldi's egs/swbd/s5c (local/swbd1_map_words.pl, swbd1_data_prep.sh, eval2000_data_prep.sh and
format_acronyms_dict.py), so that data and dictionaries are interchangeable with it; where the first one's code and
its comments differ (brackets inside a word, a bracket not closed), they are those of its comments. Each rule has an
example in tests/test_swbd_text.py.
"""

import re

NOISES = ("[vocalized-noise]", "[noise]", "[laughter]")
LETTERS = {
    **{"a": "ey", "b": "b iy", "c": "s iy", "d": "d iy", "e": "iy", "f": "eh f", "g": "jh iy", "h": "ey ch", "i": "ay"},
    **{"j": "jh ey", "k": "k ey", "l": "eh l", "m": "eh m", "n": "eh n", "o": "ow", "p": "p iy", "q": "k y uw"},
    **{"r": "aa r", "s": "eh s", "t": "t iy", "u": "y uw", "v": "v iy", "w": "d ah b ax l y uw", "x": "eh k s"},
    **{"y": "w ay", "z": "z iy"},
}
WORDS_OF_ONE_LETTER = {"a", "i"}
SPOKEN_ENDINGS = {"": ("",), "'s": ("z", "s", "ax z", "ih z"), "s": ("z", "s", "ax z", "ih z")}

_LAUGHING = re.compile(r"^(-?)\[laughter-(.+)\](-?)$")
_MISPRONOUNCED = re.compile(r"^\[(.+)/.+\](-?)$")
_BEGINNING_LOST = re.compile(r"^-?\[[^][]+\](.+)$")
_END_LOST = re.compile(r"^(.+)\[[^][]+\]-?$")
_UNCLOSED = re.compile(r"([^][]+)\[.+\]$")
_UNUSUAL = re.compile(r"^\{(.+)\}$")
_MIDDLE_LOST = re.compile(r"([a-z])\[[^][]+\]([a-z])")
_VARIANT = re.compile(r"_\d")


def map_word(word):
    """Return the lower-case form under which a word of the MS98 transcripts or dictionary is trained.

    Words said while laughing, mispronounced, cut off, unusual or pronounced in a second way lose their marks; a cut-off
    word keeps a `-` where a part is missing. [noise], [laughter] and [vocalized-noise] stay as they are.
    """
    word = word.lower()
    word = _LAUGHING.sub(r"\1\2\3", word)
    word = _MISPRONOUNCED.sub(r"\1\2", word)
    word = _BEGINNING_LOST.sub(r"-\1", word)
    word = _END_LOST.sub(r"\1-", word)
    word = _UNCLOSED.sub(r"\1-", word)
    word = _UNUSUAL.sub(r"\1", word)
    word = _MIDDLE_LOST.sub(r"\1-\2", word)
    return _VARIANT.sub("", word, count=1)


def training_words(transcript, acronyms=None):
    """Return the words of a line of an MS98 transcript; empty for silence.

    Parameters
    ----------
    transcript : str
        The words, without the utterance's name and times.
    acronyms : dict of str to str, optional
        As from `find_acronyms`: what the dictionary spells letter by letter.
    """
    text = re.sub(r"<[be]_aside>", " ", transcript.lower())
    words = [map_word(word) for word in text.split() if word != "[silence]"]
    return [(acronyms or {}).get(word, word) for word in words]


def find_acronyms(lexicon):
    """Return {'ibm': 'i._b._m.', …} for the words that a dictionary pronounces as the names of their letters.

    Parameters
    ----------
    lexicon : iterable of (word, pronunciation)
        Pronunciation: phones separated by single spaces. A word may come several times.

    Notes
    -----
    The single letters count too ('b' is 'b.'), except the words a and i. A plural or possessive keeps its ending:
    'tvs' is "t._v.s" and "tv's" is "t._v.'s".
    """
    acronyms = {}
    for word, pronunciation in lexicon:
        for ending, spoken in SPOKEN_ENDINGS.items():
            stem = word.removesuffix(ending)
            if len(stem) + len(ending) != len(word) or not stem or set(stem) - LETTERS.keys():
                continue
            if word in WORDS_OF_ONE_LETTER:
                continue
            named = " ".join(LETTERS[letter] for letter in stem)
            if pronunciation in [f"{named} {sound}".strip() for sound in spoken]:
                acronyms.setdefault(word, "_".join(f"{letter}." for letter in stem) + ending)
    return acronyms


def spell_out(word):
    """Return the letters of an acronym as references write them: 'i._b._m.' is ['i', 'b', 'm']; another word is itself.

    The ending of a plural or possessive stays with the last letter: "t._v.'s" is ['t', "v's"].
    """
    if re.fullmatch(r"[a-z]\.(_[a-z]\.)*('?s)?", word):
        return word.replace(".", "").split("_")
    return [word]


def reference_words(words):
    """Return the lower-case words of a line of a Hub5 STM: hesitations and markers go, of alternatives the first stays.

    Parameters
    ----------
    words : list of str
        Such as ['(%HESITATION)', "{IT'S", '/', 'IT', 'IS}', '(OKAY)', '<B_ASIDE>'].
    """
    text = re.sub(r"<[^>]*>", " ", " ".join(words).lower())
    text = re.sub(r"\{([^/}]*)(/[^}]*)?\}", r" \1 ", text)
    text = re.sub(r"[()]", " ", text)
    return [word for word in text.split() if not word.startswith("%") and word != "@"]


def mend_stm_line(line):
    """Return a line of hub5e00.english.000405.stm without what stops hubscr.pl: a doubled bracket, aside markers."""
    return re.sub(r"<[BE]_ASIDE>", "", line.replace("((", "(", 1))
