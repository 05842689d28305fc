"""Mend a data directory: sort, bring all tables to the same utterances, remake what went stale."""

import shutil
from dataclasses import replace

from pymavg.data.datadir import (
    BY_RECORDING,
    BY_SPEAKER,
    BY_UTTERANCE,
    TABLES,
    DataDir,
    changed_tables,
    group,
    join_members,
    write_tables,
)
from pymavg.data.segments import Segment, parse_segment
from pymavg.data.split import is_stale
from pymavg.data.validate import check_table, is_bad, overshoots
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixScp
from pymavg.options import log, warn

DERIVED = ("utt2dur", "utt2num_frames", "spk2utt")
MAX_DEVIATION = 0.02  # seconds between utt2dur and segments above which utt2dur is stale


def fix(path, fix_text=False, keep_empty_text=False, max_loss=0.05):
    """Sort all tables in C order and keep the utterances that all of them have; the originals go to PATH/.backup.

    Parameters
    ----------
    path : str or Path
    fix_text : bool
        Replace characters that may not stand in text by blanks, and drop utterances without words.
    keep_empty_text : bool
        Keep utterances without words, as for a test set.
    max_loss : float
        Largest part of the utterances that may be dropped.

    Raises
    ------
    PymavgError
        On what cannot be mended (the file and line are named), or more loss than allowed; then nothing is changed.
    """
    path = DataDir(path).path
    rows = _read_all(path)
    tables = {name: {key: rest for _, key, rest in lines} for name, lines in rows.items()}
    if fix_text and "text" in tables:
        tables["text"] = _fixed_text(path, tables["text"], keep_empty_text)
    segments = _segments(path, rows, tables)
    utts = _common_utterances(path, tables, segments)
    _check_loss(path, set(tables["utt2spk"]), utts, max_loss)
    tables = _restricted(tables, utts, segments)
    _remake_derived(path, tables, segments)
    _save(path, tables)
    log(f"{path}: {len(utts)} utterances of {len(group(utts, tables['utt2spk'].__getitem__))} speakers")


def _read_all(path):
    """Return name -> list of (line number, key, rest) of all tables; what only the user can mend is an error."""
    rows, fatal = {}, []
    for name in TABLES:
        if name != "spk2utt" and (path / name).is_file():
            rows[name], problems = check_table(path / name)
            fatal += [problem.message for problem in problems if not problem.fixable]
    if fatal:
        raise PymavgError("\n".join(fatal))
    return rows


def _fixed_text(path, text, keep_empty):
    fixed = {utt: clean(words) for utt, words in text.items()}
    changed = sum(fixed[utt] != text[utt] for utt in text)
    if changed:
        log(f"{path}/text: characters of {changed} utterances replaced by blanks")
    empty = sorted(utt for utt, words in fixed.items() if not words)
    if empty and not keep_empty:
        log(f"{path}/text: {len(empty)} utterances without words dropped; first: {empty[0]}")
        return {utt: words for utt, words in fixed.items() if words}
    return fixed


def clean(words):
    """Return a text with blanks for all characters that may not stand in one, and single blanks between words."""
    return " ".join("".join(" " if is_bad(char) else char for char in words).split())


def _segments(path, rows, tables):
    """Return utterance -> Segment of those within their recordings, each cut at the end where reco2dur tells it."""
    if "segments" not in rows:
        return {utt: Segment(utt, utt, 0.0, None, None, "") for utt in tables["utt2spk"]}
    segments, cut, beyond = {}, [], []
    lengths = {recording: float(text) for recording, text in tables.get("reco2dur", {}).items()}
    for number, utt, rest in rows["segments"]:
        segment = parse_segment(f"{utt} {rest}", f"{path}/segments:{number}")
        length = lengths.get(segment.recording, float("inf"))
        if overshoots(segment, length):
            beyond.append(segment.place)
            continue
        if (segment.end or 0.0) > length:
            cut.append(utt)
            segment = replace(segment, end=length)
            tables["segments"][utt] = f"{segment.recording} {rest.split()[1]} {tables['reco2dur'][segment.recording]}"
        segments[utt] = segment
    if cut:
        log(f"{path}/segments: {len(cut)} segments cut at the end of their recording; first: {cut[0]}")
    if beyond:
        warn(f"{len(beyond)} segments lie beyond the end of their recording; first: {beyond[0]}")
    return segments


def _common_utterances(path, tables, segments):
    """Return the utterances that all tables have and whose recordings wav.scp has."""
    utts = set(tables["utt2spk"])
    for name in BY_UTTERANCE:
        if name in tables and name not in DERIVED:
            utts &= set(tables[name])
            if not utts:
                raise PymavgError(_nothing_left(f"{path}/{name}", tables[name], f"{path}/utt2spk", tables["utt2spk"]))
    if "wav.scp" in tables:
        recordings = {segment.recording for segment in segments.values()}
        if not recordings & set(tables["wav.scp"]):
            of = "segments" if "segments" in tables else "utt2spk"
            raise PymavgError(
                f"{path}: no recording of {of} ({len(tables[of])} lines) is in wav.scp ({len(tables['wav.scp'])} "
                f"lines); first of each: {min(recordings)} / {min(tables['wav.scp'])}; correct the names"
            )
        utts = {utt for utt in utts if utt in segments and segments[utt].recording in tables["wav.scp"]}
    return {utt for utt in utts if utt in segments}


def _nothing_left(name, table, other_name, other):
    firsts = f"first of each: {min(table, default='none')} / {min(other)}"
    return f"{name} ({len(table)} lines) shares no utterance with {other_name} ({len(other)} lines); {firsts}"


def _check_loss(path, all_utts, utts, max_loss):
    dropped = sorted(all_utts - utts)
    if not utts:
        raise PymavgError(f"{path}: no utterance is in all of its tables; nothing was changed")
    if not dropped:
        return
    message = f"kept {len(utts)} of {len(all_utts)} utterances; first dropped: {', '.join(dropped[:3])}"
    loss = len(dropped) / len(all_utts)
    if loss > max_loss:
        limit = f"{loss:.3f} of all would be lost, --max-loss allows {max_loss:g}"
        raise PymavgError(f"{path}: {message.replace('kept', 'would keep')}; {limit}; nothing was changed")
    warn(f"{path}: {message}")


def _restricted(tables, utts, segments):
    """Return the tables with the kept utterances, their speakers and their recordings alone."""
    speakers = {tables["utt2spk"][utt] for utt in utts}
    recordings = {segments[utt].recording for utt in utts}
    kept = {}
    for names, keys in ((BY_UTTERANCE, utts), (BY_SPEAKER, speakers), (BY_RECORDING, recordings)):
        for name in set(names) & set(tables):
            kept[name] = {key: rest for key, rest in tables[name].items() if key in keys}
    return kept | {"spk2utt": join_members(group(utts, tables["utt2spk"].__getitem__))}


def _remake_derived(path, tables, segments):
    """Remake utt2dur and utt2num_frames where they do not fit the utterances; remove them where that is impossible."""
    utts = set(tables["utt2spk"])
    ends_known = all(segment.end is not None for segment in segments.values())
    if "utt2dur" in tables and _dur_is_stale(tables["utt2dur"], utts, segments):
        del tables["utt2dur"]
        if ends_known:
            tables["utt2dur"] = {u: f"{segments[u].end - segments[u].start:.3f}" for u in utts}
        log(f"{path}/utt2dur: did not fit; {'remade from segments' if ends_known else 'removed'}")
    if "utt2num_frames" in tables and set(tables["utt2num_frames"]) != utts:
        del tables["utt2num_frames"]
        if "feats.scp" in tables:
            feats = MatrixScp(path / "feats.scp")
            tables["utt2num_frames"] = {utt: str(len(feats[utt])) for utt in sorted(utts)}
        log(f"{path}/utt2num_frames: did not fit; {'remade from feats.scp' if 'feats.scp' in tables else 'removed'}")
    speakers = set(tables["spk2utt"])
    if "cmvn.scp" in tables and set(tables["cmvn.scp"]) != speakers:
        del tables["cmvn.scp"]
        warn(f"{path}/cmvn.scp: lacked speakers and is removed; run steps/compute_cmvn_stats.sh {path}")


def _dur_is_stale(utt2dur, utts, segments):
    if set(utt2dur) != utts:
        return True
    lengths = ((utt2dur[utt], segments[utt]) for utt in utts)
    return any(s.end is not None and abs(float(d) - (s.end - s.start)) > MAX_DEVIATION for d, s in lengths)


def _save(path, tables):
    """Write the tables, after copying the originals to PATH/.backup, and remove splits that went stale."""
    stale = [name for name in TABLES if (path / name).is_file() and name not in tables]
    if stale or changed_tables(path, tables):
        backup = path / ".backup"
        backup.mkdir(exist_ok=True)
        for name in TABLES:
            if (path / name).is_file():
                shutil.copy2(path / name, backup / name)
        write_tables(path, tables)
    for whole in path.glob("split[0-9]*"):
        if whole.is_dir() and is_stale(whole):
            shutil.rmtree(whole)
            log(f"{whole}: was older than its parent; removed")
