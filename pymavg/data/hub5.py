"""The data directories of the evaluations of conversational telephone speech: Hub5'00, Hub5'01, RT-03.

    eval2000   LDC2002S09 (speech), LDC2002T43 (transcripts, scoring rules); as Kaldi's s5c, eval2000_data_prep.sh
    eval2001   LDC2002S13 (parts Switchboard, Switchboard-2 phase 3, Switchboard Cellular); segments and text as above
    rt03       LDC2007S10, its part eval03/english/cts; it has no .pem, its segments are those of the stm

Each gets stm and glm for scoring. LDC2002S13 comes without a glm in some releases: that of Hub5'00 serves then.
"""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pymavg.data.ldc import find_sphere, walk, write_data_dir
from pymavg.data.swbd_text import mend_stm_line, reference_words
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.options import log

STM, GLM, PEM = "hub5e00.english.000405.stm", "en20000405_hub5.glm", "hub5e_00.pem"  # of Hub5'00
IGNORED = "ignore_time_segment_in_scoring"  # in any case
GAP = "inter_segment_gap"  # speaker of RT-03's stretches without speech
EXTEND = 0.1  # s added at both ends of a segment, at most half of the gap to the next one
SIDES = {"1": "A", "2": "B"}


class Evaluation(NamedTuple):
    """What an evaluation's files are called, and how its times are written.

    Attributes
    ----------
    speech, transcripts : str
        What the two folders given are, for messages.
    pem, stm, glm : str
        Patterns of the last parts of the paths; no pem: the segments are those of the stm.
    audio : str
        The last parts of the path of the folder with the .sph files; empty: where the pem is, or anywhere.
    rounded : bool
        Times are rounded to hundredths of a second before they are compared and become names; else cut.
    extend : float
        Seconds added at both ends of a segment.
    """

    speech: str
    transcripts: str
    pem: str
    stm: str
    glm: str
    audio: str = ""
    rounded: bool = True
    extend: float = 0.0


EVALUATIONS = {
    "eval2000": Evaluation(
        "LDC2002S09 (speech)", "LDC2002T43 (transcripts)", PEM, STM, GLM, rounded=False, extend=EXTEND
    ),
    "eval2001": Evaluation(
        "LDC2002S13 (speech)", "LDC2002S13 (transcripts)", "hub5e_01.pem", "hub5e01.english*.stm", "en*hub5.glm"
    ),
    "rt03": Evaluation(
        "LDC2007S10 (speech)",
        "LDC2007S10 (transcripts)",
        "",
        "references/eval03/english/cts/*.stm",
        "en20030506.glm",
        audio="audio/eval03/english/cts",
    ),
}


def find_layout(speech, transcripts, which="eval2000"):
    """Return (folder of the speech, pem or None, list of stm), wherever the disks begin.

    Raises
    ------
    PymavgError
        When one of them is not there.
    """
    rules = EVALUATIONS[which]
    pem = _find(speech, rules.pem, rules.speech)[0] if rules.pem else None
    audio = pem.parent if pem and find_sphere(pem.parent) else Path(speech)
    audio = _find(speech, rules.audio, rules.speech)[0] if rules.audio else audio
    stms = _find(transcripts, rules.stm, rules.transcripts)
    return audio, pem, stms if rules.audio else stms[:1]


def _find(root, pattern, corpus):
    """Return the paths below `root` whose last parts match `pattern`."""
    found = [path for path in walk(root) if path.match(pattern)]
    if not found:
        raise PymavgError(f"{root}: no {pattern} in it or below; expected the folder of {corpus}")
    return found


def prepare(speech, transcripts, out, allow_partial=False, which="eval2000", glm=None):
    """Write the data directory `out` of an evaluation, with stm and glm for scoring.

    Parameters
    ----------
    speech, transcripts : str or Path
        Folders of the release, the same one where it is one.
    out : str or Path
    allow_partial : bool
        Go on when recordings are missing; their segments are left out.
    which : {"eval2000", "eval2001", "rt03"}
    glm : str or Path, optional
        Rules of scoring, where the release has none.

    Raises
    ------
    PymavgError
        When files are missing, or the segments of .pem and .stm differ.
    """
    rules = EVALUATIONS[which]
    folder, pem, stms = find_layout(speech, transcripts, which)
    rules_path = _find_glm(glm, transcripts, rules)
    lines = [(f"{path}:{k}", line) for path in stms for k, line in enumerate(read_lines(path), 1)]
    lines = [(place, _with_side(line)) for place, line in lines if GAP not in line.lower()]
    rows = _read_stm(lines, rules)
    text = {name: words for name, _, words in rows}
    segments = {name: times for name, times, _ in rows} if pem is None else _read_pem(pem, rules)
    audio = find_sphere(folder)
    _check(folder, {recording[:-2] for recording, *_ in segments.values()}, audio, allow_partial)
    _check_same(pem, stms, segments, text)
    utterances = [
        (name, recording, recording, start, end, text[name])
        for name, (recording, start, end) in segments.items()
        if recording[:-2] in audio and text[name] is not None
    ]
    write_data_dir(out, utterances, audio)
    with atomic_open(Path(out) / "stm") as stream:
        stream.writelines(mend_stm_line(line) + "\n" for _, line in lines if _there(line, audio))
    with atomic_open(Path(out) / "glm", "wb") as stream:
        stream.write(rules_path.read_bytes())


def _find_glm(given, transcripts, rules):
    """Return the Path of the rules of scoring: the release's own, else those given."""
    try:
        return _find(transcripts, rules.glm, rules.transcripts)[0]
    except PymavgError as error:
        if not given:
            raise PymavgError(f"{error}; or name the rules of scoring with --glm FILE ({GLM} of LDC2002T43)") from None
    if not Path(given).is_file():
        raise PymavgError(f"--glm {given}: no such file; LDC2002T43 has one: reference/{GLM}")
    log(f"{transcripts}: no rules of scoring in it; those of {given} are used")
    return Path(given)


def _with_side(line):
    """Return a line of an stm with A or B for a channel written as 1 or 2."""
    fields = line.split(None, 2)
    if line.startswith(";;") or len(fields) < 3 or fields[1] not in SIDES:
        return line
    return f"{fields[0]} {SIDES[fields[1]]} {fields[2]}"


def _there(line, audio):
    return line.startswith(";;") or (bool(line.strip()) and line.split(None, 1)[0] in audio)


def _check(folder, files, audio, allow_partial):
    missing = sorted(files - audio.keys())
    found = len(files) - len(missing)
    log(f"{folder}: {found} of {len(files)} recordings, {2 * len(files)} sides in the segments")
    if missing and not (found and allow_partial):
        remedy = "a disk is missing? (--allow-partial true to go on)" if found else "is it the corpus's folder?"
        raise PymavgError(f"found {found} of {len(files)} .sph under {folder} (no {missing[0]}.sph): {remedy}")


def _check_same(pem, stms, segments, text):
    differing = sorted(segments.keys() ^ text.keys())
    if differing:
        raise PymavgError(
            f"{pem} and {stms[0].name} do not have the same segments ({len(differing)} differ, the first is "
            f"{differing[0]}); are they of the same evaluation?"
        )


def _name(file, side, start, end, rounded):
    """Return the name of a segment, its times in hundredths of a second, cut as Kaldi's awk does or rounded."""
    first, last = (int(round(100 * float(t)) if rounded else float(t) * 100) for t in (start, end))
    return f"{file}-{side}_{first:06d}-{last:06d}"


def _read_pem(path, rules):
    """Return {segment: (recording, start, end)}, the times extended by up to `rules.extend`."""
    rows = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if not fields or line.startswith(";;"):
            continue
        try:
            file, side, _, start, end = fields
            name = _name(file, side, start, end, rules.rounded)
            rows.setdefault(f"{file}-{side}", {})[float(start), float(end)] = name
        except (OverflowError, ValueError):
            raise PymavgError(f"{path}:{number}: '{line}' is not: file, side, speaker, start, end") from None
    segments = {}
    for recording, times in rows.items():
        ordered, most = sorted(times), rules.extend
        gaps = [most, *(max(0.0, min(most, (b[0] - a[1]) / 2)) for a, b in pairwise(ordered)), most]
        for (start, end), before, after in zip(ordered, gaps[:-1], gaps[1:], strict=True):
            segments[times[start, end]] = (recording, max(0.0, start - before), end + after)
    return segments


def _read_stm(lines, rules):
    """Return [(segment, (recording, start, end), words)] of (place, line); words are None where it is not scored."""
    rows = []
    for place, line in lines:
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            file, side, _, start, end = fields[:5]
            name, times = _name(file, side, start, end, rules.rounded), (f"{file}-{side}", float(start), float(end))
        except (OverflowError, ValueError):
            raise PymavgError(f"{place}: '{line}' is not: file, side, speaker, start, end, label, words") from None
        scored = all(word.lower() != IGNORED for word in fields)
        rows.append((name, times, reference_words(fields[6:]) if scored else None))
    return rows
