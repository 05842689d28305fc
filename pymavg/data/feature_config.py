"""Kaldi's feature conf files, as conf/mfcc.conf: lines `--name=value`, `#` starts a comment.

Each option keeps Kaldi's name, meaning and default, with one exception: `--dither` is 0 by default (Kaldi: 1), so that
features are the same in every run; a conf that sets it gets noise that depends on the utterance's name alone.
Sources: Kaldi's util/parse-options.cc, feat/feature-window.h, mel-computations.h, feature-mfcc.h, feature-fbank.h,
feature-plp.h, feature-spectrogram.h, pitch-functions.h.
"""

import argparse
from dataclasses import dataclass

from pymavg.errors import PymavgError, did_you_mean
from pymavg.files import read_lines
from pymavg.options import boolean, real, whole

# Kaldi's name: (parser, where the library keeps it)
_FRAME = {
    "sample-frequency": (real, "samp_freq"),
    "frame-length": (real, "frame_length_ms"),
    "frame-shift": (real, "frame_shift_ms"),
    "preemphasis-coefficient": (real, "preemph_coeff"),
    "remove-dc-offset": (boolean, "remove_dc_offset"),
    "window-type": (str, "window_type"),
    "blackman-coeff": (real, "blackman_coeff"),
    "round-to-power-of-two": (boolean, "round_to_power_of_two"),
    "snip-edges": (boolean, "snip_edges"),
}
_MEL = {
    "num-mel-bins": (whole, "num_bins"),
    "low-freq": (real, "low_freq"),
    "high-freq": (real, "high_freq"),
    "vtln-low": (real, "vtln_low"),
    "vtln-high": (real, "vtln_high"),
}
_ENERGY = {
    "use-energy": (boolean, "use_energy"),
    "energy-floor": (real, "energy_floor"),
    "raw-energy": (boolean, "raw_energy"),
    "htk-compat": (boolean, "htk_compat"),
}
_CEPSTRA = {"num-ceps": (whole, "num_ceps"), "cepstral-lifter": (real, "cepstral_lifter")}
_OWN = {
    "mfcc": {**_ENERGY, **_CEPSTRA},
    "fbank": {**_ENERGY, "use-log-fbank": (boolean, "use_log_fbank"), "use-power": (boolean, "use_power")},
    "plp": {
        **_ENERGY,
        **_CEPSTRA,
        "lpc-order": (whole, "lpc_order"),
        "compress-factor": (real, "compress_factor"),
        "cepstral-scale": (real, "cepstral_scale"),
    },
    "spectrogram": {name: _ENERGY[name] for name in ("energy-floor", "raw-energy")},
}


def _same(parser, *names):
    """Return options whose names in the library are the same but for the hyphens."""
    return {name: (parser, name.replace("-", "_")) for name in names}


_PITCH = {  # of compute-kaldi-pitch-feats
    **{name: _FRAME[name] for name in ("sample-frequency", "frame-length", "frame-shift", "preemphasis-coefficient")},
    "resample-frequency": (real, "resample_freq"),
    **_same(real, "min-f0", "max-f0", "soft-min-f0", "penalty-factor", "delta-pitch", "nccf-ballast", "lowpass-cutoff"),
    **_same(whole, "lowpass-filter-width", "upsample-filter-width"),
    **_same(boolean, "snip-edges"),
}
_PITCH_PROCESS = {  # of process-kaldi-pitch-feats
    **_same(real, "pitch-scale", "pov-scale", "pov-offset", "delta-pitch-scale", "delta-pitch-noise-stddev"),
    **_same(whole, "normalization-left-context", "normalization-right-context", "delta-window", "delay"),
    **_same(boolean, "add-pov-feature", "add-normalized-log-pitch", "add-delta-pitch", "add-raw-log-pitch"),
}
_TOOL = {  # options of Kaldi's programs around the computation
    **_same(real, "dither", "min-duration"),
    **_same(boolean, "allow-downsample", "allow-upsample", "subtract-mean"),
    **_same(whole, "channel"),
}
KINDS = tuple(_OWN)


@dataclass
class FeatureConfig:
    """What a conf file says, by the parts of the library that want it.

    `frame`, `mel` and `own` hold attributes of the library's options; the others are Kaldi's program options.
    """

    path: str
    frame: dict
    mel: dict
    own: dict
    dither: float = 0.0
    allow_downsample: bool = False
    allow_upsample: bool = False
    subtract_mean: bool = False
    channel: int = -1  # expect one channel
    min_duration: float = 0.0  # seconds


def read_feature_config(kind, path=None):
    """Read a conf file for features of `kind`.

    Parameters
    ----------
    kind : {"mfcc", "fbank", "plp", "spectrogram"}
        Which options are known.
    path : str or Path, optional
        The conf file; Kaldi's defaults without it.

    Raises
    ------
    PymavgError
        For another kind, or for an option that is unknown, not supported, has no value or a wrong one: with file:line.
    """
    if kind not in _OWN:
        raise PymavgError(f"feature type '{kind}': {' or '.join(KINDS)} expected")
    config = FeatureConfig(str(path) if path else "the default", {}, {}, {})
    mel = _MEL if kind != "spectrogram" else {}
    _read(path, ((_FRAME, config.frame), (mel, config.mel), (_OWN[kind], config.own), (_TOOL, vars(config))))
    return config


def read_pitch_config(extraction=None, process=None):
    """Read the conf files of pitch; return (attributes of the library's extraction, of its processing).

    Parameters
    ----------
    extraction, process : str or Path, optional
        Options of Kaldi's compute-kaldi-pitch-feats and process-kaldi-pitch-feats; Kaldi's defaults without them.
    """
    found = {}, {}
    for path, known, values in ((extraction, _PITCH, found[0]), (process, _PITCH_PROCESS, found[1])):
        _read(path, ((known, values),))
    return found


def _read(path, groups):
    """Set the values of the groups (known options, values) from the lines of a conf file."""
    for number, line in enumerate(read_lines(path) if path else [], start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        where = f"{path}:{number}"
        name, equals, text = line.partition("=")
        name, text = name.strip().removeprefix("--"), text.strip()
        if not line.startswith("--") or not (equals and text):
            raise PymavgError(f"{where}: '--name=value' expected, found '{line}'")
        known, values = next((group for group in groups if name in group[0]), ({}, {}))
        if name not in known:
            names = [n for known, _ in groups for n in known]
            raise PymavgError(f"{where}: option --{name} is unknown or not supported{did_you_mean(name, names)}")
        parser, attribute = known[name]
        values[attribute] = _parse(parser, text, name, where)


def _parse(parser, text, name, where):
    try:
        return parser(text)
    except argparse.ArgumentTypeError as error:
        raise PymavgError(f"{where}: --{name} {error}") from None
