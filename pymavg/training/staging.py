"""The way of a parameter vector from the device through MPI and back.

NumPy arrays and, with a CUDA-aware MPI, CuPy arrays go to MPI as they are; other CuPy arrays pass through one pinned
host buffer.
"""

import ctypes

import numpy as np

from pymavg.backend import to_device, to_host


def mpi_is_cuda_aware():
    """Return whether the loaded Open MPI says that it takes device pointers (MPIX_Query_cuda_support)."""
    query = getattr(ctypes.CDLL(None), "MPIX_Query_cuda_support", None)
    return bool(query and query())


class Staging:
    """Reductions of flat vectors that live on one device.

    Parameters
    ----------
    comm : communicator.Local or communicator.Mpi
    xp : module
        `numpy` or `cupy`.
    like : xp array (P,)
        Gives size and dtype of the vectors.
    clock : progress.Clock
    """

    def __init__(self, comm, xp, like, clock):
        self.comm, self.xp, self.clock = comm, xp, clock
        self.on_device = xp is not np
        self.direct = not self.on_device or (comm.size > 1 and mpi_is_cuda_aware())
        self.like = like
        self.buffers = {}

    def buffer(self, slot=0):
        """Return a host buffer of the vector's size; pinned where the vector is on a GPU."""
        if slot not in self.buffers:
            self.buffers[slot] = host_buffer(self.xp, self.like.shape, self.like.dtype)
        return self.buffers[slot]

    def to_host(self, vector):
        """Return a host copy."""
        return np.array(to_host(vector))

    def to_device(self, array):
        """Return `array` beside the vectors, in their dtype."""
        return to_device(self.xp, np.array(array, dtype=self.like.dtype))

    def sum(self, vector):
        """Replace the vector by its sum over the ranks."""
        if self.comm.size > 1:
            self._through_host(vector, self.comm.sum)

    def broadcast(self, vector):
        """Replace the vector by rank 0's."""
        if self.comm.size > 1:
            self._through_host(vector, self.comm.broadcast)

    def _through_host(self, vector, reduce):
        host = self.fetch(vector)
        with self.clock("reduce"):
            reduce(host)
        if host is not vector:
            self.put(vector, host)

    def fetch(self, vector, slot=0):
        """Return the vector as MPI can take it: itself, or its copy in the host buffer `slot`."""
        with self.clock("copy"):
            if self.direct:
                if self.on_device:
                    self.xp.cuda.get_current_stream().synchronize()
                return vector
            vector.get(out=self.buffer(slot))
            return self.buffer(slot)

    def put(self, vector, host):
        """Copy a host buffer into the vector."""
        with self.clock("copy"):
            if self.on_device:
                vector.set(host)
            else:
                vector[:] = host

    def start_sum(self, vector):
        """Begin the sum of `vector` over the ranks; see `Reduction.result`."""
        if not self.direct:
            vector.get(out=self.buffer())
            return Reduction(self, self.buffer(), self.comm.start_sum(self.buffer()))
        return Reduction(self, vector, self.comm.start_sum(vector))

    def ended(self, array):
        """Return a Reduction whose result is `array`."""
        from pymavg.training.communicator import Done

        return Reduction(self, np.array(array), Done())


class Reduction:
    """A sum over the ranks in flight."""

    def __init__(self, staging, array, requests):
        self.staging, self.array, self.requests = staging, array, requests

    def test(self):
        """Let MPI make progress."""
        return self.requests.test()

    def result(self):
        """Wait for the end and return the sum, beside the vectors."""
        with self.staging.clock("reduce"):
            self.requests.wait()
        on_host = self.staging.on_device and isinstance(self.array, np.ndarray)
        return self.staging.to_device(self.array) if on_host else self.array


def host_buffer(xp, shape, dtype):
    """Return an uninitialised host array, pinned where `xp` is CuPy: then copies to the device need no detour."""
    if xp is np:
        return np.empty(shape, dtype)
    import cupyx

    return cupyx.empty_pinned(shape, dtype)
