"""Where, from which sources and by which command something was made."""

import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

from pymavg import __version__


def machine():
    """Return one line on where this runs."""
    model = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {model[0] if model else platform.machine()}, Python {platform.python_version()}"


def _lines(path):
    return Path(path).read_text().split("\n") if Path(path).exists() else []


def commit(folder="."):
    """Return the commit that is checked out, marked where files differ from it, or pymavg's version."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return f"version {__version__}"
    return done.stdout.strip() if done.returncode == 0 else f"version {__version__}"


def command(ranks=1):
    """Return the command line that runs, as a shell reads it."""
    words = sys.orig_argv if ranks == 1 else ["mpirun", "-n", str(ranks), *sys.orig_argv]
    return shlex.join(words)


def here(ranks=1):
    """Return command, commit of pymavg's own sources and machine, as a log keeps them."""
    return {"command": command(ranks), "commit": commit(Path(__file__).parent), "machine": machine()}
