"""The phones of silence, as options name them, and what they weigh."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.options import real


def is_silence(transitions, colon_list):
    """Return which transition-ids belong to phones of a list such as `1:2:3`, bool (num_tids + 1,).

    Raises
    ------
    PymavgError
        When none does.
    """
    phones = [int(word) for word in colon_list.split(":") if word.isdecimal()]
    found = np.isin(transitions.tid_phone, phones)
    found[0] = False
    if not found.any():
        raise PymavgError(
            f"--silence-phones: ids of the model's phones separated by colons expected (phones/silence.csl), got "
            f"'{colon_list}'"
        )
    return found


def tid_weights(transitions, colon_list, silence_weight):
    """Return the weight of frames by transition-id, float64 (num_tids + 1,): `silence_weight` in silence, else 1."""
    if silence_weight == 1.0:
        return np.ones(transitions.num_tids + 1)
    return np.where(is_silence(transitions, colon_list), silence_weight, 1.0)


def add_silence_options(parser, silence_weight):
    """Add --silence-phones and --silence-weight, the latter with a default."""
    parser.add_argument("--silence-phones", default="", help="ids separated by colons (phones/silence.csl)")
    parser.add_argument(
        "--silence-weight", type=real, default=silence_weight, help=f"of frames in silence; default {silence_weight}"
    )
