"""NumPy or CuPy: the one place that chooses the array module, and the two ways across.

All of `pymavg.nnet` and `pymavg.training` is written once against the name `xp`, which is `numpy` or `cupy`.
"""

import os
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.options import log

INSTALL = "pip install 'pymavg[cuda12]' (or cuda13 for a driver of CUDA 13)"


def array_module(use_gpu="auto", device_index=0):
    """Return `cupy` with the device selected, or `numpy`.

    Parameters
    ----------
    use_gpu : {"auto", "yes", "no"}
        `auto` takes a GPU where one works and says in one line why not otherwise; `yes` insists.
    device_index : int
        Which visible device; a worker passes its rank within the machine modulo `device_count()`.

    Raises
    ------
    PymavgError
        With `yes` when CuPy or a working device is missing; always when `use_gpu` is none of the three.
    """
    if use_gpu not in ("auto", "yes", "no"):
        raise PymavgError(f"--use-gpu: found '{use_gpu}', expected auto, yes or no")
    if use_gpu == "no":
        return np
    try:
        return _cupy(device_index)
    except Exception as error:  # CuPy raises many types: ImportError, CUDARuntimeError, OSError of a driver library
        reason = f"no usable GPU: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        if use_gpu == "yes":
            raise PymavgError(f"--use-gpu yes, but {reason}; {INSTALL}, or --use-gpu no") from None
        log(f"{reason}; training on the CPU")
        return np


def _cupy(device_index):
    if not Path("/proc/driver/nvidia").exists() and "CUDA_VISIBLE_DEVICES" not in os.environ:
        raise PymavgError("no NVIDIA driver on this machine")  # spares the import of CuPy, which takes a second
    import cupy

    cupy.cuda.Device(device_index).use()
    cupy.zeros(1).sum()  # fails here, not in the middle of training, when kernels cannot run
    return cupy


def device_count():
    """Return the number of visible GPUs; 0 where CuPy or the driver is missing."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return 0


def to_device(xp, array, dtype=None):
    """Return `array` (NumPy) as a contiguous array of `xp`; no copy where it is one already."""
    if xp is np:
        return np.ascontiguousarray(array, dtype=dtype)
    return xp.asarray(np.ascontiguousarray(to_host(array), dtype=dtype))


def to_host(array):
    """Return an array of any backend as a NumPy array; waits for the device."""
    return array.get() if hasattr(array, "get") else np.asarray(array)
