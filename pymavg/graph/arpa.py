"""Language models in ARPA format, plain or compressed."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.graph.ngram import NEVER, Level, NgramModel


def write_arpa(path, model):
    """Write an NgramModel; probabilities and weights as log10 with seven digits, back-off weights of 0 left out."""
    with atomic_open(path) as stream:
        stream.write("\\data\\\n")
        stream.writelines(f"ngram {n}={len(level.code)}\n" for n, level in enumerate(model.levels, 1))
        for n, level in enumerate(model.levels, 1):
            stream.write(f"\n\\{n}-grams:\n")
            for words, prob, backoff in zip(model.ngrams(n), level.log_prob, level.log_backoff, strict=True):
                weight = f"\t{backoff:.7f}" if backoff else ""
                stream.write(f"{prob:.7f}\t{words}{weight}\n")
        stream.write("\n\\end\\\n")


def read_arpa(path):
    """Read an NgramModel.

    Raises
    ------
    PymavgError
        For a file of another form, with its line: counts that do not fit, an unknown word, an n-gram whose history is
        not there, a damaged number.
    """
    lines = enumerate(read_lines(path), 1)
    declared = _header(path, lines)
    vocabulary, levels, number = [], [], {}
    for n, count in enumerate(declared, 1):
        entries = _section(path, lines, n, count)
        if n == 1:
            vocabulary = [words[0] for _, words, _, _ in entries]
            number = {word: i for i, word in enumerate(vocabulary)}
        levels.append(_level(path, entries, number, levels))
    return NgramModel(vocabulary, levels)


def _header(path, lines):
    declared = []
    for place, line in lines:
        if line.startswith("ngram "):
            length, _, count = line[6:].partition("=")
            if not count.strip().isdigit() or length.strip() != str(len(declared) + 1):
                raise PymavgError(f"{path}:{place}: '{line}' is not 'ngram {len(declared) + 1}=COUNT'")
            declared.append(int(count))
        elif declared and line.strip():
            raise PymavgError(f"{path}:{place}: '{line}' where an empty line was expected")
        elif declared:
            return declared
    raise PymavgError(f"{path}: no line 'ngram 1=COUNT'; is it in ARPA format?")


def _section(path, lines, n, count):
    """Return [(line, words, log10 probability, log10 back-off weight)] of the n-grams of one length."""
    place, line = next(((place, line) for place, line in lines if line.strip()), (0, "the end of the file"))
    if line.strip() != f"\\{n}-grams:":
        raise PymavgError(f"{path}:{place}: found {line}, expected \\{n}-grams:")
    entries = []
    for place, line in lines:
        if not line.strip():
            break
        fields = line.split()
        try:
            prob, words, backoff = float(fields[0]), fields[1 : n + 1], float((fields[n + 1 :] or ["0"])[0])
        except ValueError:
            words = []
        if len(words) != n or len(fields) > n + 2:
            raise PymavgError(f"{path}:{place}: '{line}' is not: log10 probability, {n} words, perhaps a weight")
        entries.append((place, words, prob, backoff))
    if len(entries) != count:
        raise PymavgError(f"{path}:{place}: {len(entries)} {n}-grams, {count} declared; is the file whole?")
    return entries


def _level(path, entries, number, levels):
    columns = np.array([[number.get(word, -1) for word in words] for _, words, _, _ in entries], np.int64)
    code = columns.reshape(-1, len(levels) + 1)[:, 0]
    for i, shorter in enumerate(levels):
        history, word = shorter.find(code), columns[:, i + 1]
        code = np.where((history >= 0) & (word >= 0), history * len(number) + word, -1)
    if (code < 0).any():
        place, words, _, _ = entries[int(np.argmax(code < 0))]
        raise PymavgError(f"{path}:{place}: '{' '.join(words)}' has a word or a history that is not in the file")
    order = np.argsort(code, kind="stable")
    if (np.diff(code[order]) == 0).any():
        place, words, _, _ = entries[int(order[np.argmax(np.diff(code[order]) == 0) + 1])]
        raise PymavgError(f"{path}:{place}: '{' '.join(words)}' stands there twice")
    values = np.array([(max(prob, NEVER), backoff) for _, _, prob, backoff in entries]).reshape(-1, 2)[order]
    return Level(code[order], values[:, 0], values[:, 1])
