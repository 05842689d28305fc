"""Hypotheses of a decode directory at every point of a sweep over LM weight and word insertion penalty."""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.word_times import WordTimer
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.graph.lang import Lang
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import warn


@dataclass(frozen=True)
class Point:
    """A place in the sweep: `str(point)` is Kaldi's name of it, 12_0.5."""

    lmwt: int
    penalty: float

    def __str__(self):
        return f"{self.lmwt}_{self.penalty:.1f}"


def lattice_files(decode):
    """Return the lattice archives lat.1.gz … of a decode directory; PymavgError where one is missing."""
    decode = Path(decode)
    found = {int(p.name.split(".")[1]): p for p in decode.glob("lat.*.gz") if p.name.split(".")[1].isdecimal()}
    counted = decode / "num_jobs"
    wanted = int(read_lines(counted)[0]) if counted.exists() else max(found, default=1)
    missing = [f"lat.{job}.gz" for job in range(1, wanted + 1) if job not in found]
    if missing:
        raise PymavgError(f"{decode}: {', '.join(missing[:3])} not there, {wanted} archives expected; decode again")
    return [found[job] for job in range(1, wanted + 1)]


def hypotheses_of(archive, model, lang, points, with_times):
    """Return {utterance: (different hypotheses, which one at each point)} of one lattice archive.

    A hypothesis is a list of (start frame, end frame, word id); without times both frames are 0.
    """
    timer = WordTimer(read_transition_model(model), Lang(lang)) if with_times else None
    scales, penalties = [1 / p.lmwt for p in points], [p.penalty for p in points]
    found = {}
    for utterance, lattice in read_lattices(archive):
        different, which, made = {}, [], []
        for arcs in paths.best_paths(lattice, scales, penalties):
            key = arcs.tobytes()
            if key not in different:
                different[key] = len(made)
                path = paths.path_of(lattice, arcs)
                made.append(
                    timer.times(path.tids, path.words, f"{archive}: utterance {utterance}")
                    if timer
                    else [(0, 0, int(word)) for word in path.words]
                )
            which.append(different[key])
        found[utterance] = made, which
    return found


def all_hypotheses(decode, model, lang, points, with_times):
    """Return hypotheses_of of all the archives of a decode directory, read in parallel."""
    archives = lattice_files(decode)
    work = partial(hypotheses_of, model=model, lang=lang, points=points, with_times=with_times)
    workers = min(len(archives), len(os.sched_getaffinity(0)))
    if workers == 1:
        parts = map(work, archives)
        return {utterance: found for part in parts for utterance, found in part.items()}
    with ProcessPoolExecutor(workers) as pool:
        return {utterance: found for part in pool.map(work, archives) for utterance, found in part.items()}


def checked(found, data, decode, allow_missing):
    """Check the utterances of the lattices against those of the data directory.

    Raises
    ------
    PymavgError
        For lattices of utterances that the data directory does not know, and, unless `allow_missing`, for speakers
        without any lattice; single missing utterances are warned of and count as deletions.
    """
    unknown = sorted(set(found) - set(data.utts))
    if unknown:
        raise PymavgError(
            f"{decode}: {len(unknown)} of {len(found)} utterances are not in {data.path}; "
            f"first of each: {unknown[0]} / {data.utts[0]}"
        )
    missing = [u for u in data.utts if u not in found]
    silent = [s for s, utts in data.spk2utt.items() if not any(u in found for u in utts)]
    if silent and not allow_missing:
        raise PymavgError(
            f"{decode}: {len(silent)} of {len(data.spk2utt)} speakers have no lattice at all, first: {silent[0]}; "
            "see the decoding logs, or --allow-missing true to count all their words as deletions"
        )
    if missing:
        warn(f"{decode}: {len(missing)} of {len(data.utts)} utterances have no lattice, first: {missing[0]}: deletions")
