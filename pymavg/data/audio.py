"""Recordings of wav.scp and the utterances cut from them.

A line of wav.scp is `recording file`, `recording file:offset` (a WAV file inside an archive) or `recording command |`.
A change of speed at the end of a command (see pymavg.data.speed) is done here, without sox.
Samples are float32 in the range of 16-bit integers, as in Kaldi.
"""

from collections.abc import Mapping
from math import gcd
from pathlib import Path

import numpy as np

from pymavg.data.commands import stand_in
from pymavg.data.containers import decode
from pymavg.data.segments import Cutter, read_segments
from pymavg.data.speed import split_speed
from pymavg.errors import PymavgError
from pymavg.kaldi.inputs import open_stream, read_scp
from pymavg.kaldi.rspecifier import parse_place
from pymavg.options import log


class WavScp(Mapping):
    """Recordings by id, each decoded when asked for; the last file is kept, as its segments come one after another.

    Parameters
    ----------
    path : str or Path
        A wav.scp file.
    channel : int, optional
        Channel taken of files with several, from 0; a channel named in a line's command goes before.
    root : str, optional
        Directory that relative paths start from; without it, as in Kaldi, the current one.
    """

    def __init__(self, path, channel=None, root=None):
        self.path = str(path)
        self._channel = channel
        self._root = root
        self._entries = read_scp(path)
        self._parsed = {}  # recording: (place, what stands for its command, speed)
        self._last = None, None  # (what was decoded, the result)
        self._sped = None, None  # (what was played at another speed, the result)

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return iter(self._entries)

    def __contains__(self, recording):
        return recording in self._entries

    def __getitem__(self, recording):
        """Return (samples float32 (n,), rate) of a recording."""
        return self.read(recording)

    def text(self, recording):
        """Return what wav.scp has for a recording: the file or command."""
        return self._entries[recording][1]

    def read(self, recording, channel=None):
        """Return (samples float32 (n,), rate) of a recording, of its `channel` where it has several."""
        if recording not in self._entries:
            raise PymavgError(f"{self.path}: has no recording '{recording}'")
        line = self._entries[recording][0]
        try:
            place, named, speed = self._parse(recording)
            samples, rate = self._decode(place, named)
            chosen = [c for c in (channel, named and named[1], self._channel) if c is not None]
            samples = self._one_channel(samples, chosen[0] if chosen else None)
            return (samples if speed is None else self._played(samples, speed, (recording, *chosen))), rate
        except PymavgError as error:
            raise PymavgError(f"{self.path}:{line}: {recording}: {error}") from error

    def _parse(self, recording):
        if recording not in self._parsed:
            entry, speed = split_speed(self.text(recording))
            place = parse_place(entry, self._root, "entry")
            named = stand_in(place.command) if place.command else None
            if named and not any(named for _, named, _ in self._parsed.values()):
                log(f"{self.path}: {place.command.split()[0]} is not installed; its files are read without it")
            self._parsed[recording] = place, named, speed
        return self._parsed[recording]

    def _decode(self, place, named):
        file = str(Path(self._root or "", named[0])) if named else place.file
        command = "" if named else place.command
        what = file, place.offset, command
        if self._last[0] != what:
            data = _run(command) if command else _read_bytes(file, place.offset)
            self._last = what, decode(data, f"'{command} |'" if command else file)
        return self._last[1]

    def _played(self, samples, speed, what):
        if self._sped[0] != what:
            self._sped = what, resample(samples, speed.numerator, speed.denominator)
        return self._sped[1]

    def _one_channel(self, samples, channel):
        count = samples.shape[1]
        if count == 1:
            return samples[:, 0]
        if channel is None:
            raise PymavgError(f"has {count} channels; choose one: 'sph2pipe -f wav -p -c 1 FILE |' or --channel 0")
        if channel >= count:
            raise PymavgError(f"has {count} channels, channel {channel} (from 0) is asked for")
        return samples[:, channel]


def _run(command):
    with open_stream(f"{command} |") as source:
        return source.rest()


def _read_bytes(path, offset):
    try:
        with open(path, "rb") as stream:
            stream.seek(offset)
            start = stream.read(8)
            alone = offset == 0 or not start.startswith(b"RIFF")  # else one WAV file of many in an archive
            return start + stream.read(-1 if alone else int.from_bytes(start[4:], "little"))
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file") from None
    except OSError as error:
        raise PymavgError(f"{path}: cannot be read: {error.strerror or error}") from error


class Utterances:
    """The utterances of a data directory: the recordings of wav.scp, or the parts of them that `segments` names.

    Parameters
    ----------
    data : str or Path
        Data directory with wav.scp and, where utterances are parts of recordings, segments.
    channel, root
        See WavScp.
    """

    def __init__(self, data, channel=None, root=None):
        self.wavs = WavScp(Path(data, "wav.scp"), channel, root)
        self._cutter = Cutter()
        segments = Path(data, "segments")
        self._segments = {s.utterance: s for s in read_segments(segments)} if segments.exists() else None
        self.ids = list(self._segments if self._segments is not None else self.wavs)

    def read(self, utterance):
        """Return (samples float32 (n,), rate) of an utterance."""
        if self._segments is None:
            return self.wavs.read(utterance)
        segment = self._segments[utterance]
        samples, rate = self.wavs.read(segment.recording, segment.channel)
        return self._cutter.cut(segment, samples, rate), rate

    def source(self, utterance):
        """Return 'recording (file)' of an utterance, for messages."""
        recording = utterance if self._segments is None else self._segments[utterance].recording
        return f"{recording} ({self.wavs.text(recording)})"

    def report(self):
        """Print what was done to segments at the end of their recordings, if anything."""
        self._cutter.report()


def resample(samples, rate, target):
    """Return `samples` (n,) at `rate` per second as float32 (ceil(n target / rate),) at `target` per second."""
    from scipy.signal import resample_poly  # seldom wanted, and seconds to import

    factor = gcd(rate, target)
    return resample_poly(samples, target // factor, rate // factor).astype(np.float32)
