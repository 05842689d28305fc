"""From studio recordings to a telephone line: trimming, 8 kHz, 300-3400 Hz, noise, 8-bit mu-law, SPHERE files."""

from math import gcd

import numpy as np
from scipy.signal import butter, resample_poly, sosfilt

RATE = 8000  # Hz
SPEECH_LEVEL = 2500.0  # root mean square of speech, of a full scale of 32767
NOISE_DB = (20.0, 25.0)  # signal-to-noise ratio of a line lies between these
FRAME = 0.01  # s, in which loudness is measured
QUIET = 0.03  # of a recording's loudest frame: below is silence
KEEP_EDGE = 0.12  # s of silence kept at either end of a recording
KEEP_PAUSE = 0.5  # s of silence kept of a longer pause inside one
BAND = butter(4, [300, 3400], "bandpass", fs=RATE, output="sos")


def resample(samples, rate):
    """Return samples (T,) at 8 kHz."""
    common = gcd(RATE, rate)
    return resample_poly(samples, RATE // common, rate // common)


def trim(samples):
    """Shorten the silences of an 8 kHz recording: KEEP_EDGE at its ends, KEEP_PAUSE inside; empty if it is silent."""
    length = int(FRAME * RATE)
    frames = samples[: len(samples) // length * length].reshape(-1, length)
    if not len(frames):
        return samples[:0]
    loudness = np.sqrt((frames.astype(np.float64) ** 2).mean(axis=1))
    loud = np.flatnonzero(loudness > QUIET * max(loudness.max(), 1e-3))
    if not len(loud):
        return samples[:0]
    edge, half_pause = round(KEEP_EDGE / FRAME), round(KEEP_PAUSE / FRAME / 2)
    keep = np.zeros(len(frames), bool)
    for start, end in _runs(loud):
        keep[max(0, start - half_pause) : end + half_pause] = True
    keep[: max(0, loud[0] - edge)] = False
    keep[loud[-1] + 1 + edge :] = False
    return frames[keep].ravel()


def _runs(indices):
    cuts = np.flatnonzero(np.diff(indices) > 1) + 1
    return [(run[0], run[-1] + 1) for run in np.split(indices, cuts)]


def line(samples, rng):
    """Send one side of a call (T,) through the telephone: band-pass, level, white noise; full scale is 32767."""
    heard = sosfilt(BAND, samples)
    speech = np.abs(heard) > 0.02 * np.abs(heard).max(initial=1e-9)
    level = np.sqrt(np.mean(heard[speech] ** 2)) if speech.any() else 1.0
    ratio = 10 ** (rng.uniform(*NOISE_DB) / 20)
    return heard * (SPEECH_LEVEL / level) + rng.standard_normal(len(heard)) * (SPEECH_LEVEL / ratio)


def mu_law(samples):
    """Return the G.711 mu-law bytes of samples at full scale 32767, the full scale of 16-bit PCM."""
    value = np.clip(np.rint(samples), -32768, 32767).astype(np.int32)
    magnitude = np.minimum(np.abs(value), 32635) + 132  # 33 in the standard's 14-bit scale
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 7
    mantissa = (magnitude >> (exponent + 3)) & 15
    return (~(((value < 0) << 7) | (exponent << 4) | mantissa) & 0xFF).astype(np.uint8)


def sphere(sides, conversation):
    """Return the bytes of a two-channel NIST SPHERE file, 8 kHz mu-law, of two equally long sides."""
    coded = mu_law(np.stack(sides, axis=1))
    fields = {
        "conversation_id": conversation,
        "database_id": "MINI",
        "channel_count": 2,
        "sample_coding": "ulaw",
        "channels_interleaved": "TRUE",
        "sample_count": len(coded),
        "sample_rate": RATE,
        "sample_n_bytes": 1,
        "sample_sig_bits": 8,
    }
    rows = [f"{k} -i {v}" if isinstance(v, int) else f"{k} -s{len(v)} {v}" for k, v in fields.items()]
    header = "\n".join(["NIST_1A", "   1024", *rows, "end_head", ""])
    return header.encode("ascii").ljust(1024, b" ") + coded.tobytes()
