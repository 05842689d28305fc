"""cuBLAS called directly, because CuPy refuses its own calls of it while a CUDA graph is captured.

CuPy loads the library; a handle of our own is made from it, with a workspace for each stream, so that cuBLAS allocates
nothing while it is captured (cuBLAS documentation, CUDA Graphs Support).
"""

import ctypes
import os

from pymavg.errors import PymavgError

WORKSPACE_BYTES, SMALL_WORKSPACE_BYTES = 16 << 20, 1 << 20
SMALL = 1 << 20  # elements of a result, up to which the small workspace will do
SONAMES = ("libcublas.so.13", "libcublas.so.12")
DEFAULT_ALGORITHM = -1  # CUBLAS_GEMM_DEFAULT
POINTER, INT = ctypes.c_void_p, ctypes.c_int
GEMM_EX = [POINTER, INT, INT, INT, INT, INT, POINTER, POINTER, INT, INT, POINTER, INT, INT, POINTER, POINTER]
GEMM_EX += [INT, INT, INT, INT]
_HANDLES = {}  # device number -> Cublas


class Cublas:
    """A handle on the current device.

    Parameters
    ----------
    xp : module
        `cupy`.

    Raises
    ------
    PymavgError
        When the library is missing or the handle cannot be made.
    """

    def __init__(self, xp):
        self._xp, self._library = xp, _library(xp)
        self._library.cublasGemmEx.argtypes = GEMM_EX
        self._handle = POINTER()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        self._workspaces = {}

    def _call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status:
            raise PymavgError(f"{name} failed with status {status}; run make gpu-check")

    def gemm_ex(self, op_a, op_b, m, n, k, alpha, a, b, beta, c, kind, strides, compute, on_device):
        """Queue c = alpha op(a) op(b) + beta c, matrices by columns, on the current stream.

        Parameters
        ----------
        op_a, op_b : int
            0, or 1 for the transpose.
        m, n, k : int
        alpha, a, b, beta, c : int
            Addresses.
        kind : int
            cudaDataType of all three matrices.
        strides : (int, int, int)
            From column to column of a, b and c.
        compute : int
            cublasComputeType_t.
        on_device : bool
            Where alpha and beta lie.
        """
        handle, stream = self._handle, self._xp.cuda.get_current_stream().ptr
        self._call("cublasSetStream_v2", handle, POINTER(stream))  # which takes the workspace away
        size = SMALL_WORKSPACE_BYTES if m * n <= SMALL else WORKSPACE_BYTES
        if (stream, size) not in self._workspaces:
            self._workspaces[stream, size] = self._xp.cuda.alloc(size)
        workspace = POINTER(self._workspaces[stream, size].ptr)
        self._call("cublasSetWorkspace_v2", handle, workspace, ctypes.c_size_t(size))
        self._call("cublasSetPointerMode_v2", handle, INT(on_device))
        matrices = (a, kind, strides[0], b, kind, strides[1], beta, c, kind, strides[2])
        self._call("cublasGemmEx", handle, op_a, op_b, m, n, k, alpha, *matrices, compute, DEFAULT_ALGORITHM)


def cublas_of(xp):
    """Return the Cublas of the current device; there is one for all networks."""
    device = xp.cuda.runtime.getDevice()
    if device not in _HANDLES:
        _HANDLES[device] = Cublas(xp)
    return _HANDLES[device]


def _library(xp):
    """Return the cuBLAS that CuPy has loaded."""
    xp.cuda.device.get_cublas_handle()
    for name in SONAMES:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
    raise PymavgError(f"none of {', '.join(SONAMES)} is loaded; install CuPy for this driver's CUDA")
