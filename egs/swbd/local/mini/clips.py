"""What both games have in common: a line of dialogue with its text and its recording."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

RATE = 11025  # Hz, of both games


@dataclass(frozen=True)
class Clip:
    """A recording inside a game file, and the subtitle that is shown with it."""

    text: str
    path: Path
    offset: int
    size: int
    coding: str  # "mp3", or "u8": raw unsigned bytes

    def samples(self):
        """Return the recording as float32 (T,) at 11025 Hz, full scale 1."""
        with open(self.path, "rb") as stream:
            stream.seek(self.offset)
            data = stream.read(self.size)
        if self.coding == "mp3":
            return soundfile.read(io.BytesIO(data), dtype="float32")[0]
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128


@dataclass(frozen=True)
class Turn:
    """What one role says before the other speaks again."""

    role: str
    clips: tuple


@dataclass(frozen=True)
class Dialogue:
    """A conversation of the hero (side 0) with one other role (side 1)."""

    name: str
    roles: tuple
    turns: tuple
