"""Paths in the tables of a data directory that was moved or copied from where Kaldi made it."""

from pathlib import Path

from pymavg.data.datadir import DataDir, write_tables
from pymavg.errors import PymavgError
from pymavg.kaldi.rspecifier import parse_place, reroot
from pymavg.options import warn

WITH_PATHS = ("feats.scp", "cmvn.scp", "vad.scp", "wav.scp")


def reroot_tables(data, root):
    """Rewrite the paths of a data directory so that they hold from anywhere.

    Commands (lines that end in `|`) are left as they are, with a warning.

    Parameters
    ----------
    data : str or Path
        Data directory, changed in place.
    root : str or Path
        Directory that relative paths started from, or under which the files of absolute ones now lie.

    Raises
    ------
    PymavgError
        For the first file of feats.scp, cmvn.scp or vad.scp that is not found; then nothing is changed.
    """
    source = DataDir(data)
    tables = {name: _moved(source, name, root) for name in WITH_PATHS if source.has(name)}
    write_tables(data, tables, replace=False)


def _moved(source, name, root):
    table, commands, known = {}, 0, {}
    for key, text in source.table(name).items():
        where = f"{source.path}/{name}: {key}"
        place = parse_place(text, where=where)
        commands += bool(place.command)
        if place.command or place.file == "-":
            table[key] = text
            continue
        if place.file not in known:
            known[place.file] = str(Path(reroot(place.file, root)).absolute())
            if name != "wav.scp" and not Path(known[place.file]).exists():
                raise PymavgError(f"{where}: {place.file} is not there under {root}; give another --root")
        table[key] = known[place.file] + text[len(place.file) :]
    if commands:
        warn(f"{source.path}/{name}: {commands} lines are commands, and left as they are")
    return table
