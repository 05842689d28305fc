"""Which operations go with which arrays."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.operations import Operations

PRECISIONS = ("float32", "tf32", "bf16")


def operations(xp, dtype, precision="float32"):
    """Return the fastest operations there are for arrays of module `xp` and `dtype`.

    Raises
    ------
    PymavgError
        When `precision` is unknown, or other than float32 on the CPU.
    """
    if precision not in PRECISIONS:
        raise PymavgError(f"--precision: found '{precision}', expected {', '.join(PRECISIONS)}")
    single = np.dtype(dtype) == np.float32
    if xp is np:
        if precision != "float32":
            raise PymavgError(f"--precision {precision} needs a GPU; use --precision float32")
        return HostOperations() if single else Operations(xp)
    if single and xp.__name__ == "cupy":
        from pymavg.nnet.cublas import cublas_of
        from pymavg.nnet.cuda_operations import CudaOperations

        return CudaOperations(xp, cublas_of(xp), precision)
    return Operations(xp)
