"""The file `segments`: which part of which recording an utterance is.

A line is `utterance recording start end [channel]`, times in seconds; an end of -1 means the end of the recording.
Source: Kaldi's featbin/extract-segments.cc.
"""

from dataclasses import dataclass

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.options import warn

MAX_OVERSHOOT = 0.5  # seconds that a segment may reach beyond its recording's end; it is cut there


@dataclass(frozen=True)
class Segment:
    """One line of segments: times in seconds, `end` None for the end of the recording, `place` file:line."""

    utterance: str
    recording: str
    start: float
    end: float | None
    channel: int | None
    place: str


def read_segments(path):
    """Return the list of Segment of a segments file, in its order.

    Raises
    ------
    PymavgError
        For a line of another form, a start below 0, an end that is not after the start, or an utterance twice.
    """
    segments = [parse_segment(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]
    first = {}
    for segment in segments:
        before = first.setdefault(segment.utterance, segment)
        if before is not segment:
            raise PymavgError(f"{segment.place}: utterance {segment.utterance} was at {before.place} already")
    return segments


def parse_segment(line, place):
    """Return the Segment of one line; `place` (file:line) goes into messages. Raises as read_segments does."""
    words = line.split()
    try:
        utterance, recording, start, end = *words[:2], float(words[2]), float(words[3])
        channel = int(words[4]) if len(words) == 5 else None
        if len(words) > 5 or start != start or end != end:
            raise ValueError
    except (ValueError, IndexError):
        raise PymavgError(f"{place}: '<utterance> <recording> <start> <end>' expected, found '{line}'") from None
    end = None if end == -1 else end
    if start < 0 or (end is not None and end <= start):
        raise PymavgError(f"{place}: '{line}': a start of at least 0 and an end after the start expected")
    return Segment(utterance, recording, start, end, channel, place)


class Cutter:
    """Cuts segments from recordings; what reaches a little beyond the end is cut there and counted.

    Attributes
    ----------
    num_trimmed : int
        Number of segments cut at the end of their recording so far.
    """

    def __init__(self):
        self.num_trimmed = 0

    def cut(self, segment, samples, rate):
        """Return the segment's part of `samples` (n, ...), at `rate` per second.

        Raises
        ------
        PymavgError
            When the segment starts at or after the recording's end, or ends more than 0.5 s after it.
        """
        length = len(samples) / rate
        end = length if segment.end is None else segment.end
        if segment.start >= length or end > length + MAX_OVERSHOOT:
            raise PymavgError(
                f"{segment.place}: {segment.utterance} is {segment.start} to {end} s, its recording "
                f"{segment.recording} lasts {length:.2f} s; correct the times or remove the line"
            )
        self.num_trimmed += end > length
        return samples[int(segment.start * rate) : min(int(end * rate), len(samples))]

    def report(self):
        """Print one line when segments were cut at the end of their recording."""
        if self.num_trimmed:
            warn(
                f"{self.num_trimmed} segments reached up to {MAX_OVERSHOOT} s beyond their recording and were cut there"
            )
