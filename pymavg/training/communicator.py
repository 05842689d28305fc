"""What the averaging needs from MPI, behind one small interface: one process alone, or ranks under mpirun.

Only upper-case (buffer) calls are used for numbers, so nothing is ever pickled. mpi4py is imported only where a
launcher has started more than one task.
"""

import os
import socket
import time

import numpy as np

from pymavg.options import log

CHUNK_BYTES = 1 << 30  # a count above 2^31 - 1 bytes is where MPI implementations begin to differ
PATIENCE_SECONDS = 60  # after this a waiting rank 0 says who is missing
_STATUS, _MODEL = 1, 1000  # message tags


def chunks(array):
    """Yield consecutive views of a flat array, each at most CHUNK_BYTES long."""
    step = max(1, CHUNK_BYTES // array.itemsize)
    for start in range(0, array.size, step):
        yield array[start : start + step]


class Done:
    """A reduction that has already ended."""

    def test(self):
        """Return True."""
        return True

    def wait(self):
        """Return at once."""


class Local:
    """One process: every collective is the identity."""

    rank, size = 0, 1
    host = socket.gethostname()

    def gather(self, row):
        """Return `row` as the only row of the table."""
        return np.array(row, dtype=np.float64)[np.newaxis]

    def sum(self, array):
        """Leave `array` as it is."""

    def start_sum(self, array):
        """Return a reduction that has ended."""
        return Done()

    def broadcast(self, array, root=0):
        """Leave `array` as it is."""

    def exchange(self, sends, receives):
        """Never called with a partner: one process has none."""
        if sends or receives:
            raise ValueError("one process has no partner to exchange with")

    def names(self):
        """Return the host names of all ranks."""
        return [self.host]


class _Requests:
    """Non-blocking reductions of the chunks of one array."""

    def __init__(self, requests):
        self.requests = requests

    def test(self):
        """Return whether all have ended; calling it lets MPI make progress."""
        ended = [request.Test() for request in self.requests]
        return all(ended)

    def wait(self):
        """Return when all have ended."""
        for request in self.requests:
            request.Wait()


class Mpi:
    """The ranks of an MPI communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Duplicated, so that other users' messages cannot be mixed up with ours.
    """

    def __init__(self, comm):
        from mpi4py import MPI

        self.MPI = MPI
        self.comm = comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.host = socket.gethostname()

    def gather(self, row):
        """Collect one row of numbers from each rank.

        Parameters
        ----------
        row : sequence of float
            The same length on every rank.

        Returns
        -------
        table : float64 (ranks, len(row))
            The same on every rank. Rank 0 names the missing ones when the wait is long.
        """
        row = np.ascontiguousarray(row, dtype=np.float64)
        table = np.empty((self.size, row.size))
        if self.rank == 0:
            table[0] = row
            self._await([self.comm.Irecv(table[r], source=r, tag=_STATUS) for r in range(1, self.size)])
        else:
            self.comm.Send(row, dest=0, tag=_STATUS)
        self.comm.Bcast(table, root=0)
        return table

    def _await(self, requests):
        begun = told = time.monotonic()
        while not self.MPI.Request.Testall(requests):
            now = time.monotonic()
            if now - told > PATIENCE_SECONDS:
                told = now
                missing = [str(r) for r, request in enumerate(requests, 1) if not request.Test()]
                log(f"waiting {now - begun:.0f} s for rank {', '.join(missing)}")
            time.sleep(0 if now - begun < 0.05 else 0.001)

    def sum(self, array):
        """Replace a flat array by its sum over the ranks (MPI_Allreduce, in chunks)."""
        for part in chunks(array):
            self.comm.Allreduce(self.MPI.IN_PLACE, part)

    def start_sum(self, array):
        """Begin `sum` without waiting for its end; the array must not be touched until then."""
        return _Requests([self.comm.Iallreduce(self.MPI.IN_PLACE, part) for part in chunks(array)])

    def broadcast(self, array, root=0):
        """Replace a flat array by that of rank `root`."""
        for part in chunks(array):
            self.comm.Bcast(part, root=root)

    def exchange(self, sends, receives):
        """Send and receive whole flat arrays between pairs of ranks.

        Parameters
        ----------
        sends, receives : list of (array, rank, slot)
            Partner and a number that tells the messages between two ranks apart.
        """
        requests = []
        for call, messages in ((self.comm.Irecv, receives), (self.comm.Isend, sends)):
            for array, rank, slot in messages:
                requests += [call(part, rank, _MODEL + slot) for part in chunks(array)]
        self.MPI.Request.Waitall(requests)

    def names(self):
        """Return the host names of all ranks."""
        own = np.zeros(64, dtype=np.uint8)
        text = self.host.encode()[:64]
        own[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        table = np.empty((self.size, own.size), dtype=np.uint8)
        self.comm.Allgather(own, table)
        return [bytes(row).rstrip(b"\0").decode(errors="replace") for row in table]


def open_communicator():
    """Return `Mpi` where a launcher started this process, else `Local`.

    Raises
    ------
    PymavgError
        When the launcher and mpi4py belong to different MPIs (see launch.check_launcher).
    """
    from pymavg.training.launch import check_launcher, launched_tasks

    tasks = launched_tasks(os.environ)
    if tasks <= 1:
        return Local()
    comm = check_launcher(tasks)
    return Mpi(comm)
