"""Kaldi's feature conf files, as conf/mfcc.conf: lines `--name=value`, `#` starts a comment.

Each option keeps Kaldi's name, meaning and default, with one exception: `--dither` is 0 by default (Kaldi: 1), so that
features are the same in every run; a conf that sets it gets noise that depends on the utterance's name alone.
Sources: Kaldi's util/parse-options.cc, feat/feature-window.h, mel-computations.h, feature-mfcc.h, feature-fbank.h.
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
_OWN = {
    "mfcc": {**_ENERGY, "num-ceps": (whole, "num_ceps"), "cepstral-lifter": (real, "cepstral_lifter")},
    "fbank": {**_ENERGY, "use-log-fbank": (boolean, "use_log_fbank"), "use-power": (boolean, "use_power")},
}
_TOOL = {  # options of Kaldi's programs around the computation
    "dither": real,
    "allow-downsample": boolean,
    "allow-upsample": boolean,
    "subtract-mean": boolean,
    "channel": whole,
    "min-duration": real,
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
    kind : {"mfcc", "fbank"}
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
    groups = (_FRAME, config.frame), (_MEL, config.mel), (_OWN[kind], config.own)
    for number, line in enumerate(read_lines(path) if path else [], start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        where = f"{path}:{number}"
        name, equals, text = line.partition("=")
        name, text = name.strip().removeprefix("--"), text.strip()
        if not line.startswith("--") or not (equals and text):
            raise PymavgError(f"{where}: '--name=value' expected, found '{line}'")
        _set(config, groups, name, text, where)
    return config


def _set(config, groups, name, text, where):
    for known, values in groups:
        if name in known:
            parser, attribute = known[name]
            values[attribute] = _parse(parser, text, name, where)
            return
    if name in _TOOL:
        setattr(config, name.replace("-", "_"), _parse(_TOOL[name], text, name, where))
        return
    names = [*_TOOL, *(n for known, _ in groups for n in known)]
    raise PymavgError(f"{where}: option --{name} is unknown or not supported{did_you_mean(name, names)}")


def _parse(parser, text, name, where):
    try:
        return parser(text)
    except argparse.ArgumentTypeError as error:
        raise PymavgError(f"{where}: --{name} {error}") from None
