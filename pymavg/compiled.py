"""Compiled loops that are not compiled for a small file.

Numba takes seconds for a loop the first time on a machine, Python less than that for a hundred thousand of its steps.
"""

PATIENCE = 200_000  # steps in Python, over all calls: a few tenths of a second


class Patient:
    """A loop that runs in Python until it has been given some work, and compiled from then on.

    Parameters
    ----------
    kernel : Numba dispatcher
        Calls no other compiled loop, and does the same in Python.
    work : callable
        Takes the loop's arguments, returns its number of steps, about.
    """

    def __init__(self, kernel, work):
        self._kernel, self._work, self._done = kernel, work, 0

    def __call__(self, *args):
        """Run the loop."""
        if self._done < PATIENCE:
            self._done += self._work(*args)
        return (self._kernel if self._done >= PATIENCE else self._kernel.py_func)(*args)


def patient(work):
    """Return the decorator, to stand above `@njit`, that makes a loop Patient."""
    return lambda kernel: Patient(kernel, work)
