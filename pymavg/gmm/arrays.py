"""Files of named arrays (.npz) that pass between the jobs of a training."""

import zipfile
import zlib

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open


def save_arrays(path, **arrays):
    """Write arrays under their names."""
    with atomic_open(path, "wb") as stream:
        np.savez(stream, **arrays)


def load_arrays(path, names, what):
    """Return the list of the arrays `names` of a file.

    Raises
    ------
    PymavgError
        When it is missing, damaged, or lacks one of them; `what` says what it should have been.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name] for name in names]
    except FileNotFoundError:
        raise PymavgError(f"{path}: no such file; look for the failed job in the logs") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise PymavgError(f"{path}: not {what} ({error}); remove it and run the step again") from error
