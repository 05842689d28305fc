"""The data directory of the Hub5 2000 evaluation: LDC2002S09 (speech), LDC2002T43 (transcripts); as in Kaldi's s5c."""

from itertools import pairwise
from pathlib import Path

from pymavg.data.ldc import find_sphere, write_data_dir
from pymavg.data.swbd_text import mend_stm_line, reference_words
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.options import log

STM, GLM, PEM = "hub5e00.english.000405.stm", "en20000405_hub5.glm", "hub5e_00.pem"
IGNORED = "IGNORE_TIME_SEGMENT_IN_SCORING"
EXTEND = 0.1  # s added at both ends of a segment, at most half of the gap to the next one


def find_layout(speech, transcripts):
    """Return the Paths of the folders with the speech and with the reference, wherever the disks begin.

    Raises
    ------
    PymavgError
        When hub5e_00.pem, the stm or the glm is not there, with the places that were looked at.
    """
    speech = _first_with(PEM, speech, ("english", "hub5e_00/english", "."), "LDC2002S09 (speech)")
    places = ("reference", "2000_hub5_eng_eval_tr/reference", ".")
    return speech, _first_with(STM, transcripts, places, "LDC2002T43 (transcripts)")


def _first_with(name, root, places, corpus):
    for place in places:
        if (Path(root) / place / name).exists():
            return Path(root) / place
    raise PymavgError(f"{root}: no {name} in it or in {', '.join(places[:-1])}; expected the folder of {corpus}")


def prepare(speech, transcripts, out, allow_partial=False):
    """Write the data directory `out`, with stm and glm for scoring.

    Parameters
    ----------
    speech : str or Path
        LDC2002S09: it, hub5e_00 in it, or english in that.
    transcripts : str or Path
        LDC2002T43, with or without 2000_hub5_eng_eval_tr.
    out : str or Path
    allow_partial : bool
        Go on when recordings are missing; their segments are left out.

    Raises
    ------
    PymavgError
        When files are missing, or the segments of .pem and .stm differ.
    """
    speech, reference = find_layout(speech, transcripts)
    if not (reference / GLM).exists():
        raise PymavgError(f"{reference}: no {GLM}, the rules of scoring; it is part of LDC2002T43")
    audio = find_sphere(speech)
    segments = _read_pem(speech / PEM)
    text = _read_stm(reference / STM)
    files = {recording[:-2] for recording, *_ in segments.values()}
    _check(speech, files, audio, segments, text, allow_partial)
    utterances = [
        (name, recording, recording, start, end, text[name])
        for name, (recording, start, end) in segments.items()
        if recording[:-2] in audio and text[name] is not None
    ]
    write_data_dir(out, utterances, audio)
    with atomic_open(Path(out) / "stm") as stream:
        stream.writelines(mend_stm_line(line) + "\n" for line in read_lines(reference / STM) if _there(line, audio))
    with atomic_open(Path(out) / "glm", "wb") as stream:
        stream.write((reference / GLM).read_bytes())


def _there(line, audio):
    return line.startswith(";;") or line.split(None, 1)[0] in audio


def _check(speech, files, audio, segments, text, allow_partial):
    missing = sorted(files - audio.keys())
    found = len(files) - len(missing)
    log(f"{speech}: {found} of {len(files)} recordings, {2 * len(files)} sides in {PEM}")
    if missing and not (found and allow_partial):
        remedy = "a disk is missing? (--allow-partial true to go on)" if found else "is it the corpus's folder?"
        raise PymavgError(f"found {found} of {len(files)} .sph under {speech} (no {missing[0]}.sph): {remedy}")
    differing = sorted(segments.keys() ^ text.keys())
    if differing:
        raise PymavgError(
            f"{speech}/{PEM} and {STM} do not have the same segments ({len(differing)} differ, the first is "
            f"{differing[0]}); are they of the same evaluation?"
        )


def _name(file, side, start, end):
    """Return the name of a segment; like Kaldi's awk, cut to hundredths of a second, not rounded."""
    return f"{file}-{side}_{int(float(start) * 100):06d}-{int(float(end) * 100):06d}"


def _read_pem(path):
    """Return {segment: (recording, start, end)}, the times extended by up to EXTEND."""
    rows = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        try:
            file, side, _, start, end = fields
            rows.setdefault(f"{file}-{side}", {})[float(start), float(end)] = _name(file, side, start, end)
        except ValueError:
            raise PymavgError(f"{path}:{number}: '{line}' is not: file, side, speaker, start, end") from None
    segments = {}
    for recording, times in rows.items():
        ordered = sorted(times)
        gaps = [EXTEND, *(max(0.0, min(EXTEND, (b[0] - a[1]) / 2)) for a, b in pairwise(ordered)), EXTEND]
        for (start, end), before, after in zip(ordered, gaps[:-1], gaps[1:], strict=True):
            segments[times[start, end]] = (recording, max(0.0, start - before), end + after)
    return segments


def _read_stm(path):
    """Return {segment: words}, None for a segment that is not scored."""
    text = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            name = _name(*fields[:2], *fields[3:5])
        except (TypeError, ValueError):
            raise PymavgError(
                f"{path}:{number}: '{line}' is not: file, side, speaker, start, end, label, words"
            ) from None
        text[name] = None if IGNORED in fields else reference_words(fields[6:])
    return text
