"""The transcripts of Fisher English (LDC2004T19, LDC2005T19) as text for the language model.

A transcript is data/trans/NNN/fe_03_NNNNN.txt with lines `7.38 8.78 A: an- so the topic is`; `#` begins a comment.
The words get the spelling of the MS98 transcripts of Switchboard, so that one vocabulary serves both; what differs is
told in Kaldi's egs/swbd/s5c/local/fisher_map_words.pl. Each rule has an example in tests/test_fisher.py.
"""

import re
from pathlib import Path

from pymavg.data.ldc import walk
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.options import log, warn

TRANSCRIPTS = 11699  # of both parts
SOUNDS = {
    **dict.fromkeys(("[breath]", "[cough]", "[lipsmack]", "[sigh]", "[sneeze]", "[noise]"), "[noise]"),
    **dict.fromkeys(("[laugh]", "[laughter]"), "[laughter]"),
    "[mn]": "[vocalized-noise]",
}
WORDS_AFTER_APOSTROPHE = {"blade", "cause", "course", "frisco", "okay", "plain", "specially"}  # as MS98 has them

_LINE = re.compile(r"\s*[\d.]+\s+[\d.]+\s+[AB]\s*:(.*)")
_FOREIGN = re.compile(r"<[^>]*>?")  # <german (( ja wohl ))>
_SKIPPED = re.compile(r"\[\[skip\]\]|\[pause\]")
_MARKS = re.compile(r"[()*?]")  # uncertain words, names that were to be checked, punctuation
_COMMA = re.compile(r",(?=[\w\s]|$)")
_QUOTED = re.compile(r"(^|\s)'([^'\s](?:[^']|'(?=\w))*)'(?=\s|$)")  # 'kay', 'so to speak'


def normalise(transcript):
    """Return the words of a line of a transcript, in the spelling of Switchboard; empty where none is left.

    Parameters
    ----------
    transcript : str
        The words without times and speaker.
    """
    text = _SKIPPED.sub(" ", _FOREIGN.sub(" ", transcript.lower()))
    text = _COMMA.sub(" ", _MARKS.sub("", text))
    text = _QUOTED.sub(r"\1\2", text)
    return [spelled for word in text.split() for spelled in _words(word)]


def _words(word):
    """Return the words that one of Fisher's becomes: none, one, or two."""
    if word in ("-", "'"):
        return []
    if word.startswith("["):
        return [SOUNDS[word]] if word in SOUNDS else []
    if word.startswith("non-") and len(word) > 4:
        return ["non", word[4:]]
    if word.startswith("'"):  # a beginning that is not spoken: a hyphen in MS98
        rest = word[1:]
        return [rest] if rest in WORDS_AFTER_APOSTROPHE else ["-" + rest]
    return [word]


def find_transcripts(folders):
    """Return the Paths of all fe_03_*.txt below data/trans (or trans) of the folders, each conversation once.

    Raises
    ------
    PymavgError
        When a folder has none.
    """
    found = {}
    for folder in map(Path, folders):
        paths = [p for p in walk(folder) if p.match("trans/*/fe_03_*.txt")]
        if not paths:
            raise PymavgError(
                f"{folder}: no trans/NNN/fe_03_*.txt in it; expected the folder of LDC2004T19 or LDC2005T19"
            )
        for path in paths:
            found.setdefault(path.name, path)
    return [found[name] for name in sorted(found)]


def read_sentences(path):
    """Yield the words of each line of a transcript that has some.

    Raises
    ------
    PymavgError
        For a line that is neither empty, a comment nor of the form `start end side: words`.
    """
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            raise PymavgError(f"{path}:{number}: '{line}' is not: start end A: words")
        words = normalise(match[1])
        if words:
            yield words


def write_text(folders, out):
    """Write OUT/text: one sentence a line, in the order of the conversations.

    Parameters
    ----------
    folders : list of str or Path
        LDC2004T19, LDC2005T19, or one folder with both.
    out : str or Path
    """
    paths = find_transcripts(folders)
    lines = words = 0
    with atomic_open(Path(out) / "text") as stream:
        for sentence in (sentence for path in paths for sentence in read_sentences(path)):
            stream.write(" ".join(sentence) + "\n")
            lines, words = lines + 1, words + len(sentence)
        if not lines:
            raise PymavgError(
                f"{paths[0].parent}: no word in {len(paths)} transcripts; expected those of Fisher English"
            )
    if len(paths) != TRANSCRIPTS:
        warn(f"{len(paths)} transcripts; both parts of Fisher English have {TRANSCRIPTS}")
    log(f"{Path(out) / 'text'}: {lines} sentences, {words} words of {len(paths)} conversations")
