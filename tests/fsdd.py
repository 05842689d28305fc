"""A copy of the Free Spoken Digit Dataset as it is distributed, recordings/{digit}_{speaker}_{take}.wav."""

import soundfile

from pymavg.files import read_lines


def make(source, directory, speakers=None, takes=range(50)):
    """Write recordings of some speakers (default: all) and takes of `source` (flac, segments)."""
    recordings = directory / "recordings"
    recordings.mkdir(parents=True)
    for flac in sorted((source / "flac").glob("*.flac")):
        speaker, digit = flac.stem.split("-")
        if speakers is None or speaker in speakers:
            for utt, samples, rate in _cut(flac, source / "segments"):
                take = int(utt.split("-")[2])
                if take in takes:
                    soundfile.write(recordings / f"{digit}_{speaker}_{take}.wav", samples, rate, subtype="PCM_16")
    return directory


def _cut(flac, segments):
    """Yield (utterance, int16 samples, rate) of one recording."""
    samples, rate = soundfile.read(flac, dtype="int16")
    for line in read_lines(segments):
        utt, recording, start, end = line.split()
        if recording == flac.stem:
            yield utt, samples[round(float(start) * rate) : round(float(end) * rate)], rate
