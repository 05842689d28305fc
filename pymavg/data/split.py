"""Parts of data directories: splits into jobs, subsets, and the division into training and cross-validation."""

import fcntl
import math
import random
import shutil
from collections import Counter
from pathlib import Path

from pymavg.data.datadir import TABLES, DataDir, copy_conf, group, write_tables
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.options import log, warn

SOURCE = ".source"  # file in a split directory: size and time of each table that it was made from


def split(path, num_parts, per_utt=False):
    """Split a data directory into jobs: PATH/splitN/1 … PATH/splitN/N (splitNutt with `per_utt`).

    The parts are contiguous in C order and hold whole speakers (unless `per_utt`), with about equal numbers of
    utterances. A split that is newer than its parent is left as it is. There are never more parts than speakers.

    Returns
    -------
    list of Path
        The parts, at most `num_parts`.
    """
    data = DataDir(path)
    groups = [[utt] for utt in data.utts] if per_utt else list(data.spk2utt.values())
    if not groups:
        raise PymavgError(f"{data.path}/utt2spk: is empty")
    if len(groups) < num_parts:
        kind = "utterances" if per_utt else "speakers"
        hint = "" if per_utt else " (--per-utt splits by utterance)"
        warn(f"{data.path} has {len(groups)} {kind}: {len(groups)} jobs instead of {num_parts}{hint}")
        num_parts = len(groups)
    whole = data.path / f"split{num_parts}{'utt' if per_utt else ''}"
    parts = [whole / str(number + 1) for number in range(num_parts)]
    with open(data.path / ".split.lock", "w") as lock:  # two steps may want the same split at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_stale(whole):
            _write_split(data, whole, contiguous_parts(groups, num_parts))
    return parts


def is_stale(whole):
    """Return whether a split directory is missing, unfinished, or older than its parent."""
    source = whole / SOURCE
    return not source.is_file() or read_lines(source) != _fingerprint(whole.parent)


def _fingerprint(path):
    stats = [(name, (path / name).stat()) for name in sorted(TABLES) if (path / name).is_file()]
    return [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats]


def _write_split(data, whole, parts):
    fingerprint = _fingerprint(data.path)
    shutil.rmtree(whole, ignore_errors=True)
    for number, utts in enumerate(parts, 1):
        write_tables(whole / str(number), data.select(utts))
    with atomic_open(whole / SOURCE) as stream:
        stream.write("\n".join(fingerprint) + "\n")


def contiguous_parts(groups, num_parts):
    """Put groups of utterances, in order, into `num_parts` <= len(groups) parts of about equal size, none empty.

    A group goes where its middle falls, except that parts follow one another without a gap.
    """
    total = sum(map(len, groups))
    parts = [[] for _ in range(num_parts)]
    part, before = -1, 0
    for index, utts in enumerate(groups):
        middle = int(num_parts * (before + len(utts) / 2) / total)
        lowest = max(part, num_parts - (len(groups) - index))  # later parts need groups too
        part = min(max(middle, lowest), part + 1)
        parts[part] += utts
        before += len(utts)
    return parts


def subset(source, utts, target):
    """Write the data directory `target` with those of the utterances `utts` that `source` has.

    Raises
    ------
    PymavgError
        When none is left.
    """
    data = DataDir(source)
    wanted = set(utts)
    kept = [utt for utt in data.utts if utt in wanted]
    if not kept:
        first = min(wanted, default="(an empty list)")
        raise PymavgError(f"{target}: no utterance is left of {source}; wanted {first}, it has {data.utts[0]}")
    if len(kept) < len(wanted):
        warn(f"{source} lacks {len(wanted) - len(kept)} of {len(wanted)} utterances; first: {min(wanted - set(kept))}")
    write_tables(target, data.select(kept))
    copy_conf(source, target)
    log(f"{target}: {len(kept)} of {len(data.utts)} utterances of {source}")


def choose(data, how, count):
    """Return `count` utterances of a DataDir (those of about `count` for whole speakers).

    Parameters
    ----------
    how : {"spread", "first", "last", "shortest", "speakers", "per-spk"}
        Evenly spread over the list (Kaldi's default); the first; the last; the shortest by frames, seconds or segment;
        whole speakers spread over the list until `count` is reached; at most `count` of each speaker.
    """
    if how == "per-spk":
        return [utt for utts in data.spk2utt.values() for utt in spread(utts, min(count, len(utts)))]
    if count > len(data.utts):
        raise PymavgError(f"{data.path}: has {len(data.utts)} utterances, {count} wanted")
    if how == "first":
        return data.utts[:count]
    if how == "last":
        return data.utts[len(data.utts) - count :]
    if how == "shortest":
        length = _lengths(data)
        return sorted(data.utts, key=lambda utt: (length[utt], utt))[:count]
    if how == "speakers":
        return _whole_speakers(data, count)
    return spread(data.utts, count)


def spread(items, count):
    """Return `count` items at even distances."""
    return [items[index * len(items) // count] for index in range(count)]


def _whole_speakers(data, count):
    speakers = list(data.spk2utt)
    random.Random(0).shuffle(speakers)
    chosen = []
    while len(chosen) < count:
        chosen += data.spk2utt[speakers.pop()]
    return chosen


def _lengths(data):
    for name in ("utt2num_frames", "utt2dur"):
        if data.has(name):
            return getattr(data, name)
    if data.has("segments"):
        return {utt: (segment.end or math.inf) - segment.start for utt, segment in data.segments.items()}
    raise PymavgError(f"{data.path}: has none of utt2num_frames, utt2dur, segments; the shortest cannot be told")


def divide(source, train, cv, percent=10.0, by="speaker", seed=0):
    """Divide a data directory into training and cross-validation (CV) by conversation, speaker or utterance.

    Whole conversations or speakers are drawn at random (`seed`) until `percent` of the utterances are reached. Where
    they are so few or so large that this share cannot be met within a factor of two, single utterances are drawn
    instead, and a warning says so.
    """
    data = DataDir(source)
    keys = {"conversation": data.conversation, "speaker": data.utt2spk.__getitem__, "utterance": lambda utt: utt}
    for kind in dict.fromkeys((by, "utterance")):
        groups = list(group(data.utts, keys[kind]).values())
        chosen = _draw(groups, percent / 100 * len(data.utts), seed)
        share = 100 * len(chosen) / len(data.utts)
        if kind == "utterance" or percent / 2 <= share <= 2 * percent:
            break
        warn(f"{source} has {len(groups)} {kind}s, too few for a CV set of {percent:g} %: divided by utterance instead")
    rest = set(data.utts) - set(chosen)
    if not rest or not chosen:
        raise PymavgError(f"{source}: {len(data.utts)} utterances cannot be divided with {percent:g} % for CV")
    subset(source, rest, train)
    subset(source, chosen, cv)
    shared = {data.utt2spk[utt] for utt in chosen} & {data.utt2spk[utt] for utt in rest}
    if shared:
        log(f"{cv}: {len(shared)} of its speakers are in {train} too")


def _draw(groups, count, seed):
    """Return the utterances of groups drawn at random until `count` is met as nearly as whole groups allow."""
    random.Random(seed).shuffle(groups)
    chosen = []
    for utts in groups:
        if chosen and len(chosen) + len(utts) / 2 > count:
            break
        chosen += utts
    return chosen


def without_repeats(source, max_count):
    """Return the utterances of a data directory such that no transcription comes much more often than `max_count`.

    A transcription that comes n > max_count times stays with probability max_count / n each time, drawn as Kaldi's
    utils/data/remove_dup_utts.sh does: from the fractions k / 71147 for k = 103349, 2 · 103349, … modulo 71147.
    """
    data = DataDir(source)
    if not data.has("text"):
        raise PymavgError(f"{data.path}/text: no such file; the transcriptions tell which utterances are repeated")
    lines = [(utt, " ".join(words.split())) for utt, words in data.text.items()]
    times, k, kept = Counter(words for _, words in lines), 0, []
    for utt, words in lines:
        if times[words] >= max_count:
            k = (k + 103349) % 71147
        if times[words] < max_count or k / 71147 < max_count / times[words]:
            kept.append(utt)
    return kept


def utterances_of(list_file, speakers=None):
    """Return the utterances that a file lists in its first column, or those of the `speakers` (spk2utt) it lists."""
    names = [line.split()[0] for line in read_lines(list_file) if line.split()]
    if not names:
        raise PymavgError(f"{Path(list_file)}: is empty")
    if speakers is None:
        return names
    unknown = [name for name in names if name not in speakers]
    if unknown:
        warn(f"{list_file}: {len(unknown)} of {len(names)} speakers have no utterances; first: {unknown[0]}")
    return [utt for name in names for utt in speakers.get(name, ())]
