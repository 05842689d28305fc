"""From a dialogue to a telephone call: which turns are used, where each lies in time, and the two sides' sound."""

from dataclasses import dataclass

import numpy as np

from . import spelling, telephone
from .clips import RATE

LETTERS_PER_SECOND = (2.0, 22.0)  # outside, subtitle and recording do not belong together
LONGEST = 14.0  # s of a turn; the next clip begins a new one
GAP = (0.05, 0.25)  # s between two clips of one turn
ANSWER = (0.05, 0.7)  # s before the other side speaks
OVERLAP = (0.15, 0.15)  # probability that a turn begins early, and by how many seconds


@dataclass(frozen=True)
class Utterance:
    """A stretch of one side of a call: start and end in s, and its words and events."""

    side: int
    start: float
    end: float
    words: tuple


@dataclass(frozen=True)
class Call:
    """A call's two sides, float (T,) each at 8 kHz, and the utterances in the order of their starts."""

    sides: tuple
    utterances: tuple
    dropped: int  # clips left out because text and recording do not fit

    @property
    def speech(self):
        """Seconds inside utterances."""
        return sum(u.end - u.start for u in self.utterances)


def place(dialogue, seed, known=frozenset()):
    """Make the Call of a Dialogue.

    Parameters
    ----------
    dialogue : Dialogue
        Of two roles; the first is side A.
    seed : sequence of int
        Of the pauses and of the lines' noise; the same seed gives the same call.
    known : set of tuple of str
        Texts that are left out.
    """
    rng = np.random.default_rng(seed)
    now, dropped, said, free = 0.3, 0, [], [0.0, 0.0]
    for turn in dialogue.turns:
        spoken, bad = _spoken(turn, rng, known)
        dropped += bad
        side = dialogue.roles.index(turn.role)
        for samples, words in spoken:
            start = max(now + rng.uniform(*ANSWER), free[side] + ANSWER[0])
            now = free[side] = start + len(samples) / telephone.RATE
            said.append((side, start, samples, words))
            now -= OVERLAP[1] * (rng.random() < OVERLAP[0])
    sides = np.zeros((2, int((now + 1.0) * telephone.RATE)))
    utterances = []
    for side, start, samples, words in said:
        first = int(start * telephone.RATE)
        sides[side, first : first + len(samples)] += samples
        utterances.append(Utterance(side, start, start + len(samples) / telephone.RATE, tuple(words)))
    return Call(tuple(telephone.line(side, rng) for side in sides), tuple(utterances), dropped)


def _spoken(turn, rng, known):
    """Return [(samples, words)] of a turn: its clips joined up to LONGEST, and the number of clips left out."""
    parts, dropped = [], 0
    for clip in turn.clips:
        words = spelling.words(clip.text)
        samples = telephone.trim(telephone.resample(clip.samples(), RATE))
        seconds = len(samples) / telephone.RATE
        if not words or tuple(words) in known:
            continue
        if not fits(words, seconds):
            dropped += 1
            continue
        pause = np.zeros(int(rng.uniform(*GAP) * telephone.RATE))
        if parts and len(parts[-1][0]) / telephone.RATE + seconds < LONGEST:
            parts[-1] = (np.concatenate([parts[-1][0], pause, samples]), parts[-1][1] + words)
        else:
            parts.append((samples, words))
    return parts, dropped


def fits(words, seconds):
    """Tell whether that many seconds can hold these words, by the number of letters in a second."""
    letters = sum(len(word) for word in words if not word.startswith("["))
    if letters == 0:
        return seconds > 0.1
    slowest, fastest = LETTERS_PER_SECOND
    return slowest * (seconds - 0.7) <= letters <= fastest * seconds
