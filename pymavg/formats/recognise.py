"""What kind of file this is, told by its first bytes."""

import gzip
import re
import zlib
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import gzip_error, read_lines
from pymavg.kaldi.encoding import BINARY_MARK
from pymavg.kaldi.inputs import OpenFiles, open_stream, read_scp
from pymavg.kaldi.nnet1 import KNOWN_MARKERS
from pymavg.kaldi.rspecifier import parse_place

MAY_BE_EMPTY = (".txt", ".int", ".csl", "_opts", ".conf", ".log")
HEAD = 1 << 16  # bytes looked at
GZIP = b"\x1f\x8b"
OPENFST = b"\xd6\xfd\xb2\x7e"
AUDIO = (b"RIFF", b"fLaC", b"NIST_1A", b"OggS", b"ID3", b"FORM")

OBJECTS = {  # first token of an object -> kind
    "<TransitionModel>": "model",
    "ContextDependency": "tree",
    "<Topology>": "topology",
    "<Questions>": "questions",
    "BTS": "tree statistics",
    "<MlltAccs>": "MLLT statistics",
    **dict.fromkeys(("FM", "DM", "CM", "CM2", "CM3"), "matrix"),
    **dict.fromkeys(("FV", "DV"), "vector"),
}
OTHERS = {  # of programs that pymavg has no counterpart of
    "<Nnet3>": "an nnet3 network",
    "<Nnet2>": "an nnet2 network",
    "<DiagGMM>": "a single mixture",
    "<FullGMM>": "a full-covariance mixture",
}


def read_head(path):
    """Return (first bytes of a file, decompressed where it is gzip; whether it is).

    Raises
    ------
    PymavgError
        When the file is missing, empty, a directory, or cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise PymavgError(f"{path}: is a directory; a file expected")
        with open(path, "rb") as stream:
            compressed = stream.read(2) == GZIP
        with gzip.open(path, "rb") if compressed else open(path, "rb") as stream:
            head = stream.read(HEAD)
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        if path.is_file() and not isinstance(error, PermissionError):
            raise gzip_error(path, path.read_bytes(), error) from error
        raise PymavgError(f"{path}: cannot be read: {error}") from error
    if not head and not path.name.endswith(MAY_BE_EMPTY):
        raise PymavgError(f"{path}: is empty")
    return head, compressed


def recognise(path):
    """Return (kind, head of the file, whether compressed); kind is a key of `kinds.KINDS`.

    Raises
    ------
    PymavgError
        When it is no file of a Kaldi experiment.
    """
    head, compressed = read_head(path)
    if head.startswith(BINARY_MARK):
        return _binary_object(head, path), head, compressed
    if head.startswith(OPENFST):
        return "FST", head, compressed
    if head.startswith(AUDIO):
        return "audio", head, compressed
    key, blank, rest = head.partition(b" ")
    if blank and 0 < len(key) < 4096 and not key.split()[1:] and rest[:2] == BINARY_MARK:
        return _archive(rest, path, len(key) + 1), head, compressed
    if head and not blank and head.isascii() and Path(path).suffix == ".ark" and len(head.split()) == 1:
        raise PymavgError(f"{path}:{len(head)}: an archive that ends within its first key; the file is cut")
    if blank and rest.startswith(OPENFST):
        return ("lattices" if b"lattice4" in rest[:40] else "FSTs"), head, compressed
    if b"\0" in head:
        raise PymavgError(f"{path}:0: no file of a Kaldi experiment, or a damaged one: binary data without a header")
    return _text(head, path), head, compressed


def _binary_object(head, path):
    word = head[2:].split(None, 1)[:1]
    token = word[0][:40].decode("latin-1") if word else ""
    if token in OBJECTS:
        return OBJECTS[token]
    if token.lower() in KNOWN_MARKERS:
        return "nnet1"
    if token in OTHERS:
        raise PymavgError(f"{path}: {OTHERS[token]}, which pymavg does not read; nnet1 networks are read")
    if head[2:3] == b"\4":
        return "ilabels"
    raise PymavgError(f"{path}:2: begins with '{token}', no Kaldi file that is known; the file is damaged?")


def _archive(rest, path, at=0):
    """Return the kind of an archive from its first entry."""
    kind = re.match(rb"\0B(FM|DM|CM|CM2|CM3|FV|DV) ", rest)
    if kind:
        return "matrices" if b"M" in kind[1] else "vectors"
    if rest[2:3] == b"\4":
        size = int.from_bytes(rest[3:7], "little", signed=True)
        for name, fits in (("integers", _is_integers), ("posteriors", _is_posteriors)):
            if size >= 0 and fits(rest, 7, size):
                return name
        return "number pairs"
    raise PymavgError(f"{path}:{at}: an archive whose first entry is nothing that is known; the file is damaged?")


def _is_integers(data, at, size):
    """Tell whether the first elements are integers and, where it is seen, the next entry follows them."""
    end = at + 5 * size
    return data[at : min(end, len(data)) : 5] == b"\4" * len(data[at : min(end, len(data)) : 5]) and (
        end >= len(data) or _starts_entry(data, end)
    )


def _is_posteriors(data, at, size):
    """Tell whether each frame is a count and as many (class, weight)."""
    for _ in range(size):
        if at + 5 > len(data):
            return True
        count = int.from_bytes(data[at + 1 : at + 5], "little", signed=True)
        if data[at : at + 1] != b"\4" or not 0 <= count <= 100_000:
            return False
        at += 5
        end = at + 10 * count
        marks = data[at : min(end, len(data)) : 5]
        if marks != b"\4" * len(marks):
            return False
        at = end
    return size > 0 and (at >= len(data) or _starts_entry(data, at))


def _starts_entry(data, at):
    key, blank, rest = data[at : at + 4096].partition(b" ")
    control = any(byte < 32 for byte in key)
    return bool(blank) and len(key.split()) == 1 and not control and rest[:2] in (BINARY_MARK, b"\0", b"")


def _text(head, path):
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1] or head[:-4]
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError:
        read_lines(path)  # names the line
        raise PymavgError(f"{path}: neither text nor a Kaldi file that is known") from None
    first, *more = [line for line in text.split("\n") if line.strip()] or [""]
    token = (first.split() or [""])[0]
    if token.lower() in KNOWN_MARKERS:
        return "text" if "<InputDim>" in text else "nnet1"  # the former is a prototype, for nnet-initialize
    if OBJECTS.get(token, "matrix") not in ("matrix", "vector"):
        return OBJECTS[token]
    if token in OTHERS:
        raise PymavgError(f"{path}: {OTHERS[token]}, which pymavg does not read; nnet1 networks are read")
    if token.startswith("["):
        return "vector" if "]" in first else "matrix"
    words = first.split(None, 2)
    if words[1:2] == ["["]:
        return "matrices" if len(words) == 2 else "posteriors" if first.count("[") > 1 else "vectors"
    if token.startswith("\\data\\"):
        return "ARPA"
    return _by_lines(first, more)


ARC = re.compile(r"\d+\s+\d+\s+\d+(\s+\d+)?(\s+[-+.\deE]+(,[-+.\deE]*,[\d_]*)?)?\s*$")
FST_ARC = re.compile(r"\d+\t\d+\t\d+\t\d+(\t[-+.\deE]+|\tInfinity)?$")


def _by_lines(first, more):
    second = more[0] if more else ""
    if len(first.split()) == 1 and first.endswith(" ") and ARC.match(second):
        return "lattices" if any("," in line for line in more) else "FSTs"
    if FST_ARC.match(first):
        return "FST"
    lines = [line.split() for line in (first, *more[:200])]
    rows = [words for words in lines if len(words) > 2 and all(word.isdigit() for word in words[1:])]
    return "integers" if len(rows) > 0.8 * len(lines) and not lines[0][0].isdigit() else "text"


def recognise_script(path):
    """Return the kind of the objects that an scp file points to, by the first of them."""
    key, (line, text) = next(iter(read_scp(path).items()))
    place = parse_place(text, where=f"{path}:{line}")
    try:
        if place.command:
            with open_stream(f"{place.command} |") as source:
                head = source.take(source.have(HEAD), "an object")
        else:
            source = OpenFiles().source(place.file, place.offset)
            head = source.take(source.have(HEAD), "an object")
    except PymavgError as error:
        raise PymavgError(f"{path}:{line}: {key}: {error}") from error
    if head.startswith(BINARY_MARK):
        return _archive(head, f"{path}:{line}: {key}")
    if head.lstrip(b" ").startswith(b"["):
        return "vectors" if b"]" in head.partition(b"\n")[0] else "matrices"
    return "integers"
