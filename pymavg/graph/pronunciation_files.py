"""Files of counts of pronunciations, and dictionary directories with their probabilities, in Kaldi's formats.

A directory gets pron_counts_nowb.txt (`count word phone …`), sil_counts_nowb.txt (silence before, none before, silence
after, none after, word, phones) and pron_bigram_counts_nowb.txt (count, form, form, whether silence lies between, by
tabs).
"""

import shutil
from collections import Counter
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.graph.dictionary import read_dictionary
from pymavg.graph.pronunciations import (
    END,
    START,
    PronunciationCounts,
    bare,
    pronunciation_probabilities,
    silence_probabilities,
)

PRONS, SILENCE, BIGRAMS = "pron_counts_nowb.txt", "sil_counts_nowb.txt", "pron_bigram_counts_nowb.txt"
COPIED = ("silence_phones.txt", "nonsilence_phones.txt", "optional_silence.txt", "extra_questions.txt")


def write_counts(folder, counts):
    """Write PronunciationCounts."""
    around = {}
    for (left, right, silent), count in counts.silence.items():
        around.setdefault(left, Counter())["after", silent] += count
        around.setdefault(right, Counter())["before", silent] += count
    with atomic_open(Path(folder, PRONS)) as stream:
        stream.writelines(f"{count} {' '.join(form)}\n" for form, count in sorted(counts.forms.items()))
    with atomic_open(Path(folder, SILENCE)) as stream:
        for form, c in sorted(around.items()):
            numbers = c["before", True], c["before", False], c["after", True], c["after", False]
            stream.write(f"{' '.join(map(str, numbers))} {' '.join(form)}\n")
    with atomic_open(Path(folder, BIGRAMS)) as stream:
        for (left, right, silent), count in sorted(counts.silence.items()):
            stream.write(f"{count}\t{' '.join(left)}\t{' '.join(right)}\t{'sil' if silent else 'nonsil'}\n")


def read_counts(prons, bigrams=None):
    """Read PronunciationCounts from a file of pronunciations and, for silence, one of neighbours."""
    counts = PronunciationCounts()
    for number, line in enumerate(read_lines(prons), 1):
        count, *form = line.split()
        counts.forms[tuple(form)] += _count(count, len(form) > 1, f"{prons}:{number}", "<count> <word> <phone> …")
    for number, line in enumerate(read_lines(bigrams) if bigrams else [], 1):
        count, left, right, silent = (line.split("\t") + [""] * 4)[:4]
        good, wanted = silent in ("sil", "nonsil"), "<count> <form> <form> sil|nonsil between tabs"
        value = _count(count, good, f"{bigrams}:{number}", wanted)
        counts.silence[tuple(left.split()), tuple(right.split()), silent == "sil"] += value
    return counts


def _count(text, good, where, wanted):
    if not good or not text.isdecimal():
        raise PymavgError(f"{where}: '{wanted}' expected; make it with steps/get_prons.sh")
    return int(text)


def add_probabilities(source, counts, target, max_normalize, with_silence):
    """Write a dictionary directory with lexiconp.txt and, with silence, lexiconp_silprob.txt and silprob.txt.

    Parameters
    ----------
    source, target : str or Path
        Dictionary directories.
    counts : PronunciationCounts
    max_normalize, with_silence : bool

    Raises
    ------
    PymavgError
        When they are the same directory, or `source` has faults.
    """
    source, target = Path(source), Path(target)
    if target.exists() and target.samefile(source):
        raise PymavgError(f"{target}: input and output are the same directory; give another name")
    lexicon = pronunciation_probabilities(bare(read_dictionary(source).lexicon), counts, max_normalize)
    target.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    for name in ("lexicon.txt", "lexiconp_silprob.txt", "silprob.txt"):
        (target / name).unlink(missing_ok=True)
    with atomic_open(target / "lexiconp.txt") as stream:
        stream.writelines(f"{p.word} {p.probability:.6g} {' '.join(p.phones)}\n" for p in lexicon)
    if not with_silence:
        return
    lexicon, ends, overall = silence_probabilities(lexicon, counts)
    with atomic_open(target / "lexiconp_silprob.txt") as stream:
        for p in lexicon:
            numbers = (p.probability, *p.silence)
            stream.write(f"{p.word} {' '.join(f'{x:.6g}' for x in numbers)} {' '.join(p.phones)}\n")
    with atomic_open(target / "silprob.txt") as stream:
        stream.write(f"{START[0]} {ends.after:.6g}\n{END[0]}_s {ends.before:.6g}\n{END[0]}_n {ends.none_before:.6g}\n")
        stream.write(f"overall {overall:.6g}\n")
