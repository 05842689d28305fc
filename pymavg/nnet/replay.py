"""Work on a GPU captured once as a CUDA graph and replayed: one launch in place of hundreds.

A graph holds addresses, not values: whatever changes from replay to replay (rows, learning rate, random key) must lie
in arrays that are overwritten, and no array may be replaced. Memory that the captured work takes comes from a pool of
its own and stays there.
"""

import contextlib


class Replay:
    """Graphs by name, replayed one after the other.

    Parameters
    ----------
    xp : module
        `cupy`.
    """

    def __init__(self, xp):
        self._xp = xp
        self.stream = xp.cuda.Stream(non_blocking=True)  # the default stream cannot be captured
        self._pool = xp.cuda.MemoryPool()
        self._graphs = {}

    def __contains__(self, name):
        return name in self._graphs

    def capture(self, name, work):
        """Record what `work()` queues, without doing it; the arrays it is given must live as long as the graph."""
        with self._xp.cuda.using_allocator(self._pool.malloc), self.stream:
            self.stream.begin_capture()
            try:
                work()
            except BaseException:
                with contextlib.suppress(Exception):  # the capture is broken; why is what matters
                    self.stream.end_capture()
                raise
            self._graphs[name] = self.stream.end_capture()

    def launch(self, name):
        """Queue the captured work on the current stream."""
        self._graphs[name].launch()

    def forget(self):
        """Drop all graphs, once they have ended."""
        if self._graphs:
            self._xp.cuda.get_current_stream().synchronize()
            self.stream.synchronize()
            self._graphs.clear()
