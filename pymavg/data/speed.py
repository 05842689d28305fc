"""Speed perturbation: copies of recordings played faster or slower, as more training data.

Playing at another speed changes tempo and pitch together: a recording at speed f lasts 1/f of its time. Source: Ko et
al., "Audio augmentation for speech recognition", Interspeech 2015; Kaldi's utils/data/perturb_data_dir_speed.sh.
"""

import re
from fractions import Fraction

from pymavg.data.combine import combine, renamed_tables
from pymavg.data.datadir import BY_RECORDING, DataDir, write_tables
from pymavg.errors import PymavgError
from pymavg.options import log

DURATIONS = ("utt2dur", "reco2dur")
OF_FEATURES = ("feats.scp", "cmvn.scp", "vad.scp", "utt2num_frames")  # to be made anew at another speed
SLOWEST, FASTEST = Fraction(1, 4), Fraction(4)
_SOX = re.compile(r"^(?P<before>.*\S)\s*\|\s*sox -t wav - -t wav - speed (?P<speed>[0-9.]+)\s*\|$")


def split_speed(text):
    """Return (entry of wav.scp without its change of speed, the speed or None).

    Understood is what Kaldi's script appends to an entry, `ENTRY | sox -t wav - -t wav - speed F |`, where ENTRY is a
    command, or `cat FILE` for a plain file. It is done here and not by sox: the same samples on every machine.
    """
    found = _SOX.match(text.strip())
    if found is None:
        return text, None
    before = found["before"]
    return before[4:].strip() if before.startswith("cat ") else f"{before} |", parse_speed(found["speed"])


def parse_speed(text):
    """Return the Fraction that a speed such as '0.9' is.

    Raises
    ------
    PymavgError
        For what is not a number between 1/4 and 4.
    """
    try:
        speed = Fraction(text)
    except (ValueError, ZeroDivisionError):
        speed = Fraction(0)
    if not SLOWEST <= speed <= FASTEST:
        raise PymavgError(f"speed '{text}': a number from {float(SLOWEST)} to {float(FASTEST)} expected, such as 0.9")
    return speed


def perturb(source, target, speed):
    """Write the data directory `target`, which is `source` at another speed (text such as '0.9').

    Utterances, speakers and recordings get the prefix sp<speed>-, as in Kaldi. Features and their statistics are left
    out: they are to be computed again.

    Raises
    ------
    PymavgError
        For a speed out of range, or a directory without wav.scp.
    """
    factor, prefix = parse_speed(speed), f"sp{speed}-"
    data = DataDir(source)
    if not data.has("wav.scp"):
        raise PymavgError(f"{source}: has no wav.scp; speed is changed in the audio, not in features")
    tables = renamed_tables(data, utt_prefix=prefix, spk_prefix=prefix)
    for name in BY_RECORDING:
        if name in tables:
            tables[name] = {prefix + recording: rest for recording, rest in tables[name].items()}
    tables["wav.scp"] = {recording: _entry(text, speed) for recording, text in tables["wav.scp"].items()}
    tables["segments"] = {utt: _segment(rest, prefix, factor) for utt, rest in tables["segments"].items()}
    for name in DURATIONS:
        if name in tables:
            tables[name] = {key: _played(rest, factor) for key, rest in tables[name].items()}
    write_tables(target, {name: table for name, table in tables.items() if name not in OF_FEATURES})
    log(f"{target}: {source} at speed {speed}")


def perturb_three_ways(source, target, always_prefix=False):
    """Write `target`: `source` and its copies at speeds 0.9 and 1.1, three times as much data.

    The copies are made in TARGET.sp0.9 and TARGET.sp1.1; with `always_prefix`, what is unchanged gets the prefix
    sp1.0-, too, as with Kaldi's --always-include-prefix.
    """
    speeds = ("0.9", "1.0", "1.1") if always_prefix else ("0.9", "1.1")
    copies = [f"{target}.sp{speed}" for speed in speeds]
    for speed, place in zip(speeds, copies, strict=True):
        perturb(source, place, speed)
    combine(target, copies if always_prefix else [source, *copies])


def _entry(text, speed):
    text = text.strip()
    command = text[:-1].strip() if text.endswith("|") else f"cat {text}"
    return f"{command} | sox -t wav - -t wav - speed {speed} |"


def _segment(rest, prefix, factor):
    recording, start, end, *channel = rest.split()
    end = end if float(end) == -1 else _played(end, factor)
    return " ".join([prefix + recording, _played(start, factor), end, *channel])


def _played(seconds, factor):
    return f"{float(seconds) / float(factor):.4f}"
