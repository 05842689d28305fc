"""A dictionary directory: pronunciations and phone lists, as Kaldi's `utils/prepare_lang.sh` takes them.

lexicon.txt (`word phone …`) or lexiconp.txt (`word probability phone …`), silence_phones.txt, nonsilence_phones.txt
(each line one phone, or several that are variants of each other), optional_silence.txt (one phone), and perhaps
extra_questions.txt (each line a set of phones). With lexiconp_silprob.txt (`word probability P(silence after) factor
before after silence, factor after none, phone …`) and silprob.txt, silence depends on the words around it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pymavg.errors import PymavgError
from pymavg.files import read_lines

RESERVED_WORDS = {"<s>", "</s>", "<eps>", "#0"}
DISAMBIGUATION = re.compile(r"#\d+$")
POSITION = re.compile(r"_[BEIS]$")


class SilenceProbabilities(NamedTuple):
    """Silence around a pronunciation: its probability after it; factors where there is silence before it, or none."""

    after: float
    before: float
    none_before: float


class Pronunciation(NamedTuple):
    """One line of the lexicon."""

    word: str
    probability: float
    phones: tuple
    silence: SilenceProbabilities | None = None


@dataclass
class Dictionary:
    """The contents of a dictionary directory.

    Attributes
    ----------
    silence, nonsilence : list of list of str
        Lines of the two lists of phones.
    optional_silence : str
        The phone between words.
    extra_questions : list of list of str
    lexicon : list of Pronunciation
        In the order of the file.
    ends : SilenceProbabilities or None
        Silence before the first word (`after`), factors of the sentence's end; None without silprob.txt.
    """

    silence: list
    nonsilence: list
    optional_silence: str
    extra_questions: list
    lexicon: list
    ends: SilenceProbabilities | None = None


def read_dictionary(path, position_dependent=True):
    """Read and check a dictionary directory.

    Parameters
    ----------
    path : str or Path
    position_dependent : bool
        Whether phones will get the suffixes _B, _E, _I, _S; phones that end so already are then an error.

    Raises
    ------
    PymavgError
        Naming file and line, for everything that `utils/validate_dict_dir.sh` checks.
    """
    path = Path(path)
    if not path.is_dir():
        raise PymavgError(f"{path}: no such directory; expected one with lexicon.txt and silence_phones.txt")
    seen = {}
    silence = _phone_lines(path / "silence_phones.txt", position_dependent, seen)
    nonsilence = _phone_lines(path / "nonsilence_phones.txt", position_dependent, seen)
    optional = " ".join(read_lines(path / "optional_silence.txt")).split()
    if len(optional) != 1 or not any(optional[0] in line for line in silence):
        raise PymavgError(f"{path}/optional_silence.txt: expected one phone of silence_phones.txt, found {optional}")
    questions = path / "extra_questions.txt"
    extra = _questions(questions, seen) if questions.exists() else []
    lexicon = _read_lexicon(path, seen)
    if (path / "lexiconp_silprob.txt").exists():
        return Dictionary(silence, nonsilence, optional[0], extra, *_with_silence(path, lexicon))
    return Dictionary(silence, nonsilence, optional[0], extra, lexicon)


def _fields(path):
    """Yield (file:line, fields) of each line; an empty one or one with a strange character is an error."""
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}:{number}"
        strange = re.search(r"[^\S \t]", line)
        if strange:
            code = f"U+{ord(strange.group()):04X}"
            raise PymavgError(f"{where}: character {code} in '{line.strip()}'; separate by spaces or tabs only")
        if not line.split():
            raise PymavgError(f"{where}: an empty line; remove it")
        yield where, line.split()


def _phone_lines(path, position_dependent, seen):
    lines = []
    for where, phones in _fields(path):
        for phone in phones:
            if phone in seen:
                raise PymavgError(f"{where}: phone {phone} is listed already at {seen[phone]}")
            if phone == "<eps>" or DISAMBIGUATION.match(phone):
                raise PymavgError(f"{where}: '{phone}' is reserved; rename the phone")
            if position_dependent and POSITION.search(phone):
                raise PymavgError(
                    f"{where}: phone {phone} ends as position-dependent phones do; rename it, or prepare lang with "
                    "--position-dependent-phones false"
                )
            seen[phone] = where
        lines.append(phones)
    if not lines:
        raise PymavgError(f"{path}: lists no phones")
    return lines


def _check_phones(where, phones, known):
    for phone in phones:
        if phone not in known:
            raise PymavgError(
                f"{where}: phone '{phone}' is neither in silence_phones.txt nor in nonsilence_phones.txt; add it there"
            )


def _questions(path, known):
    rows = list(_fields(path))
    for where, phones in rows:
        _check_phones(where, phones, known)
    return [phones for _, phones in rows]


def _read_lexicon(path, known):
    with_probability = (path / "lexiconp.txt").exists()
    lexicon = _lexicon_lines(path / ("lexiconp.txt" if with_probability else "lexicon.txt"), known, with_probability)
    if with_probability and (path / "lexicon.txt").exists():
        plain = {(p.word, p.phones) for p in _lexicon_lines(path / "lexicon.txt", known, False)}
        different = plain ^ {(p.word, p.phones) for p in lexicon}
        if different:
            word, phones = sorted(different)[0]
            raise PymavgError(
                f"{path}: '{word} {' '.join(phones)}' is in one of lexicon.txt and lexiconp.txt only; remove one file"
            )
    return lexicon


def _lexicon_lines(path, known, with_probability):
    lexicon, seen = [], {}
    for where, fields in _fields(path):
        word, rest, probability = fields[0], fields[1:], 1.0
        if word in RESERVED_WORDS or DISAMBIGUATION.match(word):
            raise PymavgError(f"{where}: '{word}' is reserved and must not be in the lexicon; remove the line")
        if with_probability:
            probability, rest = _probability(where, rest), rest[1:]
        if not rest:
            raise PymavgError(f"{where}: word '{word}' has no phones; give its pronunciation or remove the line")
        _check_phones(where, rest, known)
        if (word, *rest) in seen:
            raise PymavgError(f"{where}: '{' '.join([word, *rest])}' is there already at {seen[word, *rest]}")
        seen[word, *rest] = where
        lexicon.append(Pronunciation(word, probability, tuple(rest)))
    if not lexicon:
        raise PymavgError(f"{path}: has no words")
    return lexicon


def _probability(where, fields):
    try:
        probability = float(fields[0])
    except (IndexError, ValueError):
        probability = 0.0
    if not 0.0 < probability <= 1.0:
        found = fields[0] if fields else "nothing"
        raise PymavgError(f"{where}: expected a probability in (0, 1] after the word, found '{found}'")
    return probability


def _with_silence(path, lexicon):
    """Return the lexicon with the silence of lexiconp_silprob.txt, and the ends of silprob.txt."""
    source, around = path / "lexiconp_silprob.txt", {}
    for where, (word, *fields) in _fields(source):
        around[word, *fields[4:]] = _silence(where, fields[1:4])
    different = {(p.word, *p.phones) for p in lexicon} ^ around.keys()
    if different:
        raise PymavgError(
            f"{path}: '{' '.join(min(different))}' is in one of lexicon and lexiconp_silprob.txt only; run "
            "utils/dict_dir_add_pronprobs.sh again"
        )
    ends = {name: number for _, (name, number, *_) in _fields(path / "silprob.txt")}
    numbers = [ends.get(name, "none") for name in ("<s>", "</s>_s", "</s>_n")]
    lexicon = [p._replace(silence=around[p.word, *p.phones]) for p in lexicon]
    return lexicon, _silence(f"{path}/silprob.txt: <s>, </s>_s, </s>_n", numbers)


def _silence(where, fields):
    try:
        after, before, none_before = map(float, fields)
    except ValueError:
        after = before = none_before = 0.0
    if not (0.0 < after < 1.0 and before > 0.0 and none_before > 0.0):
        raise PymavgError(
            f"{where}: a probability of silence in (0, 1) and two factors above 0 expected, found '{' '.join(fields)}'"
        )
    return SilenceProbabilities(after, before, none_before)
