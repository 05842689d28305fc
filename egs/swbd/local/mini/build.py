"""Makes all conversations of the corpus and counts what is in it."""

import multiprocessing
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import calls, ldc, selection
from .clips import Dialogue
from .pronounce import Pronouncer

FIRST_NUMBER = {"train": 2001, "sw": 4390, "en": 4156}  # as in Switchboard and Hub5'00
GLM = Path(__file__).parent / "hub5.glm"


@dataclass(frozen=True)
class Job:
    """One conversation to be made."""

    part: str
    position: int
    dialogue: Dialogue
    known: frozenset  # texts to leave out
    seed: int
    root: Path

    @property
    def number(self):
        """The number in the name of the conversation."""
        return FIRST_NUMBER[self.part] + self.position


@dataclass(frozen=True)
class Made:
    """What the main process needs to know of a finished conversation."""

    utterances: tuple
    dropped: int
    pem: tuple = ()
    stm: tuple = ()


def corpus(root, parts, known, seed, processes):
    """Write the corpus of the Dialogues `parts` (see selection.split) under `root`; return a summary in lines."""
    jobs = [
        Job(part, i, dialogue, frozenset(known) if part == "train" else frozenset(), seed, root)
        for part, dialogues in parts.items()
        for i, dialogue in enumerate(dialogues)
    ]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        made = pool.map(_make, jobs, chunksize=1)
    done = list(zip(jobs, made, strict=True))
    ids = {role: 1001 + i for i, role in enumerate(sorted({r for job in jobs for r in job.dialogue.roles}))}
    ldc.write_tables(root / "LDC97S62", [(j.number, j.dialogue.roles) for j in jobs if j.part == "train"], ids)
    pem, stm = ([line for result in made for line in lines(result)] for lines in (lambda m: m.pem, lambda m: m.stm))
    ldc.write_hub5_reference(root / "LDC2002S09", root / "LDC2002T43", pem, stm, GLM)
    words = {part: _words(done, part) for part in parts}
    pronouncer = Pronouncer()
    ldc.write_dictionary(root / "LDC97S62", set(words["train"]), pronouncer)
    return [
        *(_line(part, done, words) for part in parts),
        f"dictionary: {len(words['train'])} words, {len(pronouncer.ruled)} of them pronounced by rule, not by CMUdict",
        f"left out: {sum(m.dropped for m in made)} clips whose text and length do not fit",
    ]


def _make(job):
    seed = (job.seed, job.number)
    call = calls.place(job.dialogue, seed, job.known)
    if job.part == "train":
        ldc.write_swbd(job.root / "LDC97S62", job.number, job.position, call, seed)
        return Made(call.utterances, call.dropped)
    name = f"{job.part}_{job.number}"
    pem, stm = ldc.write_hub5_call(job.root / "LDC2002S09", name, call, job.dialogue.roles, selection.WOMEN)
    return Made(call.utterances, call.dropped, tuple(pem), tuple(stm))


def _words(done, part):
    utterances = [u for job, m in done if job.part == part for u in m.utterances]
    return Counter(word for u in utterances for word in u.words if not word.startswith("["))


def _line(part, done, words):
    """Return a part's row of the summary."""
    own = [(job, m) for job, m in done if job.part == part]
    utterances = [u for _, m in own for u in m.utterances]
    hours = sum(u.end - u.start for u in utterances) / 3600
    roles = {job.dialogue.roles[u.side] for job, m in own for u in m.utterances}
    total = sum(words[part].values())
    row = (
        f"{part}: {len(own)} conversations, {hours:.2f} h of speech, {len(utterances)} utterances, "
        f"{len(roles)} speakers, {total} words, {len(words[part])} different"
    )
    if part == "train":
        return row
    unknown = sum(count for word, count in words[part].items() if word not in words["train"])
    return f"{row}, {100 * unknown / total:.1f} % not in training"
