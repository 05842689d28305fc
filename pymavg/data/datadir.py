"""Kaldi's data directories: a handful of sorted text tables keyed by utterance, speaker or recording.

    utt2spk spk2utt text segments wav.scp feats.scp cmvn.scp utt2num_frames utt2dur reco2dur reco2file_and_channel …

Without `segments` each recording of wav.scp is one utterance of the same name.
"""

import os
import shutil
from functools import cached_property
from pathlib import Path

from pymavg.data.segments import Segment, read_segments
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixScp, read_token_map

BY_UTTERANCE = (
    "utt2spk",
    "text",
    "segments",
    "feats.scp",
    "vad.scp",
    "utt2lang",
    "utt2uniq",
    "utt2dur",
    "utt2num_frames",
)
BY_SPEAKER = ("spk2utt", "spk2gender", "cmvn.scp")
BY_RECORDING = ("wav.scp", "reco2file_and_channel", "reco2dur")
TABLES = BY_UTTERANCE + BY_SPEAKER + BY_RECORDING
REFERENCES = ("stm", "glm")  # belong to the whole set, so a subset has none


class DataDir:
    """A data directory, its tables read when first asked for.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    utts : list of str
        All utterances (the keys of utt2spk) in C order.
    utt2spk, text : dict
        Utterance -> speaker; utterance -> words in one string.
    spk2utt : dict
        Speaker -> sorted list of utterances; derived from utt2spk.
    segments : dict
        Utterance -> Segment; without the file, each recording as a whole.
    wav : dict
        Recording -> file name or command ending in `|`.
    utt2num_frames, utt2dur, reco2dur : dict
        Utterance -> int; utterance or recording -> seconds.
    feats : MatrixScp
        Utterance -> float32 (frames, dimension), read when asked for.

    Raises
    ------
    PymavgError
        When the directory has no utt2spk; later, when a table asked for is missing or malformed.
    """

    def __init__(self, path):
        self.path = Path(path)
        if not self.has("utt2spk"):
            raise PymavgError(f"{self.path}/utt2spk: no such file; a data directory (see README.md) expected")

    def __repr__(self):
        return f"DataDir({str(self.path)!r})"

    def has(self, name):
        """Return whether the table `name` is there."""
        return (self.path / name).is_file()

    def table(self, name):
        """Return any table as a dict: key -> rest of the line, in C order."""
        table = read_token_map(self.path / name)
        return dict(sorted(table.items()))

    @cached_property
    def utt2spk(self):
        """Utterance -> speaker."""
        return self.table("utt2spk")

    @cached_property
    def utts(self):
        """All utterances in C order."""
        return list(self.utt2spk)

    @cached_property
    def spk2utt(self):
        """Speaker -> list of utterances."""
        return group(self.utts, self.utt2spk.__getitem__)

    @cached_property
    def text(self):
        """Utterance -> words in one string."""
        return self.table("text")

    @cached_property
    def wav(self):
        """Recording -> file name or command."""
        return self.table("wav.scp")

    @cached_property
    def segments(self):
        """Utterance -> Segment; without the file, each recording as a whole."""
        if not self.has("segments"):
            return {utt: Segment(utt, utt, 0.0, None, None, f"{self.path}/wav.scp") for utt in self.utts}
        return {segment.utterance: segment for segment in read_segments(self.path / "segments")}

    @cached_property
    def utt2num_frames(self):
        """Utterance -> number of frames."""
        return self._numbers("utt2num_frames", int)

    @cached_property
    def utt2dur(self):
        """Utterance -> seconds."""
        return self._numbers("utt2dur", float)

    @cached_property
    def reco2dur(self):
        """Recording -> seconds."""
        return self._numbers("reco2dur", float)

    def _numbers(self, name, kind):
        values = {}
        for key, text in self.table(name).items():
            try:
                values[key] = kind(text)
            except ValueError:
                raise PymavgError(f"{self.path}/{name}: {key}: a number expected, found '{text}'") from None
        return values

    @cached_property
    def feats(self):
        """Utterance -> feature matrix."""
        if not self.has("feats.scp"):
            raise PymavgError(f"{self.path}/feats.scp: no such file; run steps/make_mfcc.sh or make_fbank.sh first")
        return MatrixScp(self.path / "feats.scp")

    def conversation(self, utt):
        """Return the conversation that an utterance belongs to: what all channels of its recording share."""
        recording = self.segments[utt].recording
        return self._conversations.get(recording, recording)

    @cached_property
    def _conversations(self):
        if not self.has("reco2file_and_channel"):
            return {}
        return {reco: rest.split()[0] for reco, rest in self.table("reco2file_and_channel").items()}

    def select(self, utts):
        """Return the tables restricted to some utterances: dict name -> dict, as write_tables takes it."""
        utts = sorted(utts)
        speakers = group(utts, self.utt2spk.__getitem__)
        recordings = {self.segments[utt].recording for utt in utts if utt in self.segments}
        kept = {}
        for names, keys in ((BY_UTTERANCE, utts), (BY_SPEAKER, speakers), (BY_RECORDING, recordings)):
            for name in filter(self.has, names):
                table = self.table(name)
                kept[name] = {key: table[key] for key in keys if key in table}
        return kept | {"spk2utt": join_members(speakers)}


def copy_conf(source, target):
    """Copy conf/*.conf, which tell how the features were made (pymavg transcribe asks), to another data directory."""
    source, target = Path(source, "conf"), Path(target, "conf")
    for old in target.glob("*.conf") if source.is_dir() else ():
        if not (source / old.name).exists():
            old.unlink()
    for conf in sorted(source.glob("*.conf")):
        target.mkdir(exist_ok=True)
        shutil.copyfile(conf, target / conf.name)


def group(keys, key_of):
    """Return the dict key_of(key) -> list of keys, both in C order."""
    groups = {}
    for key in sorted(keys):
        groups.setdefault(key_of(key), []).append(key)
    return dict(sorted(groups.items()))


def join_members(groups):
    """Return a table as in spk2utt from the dict speaker -> list of utterances."""
    return {key: " ".join(members) for key, members in groups.items()}


def write_tables(path, tables, replace=True):
    """Write the tables of a data directory; all are written beside, then renamed together.

    A file that has the right content already is left alone, with its time, so that what was made from it stays fresh.

    Parameters
    ----------
    path : str or Path
        The directory, made where it is missing.
    tables : dict
        Name -> (key -> rest of the line); written in C order of the keys.
    replace : bool
        Remove the tables that the directory has and `tables` lacks: they would be stale.

    Raises
    ------
    PymavgError
        When a file cannot be written; then all stay as they were.
    """
    path = Path(path)
    changed = changed_tables(path, tables)
    beside = {name: path / f".{name}.{os.getpid()}.tmp" for name in changed}
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, temporary in beside.items():
            temporary.write_text(changed[name], encoding="utf-8", newline="\n")
        for name in TABLES if replace else ():
            if name not in tables:
                (path / name).unlink(missing_ok=True)
        for name, temporary in beside.items():
            temporary.replace(path / name)
    except OSError as error:
        reason = error.strerror or error
        raise PymavgError(f"{path}: cannot be written: {reason}; check disk space and permissions") from error
    finally:
        for temporary in beside.values():
            temporary.unlink(missing_ok=True)


def changed_tables(path, tables):
    """Return name -> new content of those tables whose file is missing or has another content."""
    content = {
        name: "".join(f"{key} {rest}".rstrip(" ") + "\n" for key, rest in sorted(table.items()))
        for name, table in tables.items()
    }
    return {
        name: text
        for name, text in content.items()
        if not (path / name).is_file() or (path / name).read_bytes() != text.encode()
    }
