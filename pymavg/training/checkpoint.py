"""The state of a training on disk: whole at every moment, equal in bits when read back, and free of pickle.

A checkpoint is a directory DIR/N with common.npz (the same for all ranks) and worker.K.npz for each of the N_w workers;
DIR/current names the last one that is whole, and is replaced in one step. So a kill at any moment leaves a good one.
"""

import fcntl
import json
import os
import shutil
import socket
import zipfile
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open

_META = "__meta__"


def save_arrays(path, arrays, meta=None):
    """Write named arrays and a JSON-able dict into one uncompressed .npz, atomically."""
    text = np.frombuffer(json.dumps(meta or {}).encode(), dtype=np.uint8)
    with atomic_open(path, "wb") as stream:
        np.savez(stream, **arrays, **{_META: text})
        stream.flush()
        os.fsync(stream.fileno())


def load_arrays(path):
    """Return (arrays, meta) as `save_arrays` wrote them.

    Raises
    ------
    PymavgError
        When the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return arrays, json.loads(arrays.pop(_META).tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise PymavgError(f"{path}: not a whole checkpoint ({error}); start anew with --restart true") from error


class Checkpoints:
    """The checkpoints of one training; the last whole one is kept.

    Parameters
    ----------
    directory : str or Path
    comm : communicator.Local or communicator.Mpi
    """

    def __init__(self, directory, comm):
        self.directory, self.comm = Path(directory), comm

    def current(self):
        """Return the directory of the last whole checkpoint, or None."""
        pointer = self.directory / "current"
        try:
            name = pointer.read_text(errors="replace").strip()
        except FileNotFoundError:
            return None
        if not (name.isascii() and name.isdigit()):
            raise PymavgError(
                f"{pointer}: the number of a checkpoint expected, found {name!r}; --restart true begins anew"
            )
        return self.directory / name

    def save(self, number, common, meta, workers):
        """Write a checkpoint; all ranks call it together.

        Parameters
        ----------
        number : int
            Larger than any before.
        common : dict name -> array
            Written by rank 0.
        meta : dict
            JSON-able, likewise.
        workers : dict worker number -> dict name -> array
            Of this rank's workers.
        """
        target = self.directory / f"{number:08d}"
        target.mkdir(parents=True, exist_ok=True)
        for worker, arrays in workers.items():
            save_arrays(target / f"worker.{worker}.npz", arrays)
        if self.comm.rank == 0:
            save_arrays(target / "common.npz", common, meta)
        self.comm.gather([0.0])  # every rank's part is on disk
        if self.comm.rank == 0:
            with atomic_open(self.directory / "current") as stream:
                stream.write(target.name + "\n")
            for old in self.directory.iterdir():
                if old.is_dir() and old != target:
                    shutil.rmtree(old, ignore_errors=True)

    def load(self):
        """Return (common, meta) of the last whole checkpoint, or None."""
        place = self.current()
        return None if place is None else load_arrays(place / "common.npz")

    def load_workers(self, workers):
        """Return the arrays of each of these workers in the last whole checkpoint."""
        place = self.current()
        return [load_arrays(place / f"worker.{number}.npz")[0] for number in workers]

    def remove(self):
        """Delete all checkpoints (rank 0, after the final model is written)."""
        if self.comm.rank == 0:
            shutil.rmtree(self.directory, ignore_errors=True)


def compare(found, expected, allow_change):
    """Return whether a stored run agrees with this one; raise PymavgError naming each value that differs.

    Parameters
    ----------
    found, expected : dict name -> JSON-able value
        Of the stored run and of this one; options that the stored run did not know yet are not compared.
    allow_change : bool
        Go on all the same.
    """
    names = [n for n in found if found[n] != expected.get(n)]
    if names and not allow_change:
        what = ", ".join(f"{n} was {found[n]}, now {expected.get(n)}" for n in names)
        raise PymavgError(
            f"the training to be continued differs: {what}; give the old values, or --restart true to "
            "begin anew, or --allow-change true to go on with the new ones"
        )
    return not names


class Lock:
    """Keeps a second training out of a directory for as long as this process lives.

    Raises
    ------
    PymavgError
        When another process holds it.
    """

    def __init__(self, directory):
        path = Path(directory) / ".lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.stream = open(path, "a+", encoding="utf-8")  # noqa: SIM115  (held open while the lock is held)
        try:
            fcntl.flock(self.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.stream.seek(0)
            holder = self.stream.read().strip() or "another process"
            self.stream.close()
            raise PymavgError(
                f"{directory}: {holder} trains here already; wait for it or choose another directory"
            ) from None
        self.stream.truncate(0)
        self.stream.write(f"pid {os.getpid()} on {socket.gethostname()}\n")
        self.stream.flush()

    def release(self):
        """Let others in."""
        self.stream.close()
