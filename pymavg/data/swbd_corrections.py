"""What is wrong in sw-ms98-dict.text, the MS98 dictionary of Switchboard, and what it becomes.

Most faults are of a kind, and mended by a rule: the title that has no `#`, HTML in words, a phone of one word only,
names of letters. The rest are single words. That there are such faults is known from Kaldi's egs/swbd/s5c/local/
dict.patch, which also adds some 120 reduced pronunciations (`am m`); those are a choice, not a correction: give them,
or others, as lines `word phones` with --extra-lexicon. Each rule has an example in tests/test_swbd_dict.py.
"""

import html

from pymavg.data.swbd_text import LETTERS, WORDS_OF_ONE_LETTER

PHONES = {"el": "ax l"}  # everywhere else the two phones are written
WRONG = {  # word: (as it is, as it is said)
    "creek": ("k r ih k", "k r iy k"),
    "huh-uh": ("hh ah hh ah", "ah hh ah"),
    "hum-um": ("hh m hh m", "ah m hh ah m"),
    "roots": ("r uh t s", "r uw t s"),
    "toots": ("t uh t s", "t uw t s"),
    "texan": ("t eh k sh ih n", "t eh k s ih n"),
    "texan's": ("t eh k sh ih n s", "t eh k s ih n z"),
    "waco": ("w ae k ow", "w ey k ow"),
    "wacko": ("w ey k ow", "w ae k ow"),
}
MISSING = {"uh-hum": ("um-hum", "ah m hh ah m")}  # word: (a word beside which it lacks, how it is said)


def correct(word, phones):
    """Return (word, phones) of an entry as it should be, or None for what is no entry.

    Parameters
    ----------
    word : str
        As written, with its capitals.
    phones : list of str
    """
    if word == "file:":  # the first line: ` file: $SWB/data/dictionary/sw-ms98-dict.text`
        return None
    word = html.unescape(word)  # A&amp;E
    phones = " ".join(PHONES.get(phone, phone) for phone in phones)
    letter = word.lower()
    if letter in LETTERS and letter not in WORDS_OF_ONE_LETTER and phones.split()[0] != LETTERS[letter].split()[0]:
        return None  # `B ay zh aa n iy z`: a letter is said by its name
    if word.isupper() and len(word) > 1 and phones == _spelled(letter, n="eh"):
        return word, _spelled(letter)  # NAACP with `eh` for `eh n`
    wrong, right = WRONG.get(letter, (None, None))
    return word, right if phones == wrong else phones


def _spelled(word, **names):
    """Return the phones of a word that is spelled letter by letter; '' where it has other characters."""
    if set(word) - LETTERS.keys():
        return ""
    return " ".join({**LETTERS, **names}[letter] for letter in word)


def missing(words):
    """Return the entries (word, phones) that lack beside `words`."""
    return {(word, phones) for word, (beside, phones) in MISSING.items() if beside in words and word not in words}
