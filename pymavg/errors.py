"""The one error class for everything a user can cause and mend."""

import difflib


class PymavgError(Exception):
    """What went wrong, told in one line: place, what was found, what was expected, the remedy.

    `pymavg TOOL` prints the message without a traceback and exits with status 1; any other exception is a fault
    of pymavg itself and keeps its traceback.
    """


def did_you_mean(word, known):
    """Return '; did you mean X?' for the known word nearest to `word`, or an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
