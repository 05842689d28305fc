"""Plain text files of an experiment, and recordings: described."""

import re
from pathlib import Path

import numpy as np

from pymavg.data.containers import decode
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.formats.summary import Numbers, sizes, some
from pymavg.graph.arpa import read_arpa
from pymavg.kaldi.inputs import read_scp
from pymavg.kaldi.rspecifier import is_there
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.tables import read_token_map

SPEAKERS = {"utt2spk": lambda t: len(set(t.values())), "spk2utt": len}

INTEGERS = re.compile(r"-?\d+(:-?\d+)*")  # a file in .csl has colons


def describe(path):
    """Return (title, lines) of a text file: by its name where that says what it is, by its content else."""
    name, lines = Path(path).name, read_lines(path)
    if name.endswith("_opts") or name.endswith(".conf"):
        return _options(lines)
    if name in ("words.txt", "phones.txt") or re.match(r"<eps>\s+0$", lines[0] if lines else ""):
        return _symbols(path)
    if name.endswith(".scp"):
        return _script(path)
    if name in ("utt2spk", "spk2utt", "text", "utt2num_frames", "utt2dur", "spk2gender", "segments", "reco2dur"):
        return _table(path, name)
    words = [line.split() for line in lines if line.strip()]
    if name.endswith((".int", ".csl")) or name in ("num_jobs", "num_pdfs"):
        _check_integers(path, lines)
    if not words:
        return "text without a word", []
    if all(INTEGERS.fullmatch(word) for line in words for word in line):
        return _integers(words)
    if name.endswith(".ctm") or _is_ctm(words):
        return _ctm(words)
    if all(len(line) == 2 and _number(line[1]) is not None for line in words):
        return _numbers(path, words)
    return "text", [f"{len(lines)} lines of {sizes([len(w) for w in words])} words, first: {lines[0].strip()[:70]}"]


def _options(lines):
    words = " ".join(line.partition("#")[0] for line in lines).split()
    return "options", [" ".join(words) or "none: the defaults"]


def _symbols(path):
    table = read_symbols(path)
    return "symbol table", [f"{len(table)} symbols, the highest is {max(table.symbol_of)}: {some(table.id_of, 6)}"]


def _script(path):
    table = {key: text for key, (_, text) in read_scp(path).items()}
    commands = sum(text.endswith("|") for text in table.values())
    files = sorted({re.sub(r"(:\d+)?(\[[^\[\]]*\])?$", "", text) for text in table.values() if not text.endswith("|")})
    missing = [file for file in files if not is_there(file)]
    lines = [f"keys: {some(table)}", f"{len(files)} files" + (f", {commands} commands" if commands else "")]
    if missing:
        lines.append(f"not there from here: {len(missing)} of the files, first: {missing[0]} (copy_data_dir.sh --root)")
    return f"script file (scp) of {len(table)} entries", lines


def _table(path, name):
    table = read_token_map(path)
    if not table:
        raise PymavgError(f"{path}: is empty")
    lines = [f"keys: {some(table)}"]
    if name in SPEAKERS:
        lines.append(f"{SPEAKERS[name](table)} speakers")
    elif name == "text":
        tokens = [word for words in table.values() for word in words.split()]
        lines.append(f"{len(tokens)} words, {len(set(tokens))} different")
    elif name in ("utt2num_frames", "utt2dur", "reco2dur"):
        return _numbers(path, [[key, value] for key, value in table.items()])
    return f"{name} of {len(table)} lines", lines


def _integers(words):
    values = [int(part) for line in words for word in line for part in word.split(":")]
    return "list of integers", [f"{len(words)} lines, {len(values)} numbers from {min(values)} to {max(values)}"]


def _check_integers(path, lines):
    words = {"nonword", "begin", "end", "internal", "singleton", "shared", "not-shared", "split", "not-split"}
    for number, line in enumerate(lines, 1):
        for word in line.split():
            if not INTEGERS.fullmatch(word) and word not in words:  # word_boundary.int and roots.int have such words
                raise PymavgError(f"{path}:{number}: whole numbers expected, found '{word[:40]}'")


def _is_ctm(words):
    return all(len(w) in (5, 6) and _number(w[2]) is not None and _number(w[3]) is not None for w in words)


def _ctm(words):
    names = {line[0] for line in words}
    return "words or phones with times (ctm)", [f"{len(words)} lines, {len(names)} recordings: {some(sorted(names))}"]


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def _numbers(path, words):
    numbers = Numbers()
    for number, (key, value) in enumerate(words, 1):
        if _number(value) is None:
            raise PymavgError(f"{path}:{number}: {key}: a number expected, found '{value[:40]}'")
        numbers.add(np.array([float(value)]), key)
    return f"table of {len(words)} numbers", [
        f"keys: {some(w[0] for w in words)}",
        f"sum {numbers.total:.10g}",
        *numbers.lines(),
    ]


def arpa(path):
    """Describe a language model."""
    model = read_arpa(path)
    return "language model (ARPA)", [f"{n}-grams: {len(level.log_prob)}" for n, level in enumerate(model.levels, 1)]


def audio(path):
    """Describe a recording."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error.strerror or error}") from error
    samples, rate = decode(data, str(path))
    kind = {b"RIFF": "WAV", b"fLaC": "FLAC", b"NIST": "SPHERE"}.get(data[:4], "audio")
    numbers = Numbers()
    numbers.add(samples)
    lines = [f"{len(samples) / rate:.2f} s, {rate} Hz, {samples.shape[1]} channel{'s' * (samples.shape[1] > 1)}"]
    return f"recording ({kind})", lines + numbers.lines()[:1]
