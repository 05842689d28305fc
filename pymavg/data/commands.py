"""The commands in wav.scp that are done in Python where their program is not installed: sph2pipe and flac."""

import shlex
import shutil
from pathlib import Path

from pymavg.errors import PymavgError


def stand_in(command):
    """Return (file, channel) when `command` only decodes one file and its program is not installed; None else.

    Understood are `sph2pipe -f wav|rif [-p] [-c 1|2] FILE` (channel counts from 0 in the result) and
    `flac -c -d -s FILE` in any order of options; channel is None where the command names none.

    Raises
    ------
    PymavgError
        When the program is one of the two, is not installed, and has options that are not understood.
    """
    if any(character in command for character in "|;&<>`$()\n"):
        return None
    try:
        program, *words = shlex.split(command)
    except ValueError:
        return None
    parse = {"sph2pipe": _parse_sph2pipe, "flac": _parse_flac}.get(Path(program).name)
    if parse is None or shutil.which(program):
        return None
    found = parse(words)
    if found is None:
        raise PymavgError(f"'{command} |': {program} is not installed, and these options are not understood without it")
    return found


def _parse_sph2pipe(words):
    files, channel = [], None
    words = iter(words)
    for word in words:
        if word == "-p":  # 16-bit PCM, which is what decoding gives
            continue
        if word == "-f":
            if next(words, "") not in ("wav", "rif"):
                return None
        elif word == "-c":
            channel = {"1": 0, "2": 1}.get(next(words, ""))
            if channel is None:
                return None
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    return (files[0], channel) if len(files) == 1 else None


def _parse_flac(words):
    known = {"-c", "--stdout", "-d", "--decode", "-s", "--silent", "-cd", "-dc", "-dcs", "-cds", "-sdc", "-scd"}
    files = [word for word in words if not word.startswith("-")]
    if len(files) != 1 or any(word not in known for word in words if word.startswith("-")):
        return None
    return files[0], None
