"""Which device each rank trains on."""

import os
import tempfile
import zlib
from pathlib import Path

import numpy as np

from pymavg.backend import array_module, device_count
from pymavg.errors import PymavgError
from pymavg.options import log
from pymavg.training.launch import cores


def bind(comm, use_gpu="auto", share=False):
    """Return the array module of this rank, its device selected.

    Ranks that see the same cards take one each, by their number on the host; with one card per task, as SLURM sets
    CUDA_VISIBLE_DEVICES, each takes its own.

    Raises
    ------
    PymavgError
        When there are more ranks than cards and `share` is false, or `use_gpu` is "yes" and there is no card.
    """
    _writable_kernel_cache()
    count = device_count() if use_gpu != "no" else 0
    peers, own = _peers(comm)
    if count and len(peers) > count and not share:
        raise PymavgError(
            f"{len(peers)} ranks on {comm.host} and {count} GPU: start at most {count} ranks there, use "
            "--virtual-workers for more workers, or allow sharing with --share-gpu true"
        )
    xp = array_module(use_gpu, own % count if count else 0) if comm.rank == 0 or count else np
    if comm.rank and not count and use_gpu == "yes":
        raise PymavgError(f"--use-gpu yes, but {comm.host} has no usable GPU")
    place = f"GPU {own % count} of {count}" if xp is not np else f"CPU, {blas_threads()} BLAS threads"
    log(f"rank {comm.rank} of {comm.size} on {comm.host}: {place}")
    return xp


def _peers(comm):
    """Return the ranks that see the same host and cards as this one, and this one's place among them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    mark = zlib.crc32(f"{comm.host} {visible}".encode())
    marks = comm.gather([mark])[:, 0]
    peers = np.flatnonzero(marks == mark)
    return peers, int(np.flatnonzero(peers == comm.rank)[0])


def device_name(xp):
    """Return what the arrays of `xp` live on, in words."""
    runtime = getattr(getattr(xp, "cuda", None), "runtime", None)
    if runtime is None:
        return f"CPU, {blas_threads()} BLAS threads"
    return runtime.getDeviceProperties(xp.cuda.Device().id)["name"].decode()


def blas_threads():
    """Return how many threads the matrix products of this process use."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return cores()


def _writable_kernel_cache():
    """Point CuPy's cache of compiled kernels to a place that can be written, where the home directory cannot."""
    home = Path("~").expanduser()
    if "CUPY_CACHE_DIR" not in os.environ and not os.access(home, os.W_OK):
        os.environ["CUPY_CACHE_DIR"] = str(Path(tempfile.gettempdir(), f"cupy-{os.getuid()}"))
