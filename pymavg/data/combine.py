"""Unions and renamed copies of data directories."""

import shutil

from pymavg.data.datadir import (
    BY_SPEAKER,
    BY_UTTERANCE,
    REFERENCES,
    TABLES,
    DataDir,
    copy_conf,
    group,
    join_members,
    write_tables,
)
from pymavg.errors import PymavgError
from pymavg.options import log


def combine(target, sources):
    """Write the union of data directories.

    A table is made when all sources have it; one that some lack is left out, with a line. Where some have `segments`,
    each whole recording of the others becomes a segment. cmvn.scp is left out when sources share a speaker.

    Raises
    ------
    PymavgError
        When two sources say different things of one utterance, speaker or recording.
    """
    parts = [DataDir(source) for source in sources]
    names = [name for name in TABLES if name != "spk2utt" and any(part.has(name) for part in parts)]
    speakers = [spk for part in parts for spk in part.spk2utt]
    tables = {}
    for name in names:
        if name == "cmvn.scp" and len(set(speakers)) < len(speakers):
            log(f"{target}: without cmvn.scp, as sources share speakers; run steps/compute_cmvn_stats.sh {target}")
        elif name == "segments" or all(part.has(name) for part in parts):
            tables[name] = _union(name, parts)
        else:
            lacking = next(part.path for part in parts if not part.has(name))
            log(f"{target}: without {name}, which {lacking} lacks")
    members = group(tables["utt2spk"], tables["utt2spk"].__getitem__)
    write_tables(target, tables | {"spk2utt": join_members(members)})
    log(f"{target}: {len(tables['utt2spk'])} utterances of {len(parts)} directories")


def _union(name, parts):
    union, origin = {}, {}
    for part in parts:
        table = part.table(name) if part.has(name) else {utt: f"{utt} 0 -1" for utt in part.utts}
        for key, rest in table.items():
            if union.get(key, rest) != rest:
                found = f"'{union[key]}' in {origin[key]}, '{rest}' in {part.path}"
                raise PymavgError(f"{name}: {key} is {found}; rename with utils/copy_data_dir.sh --utt-prefix")
            union[key] = rest
            origin[key] = part.path
    return union


def copy(source, target, **names):
    """Copy a data directory, with prefixes and suffixes put to the names of utterances and speakers.

    `names` are those of `renamed_tables`.
    """
    data = DataDir(source)
    write_tables(target, renamed_tables(data, **names))
    copy_conf(source, target)
    for name in filter(data.has, REFERENCES):
        shutil.copy2(data.path / name, target)
    log(f"{target}: {len(data.utts)} utterances of {source}")


def renamed_tables(data, utt_prefix="", utt_suffix="", spk_prefix="", spk_suffix=""):
    """Return all tables of a DataDir, with prefixes and suffixes put to the names of utterances and speakers.

    Recordings keep their names; where there is no `segments`, one is made so that new names of utterances still lead
    to them.
    """

    def utt_name(utt):
        return f"{utt_prefix}{utt}{utt_suffix}"

    def spk_name(spk):
        return f"{spk_prefix}{spk}{spk_suffix}"

    tables = {name: data.table(name) for name in TABLES if data.has(name)}
    if "wav.scp" in tables and utt_name("") and "segments" not in tables:
        tables["segments"] = {utt: f"{utt} 0 -1" for utt in data.utts}
    for name in tables:
        if name in BY_UTTERANCE:
            tables[name] = {utt_name(utt): rest for utt, rest in tables[name].items()}
        elif name in BY_SPEAKER:
            tables[name] = {spk_name(spk): rest for spk, rest in tables[name].items()}
    tables["utt2spk"] = {utt: spk_name(spk) for utt, spk in tables["utt2spk"].items()}
    tables["spk2utt"] = join_members(group(tables["utt2spk"], tables["utt2spk"].__getitem__))
    return tables
