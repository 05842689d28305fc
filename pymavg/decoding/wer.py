"""Counting word errors: with NIST's sclite and the test set's own rules, or plainly where these are missing.

*sclite*: reference and hypothesis both pass csrfilt.sh with the test set's glm, then `sclite -F -D` (fragments count as
right if they fit, optional words cost nothing), as hubscr.pl has it. sclite folds the case of ASCII letters.

*plain*: alignment with sclite's costs on `text`; ASCII case is folded, words in [brackets] or <brackets> are taken out
on both sides, (optional) words of the reference cost nothing either way. Nothing else is changed.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import kaldialign

from pymavg.errors import PymavgError
from pymavg.files import atomic_open

SCTK = "/usr/lib/sctk/bin"  # Debian keeps the programs off the PATH
BYTES = "surrogateescape"  # what is no UTF-8 in sctk's files passes unchanged
NO_SCTK = "sclite is not installed: apt-get install sctk"
EPS = "\0"  # no word can be this


@dataclass
class Counts:
    """Word errors of some speech."""

    words: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def errors(self):
        """All errors."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def wer(self):
        """Errors in % of the reference's words; None where it has no words."""
        return 100 * self.errors / self.words if self.words else None

    def __str__(self):
        """Return the line of Kaldi's compute-wer."""
        wer = "n/a" if self.wer is None else f"{self.wer:.2f}"
        counts = f"{self.insertions} ins, {self.deletions} del, {self.substitutions} sub"
        return f"%WER {wer} [ {self.errors} / {self.words}, {counts} ]"


def scored_words(text):
    """Return the words of a line that the plain count looks at, in lower case."""
    return [w.lower() for w in text.split() if not re.fullmatch(r"\[.*\]|<.*>", w)]


def plain_counts(reference, hypothesis):
    """Count the errors of one utterance by the plain rules.

    Parameters
    ----------
    reference, hypothesis : str
        Words separated by blanks; the reference's optional words in parentheses.
    """
    spoken = scored_words(reference)
    optional = {f"{w[1:-1]}" for w in spoken if re.fullmatch(r"\(.+\)", w)}
    ref, counts = [w[1:-1] + EPS if re.fullmatch(r"\(.+\)", w) else w for w in spoken], Counts()
    hyp = scored_words(hypothesis)
    if optional:  # let optional words align with themselves
        hyp = [w + EPS if w in optional and w not in ref else w for w in hyp]
    for said, heard in kaldialign.align(ref, hyp, EPS, sclite_mode=True):
        free = said != EPS and said.endswith(EPS)
        counts.words += said != EPS and (not free or said == heard)
        counts.insertions += heard != EPS and (said == EPS or (free and said != heard))
        counts.deletions += heard == EPS and not free
        counts.substitutions += EPS not in (said, heard) and said != heard and not free
    return counts


def sctk_program(name):
    """Return the path of one of sctk's programs, or None."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":" + SCTK)


def have_sclite():
    """Tell whether sclite and csrfilt.sh can be run."""
    return bool(sctk_program("sclite") and sctk_program("csrfilt.sh"))


def _run(command, cwd, stdin=None):
    environment = {**os.environ, "PATH": f"{SCTK}:{os.environ.get('PATH', '')}", "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=cwd, input=stdin, env=environment, capture_output=True, encoding="utf-8", errors=BYTES, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise PymavgError(f"{Path(command[0]).name} failed with status {done.returncode} in {cwd}: {last}")
    return done.stdout


def _filtered(lines, kind, purpose, glm, folder):
    command = [sctk_program("csrfilt.sh") or "csrfilt.sh", "-i", kind, "-t", purpose, "-dh", str(Path(glm).resolve())]
    text = _run(command, folder, "".join(lines))
    if not text.strip():  # as csrfilt.sh has it, with status 0, when it cannot read the glm
        raise PymavgError(f"{glm}: csrfilt.sh gives nothing back with these rules; is it the glm of LDC2002T43?")
    return text


def filtered_stm(stm, glm, path):
    """Write the reference as sclite needs it: one speaker for each channel, text filtered by the glm."""
    if not have_sclite():
        raise PymavgError(NO_SCTK)
    if not Path(glm).is_file():
        raise PymavgError(f"{glm}: no such file; LDC2002T43 has it (reference/en20000405_hub5.glm)")
    rows = sorted(stm.rows, key=lambda r: (r[0], r[1], float(r[3])))
    lines = [f"{line}\n" for line in stm.comments]
    lines += [f"{f} {c} {f}_{c} {b} {e} {rest}\n" for f, c, _, b, e, rest in rows]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    text = _filtered(lines, "stm", "ref", glm, Path(path).parent)
    with atomic_open(path) as stream:
        stream.write(text)


def sclite_counts(rows, stm, stm_path, glm, folder, name, details=False):
    """Score a hypothesis with sclite; return {part: Counts}.

    Parameters
    ----------
    rows : list of tuple
        As from matched_ctm.
    stm : Stm
    stm_path : str or Path
        What filtered_stm wrote.
    glm : str or Path
    folder : str or Path
        Gets NAME.ctm, NAME.ctm.filt, and sclite's reports NAME.ctm.filt.sys and .raw.
    name : str
        Of the test set.
    details : bool
        Ask for the alignments (.pra) and the list of confusions (.dtl) as well.
    """
    folder = Path(folder)
    confident = any(row[5] != 1 for row in rows)  # without confidences no column: sclite would judge them
    lines = [f"{f} {c} {b:.2f} {d:.2f} {w}{f' {p:.2f}' if confident else ''}\n" for f, c, b, d, w, p in rows]
    with atomic_open(folder / f"{name}.ctm") as stream:
        stream.writelines(lines)
    # `@` is sclite's empty word: a channel without words must be there all the same
    empty = sorted(stm.channels - {(row[0], row[1]) for row in rows})
    lines = sorted(lines + [f"{f} {c} 0.00 0.01 @{' 1.00' if confident else ''}\n" for f, c in empty], key=_ctm_key)
    filtered = folder / f"{name}.ctm.filt"
    filtered.write_text(_filtered(lines, "ctm", "hyp", glm, folder), encoding="utf-8", errors=BYTES)
    command = [
        sctk_program("sclite"),
        "-F",
        "-D",
        "-r",
        str(Path(stm_path).resolve()),
        "stm",
        "-h",
        filtered.name,
        "ctm",
    ]
    _run([*command, "-o", "sum", "rsum", *(("pra", "dtl") if details else ())], folder)
    return _parse_raw(folder / f"{name}.ctm.filt.raw", stm)


def _ctm_key(line):
    file, channel, begin, *_ = line.split()
    return file, channel, float(begin)


def _parse_raw(path, stm):
    """Read sclite's table of counts: | speaker | #snt #wrd | corr sub del ins err s.err |."""
    part_of = {f"{f}_{c}".lower(): stm.parts[f] for f, c in stm.channels}
    found = {}
    for line in path.read_text(encoding="utf-8", errors=BYTES).split("\n"):
        fields = line.replace("|", " ").split()
        if len(fields) >= 9 and fields[0].lower() in part_of:
            words, _, sub, dele, ins = (int(float(x)) for x in fields[2:7])
            part = part_of.pop(fields[0].lower())
            found[part] = found.get(part, Counts()) + Counts(words, sub, dele, ins)
    if not found:
        raise PymavgError(f"{path}: no results in sclite's report; look at it")
    return found
