"""Which operations go with which arrays."""

import numpy as np

from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.operations import Operations


def operations(xp, dtype):
    """Return the fastest operations there are for arrays of module `xp` and `dtype`."""
    if xp is np and np.dtype(dtype) == np.float32:
        return HostOperations()
    return Operations(xp)
