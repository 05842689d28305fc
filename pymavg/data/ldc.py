"""What the corpora of LDC have in common: SPHERE files on disks in any layout, and the data directory made of them."""

import os
import re
from pathlib import Path

from pymavg.data.containers import check_sphere_file
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.options import log, warn

SPH2PIPE = "sph2pipe -f wav -p -c {channel} {path} |"  # read by pymavg itself where sph2pipe is not installed


def walk(folder):
    """Return the sorted Paths of all that is below `folder`, behind symbolic links too: disks are often mounted so."""
    found, entered = [], set()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in entered:  # a link back up, or two links to one disk
            folders.clear()
            continue
        entered.add(real)
        found += [Path(place, name) for name in (*folders, *files)]
    return sorted(found)


def find_sphere(folder):
    """Return {name without .sph: Path} of all SPHERE files below `folder`, in any case and on any number of disks.

    A link to nothing (a disk that is not mounted) is no recording, and is told.
    """
    found = {}
    for path in walk(folder):
        if path.suffix.lower() == ".sph" and not path.exists():
            warn(f"{path}: links to {path.readlink()}, which is not there, and is not counted")
        elif path.suffix.lower() == ".sph" and not path.is_dir():
            name = path.stem.lower()
            if name in found:
                warn(f"{path}: {found[name]} has the same name and is used")
            found.setdefault(name, path.absolute())
    return found


def check_count(folder, expected, allow_partial=False):
    """Say how many .sph files are below `folder`, and stop unless it is one of the numbers `expected`.

    Returns
    -------
    found : dict of str to Path
        See find_sphere.

    Raises
    ------
    PymavgError
        For none, and for another number unless `allow_partial` is true.
    """
    recordings = find_sphere(folder)
    found = len(recordings)
    numbers = " or ".join(map(str, expected))
    if found not in expected and not (allow_partial and found):
        remedy = "a disk is missing? (--allow-partial true to go on)" if found else "is it the corpus's folder?"
        raise PymavgError(f"found {found} of {numbers} .sph under {folder}: {remedy}")
    log(f"{folder}: {found} .sph files, {numbers} in the whole corpus")
    return recordings


def check_whole(recordings):
    """Stop when recordings are empty, cut or no SPHERE, before hours of work; their headers tell, nothing is decoded.

    Parameters
    ----------
    recordings : dict of str to Path

    Raises
    ------
    PymavgError
        With the first one and how many there are.
    """
    faults = []
    for path in recordings.values():
        try:
            check_sphere_file(path)
        except (OSError, PymavgError) as error:
            faults.append(str(error))
    if faults:
        more = f" (and {len(faults) - 1} more of {len(recordings)})" if faults[1:] else ""
        raise PymavgError(f"{faults[0]}{more}; copy it again from the disk")


def write_data_dir(out, utterances, audio):
    """Write wav.scp, segments, text, utt2spk, spk2utt and reco2file_and_channel of two-channel recordings.

    Parameters
    ----------
    out : str or Path
    utterances : list of (utterance, recording, speaker, start, end, words)
        Recordings are named FILE-A and FILE-B; times in s.
    audio : dict of str to Path
        FILE to its recording.
    """
    out = Path(out)
    used = sorted({u[1] for u in utterances})
    speakers = {}
    for utterance, _, speaker, *_ in sorted(utterances):
        speakers.setdefault(speaker, []).append(utterance)
    write_sorted(out / "segments", (f"{u} {rec} {start:.2f} {end:.2f}" for u, rec, _, start, end, _ in utterances))
    write_sorted(out / "text", (f"{u[0]} {' '.join(u[5])}".strip() for u in utterances))
    write_sorted(out / "utt2spk", (f"{u[0]} {u[2]}" for u in utterances))
    write_sorted(out / "spk2utt", (f"{speaker} {' '.join(own)}" for speaker, own in speakers.items()))
    write_sorted(out / "reco2file_and_channel", (f"{rec} {rec[:-2]} {rec[-1]}" for rec in used))
    channel = {"A": 1, "B": 2}
    pipes = {rec: SPH2PIPE.format(channel=channel[rec[-1]], path=_quoted(audio[rec[:-2]])) for rec in used}
    write_sorted(out / "wav.scp", (f"{rec} {pipe}" for rec, pipe in pipes.items()))
    log(f"{out}: {len(utterances)} utterances of {len(speakers)} speakers in {len(used)} conversation sides")


def _quoted(path):
    return str(path) if re.fullmatch(r"[\w@%+=:,./-]+", str(path)) else "'" + str(path).replace("'", "'\\''") + "'"


def write_sorted(path, lines, in_order=False):
    """Write lines in C order (by bytes), which is Kaldi's, or as they come."""
    lines = list(lines) if in_order else sorted(lines, key=lambda line: line.encode("utf-8"))
    with atomic_open(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)
