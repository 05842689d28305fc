"""CUDA C compiled for the host: threads of a block are real threads, __syncthreads is a barrier."""

import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from pymavg.nnet.cuda_kernels import ELEMENTWISE, PREAMBLE

CTYPES = {
    "float32": "float",
    "uint32": "unsigned int",
    "float64": "double",
    "int32": "int",
    "uint64": "unsigned long long",
}
HOST_CUDA = r"""
#include <cmath>
#include <pthread.h>
using namespace std;
#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __syncthreads() pthread_barrier_wait(&barrier)
struct Dim { int x; };
static thread_local Dim threadIdx = {0}, blockIdx = {0};
static Dim blockDim = {1};
static pthread_barrier_t barrier;
extern "C" void set_threads(int count) { blockDim.x = count; pthread_barrier_init(&barrier, 0, count); }
extern "C" void set_thread(int thread, int block) { threadIdx.x = thread; blockIdx.x = block; }
extern "C" void end_of_block() { __syncthreads(); }
"""


def build(source):
    """Compile C++ for the host and return the library."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler (apt-get install g++)")
    folder = Path(tempfile.gettempdir()) / f"pymavg-kernels-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    library = folder / "kernels.so"
    if not library.exists():
        (folder / "kernels.cc").write_text(source)
        made = library.with_suffix(".tmp")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-pthread", "-o", made, folder / "kernels.cc"], check=True)
        made.replace(library)
    return ctypes.CDLL(str(library))


def elementwise_source(name, inputs, outputs, body, qualifier='extern "C"'):
    """Return a whole function of an elementwise kernel over `count` elements whose inputs lie ready at full size."""
    words = [p.split() for p in f"{inputs}, {outputs}".split(", ")]
    pointers = ", ".join(f"{CTYPES[kind]}* p_{var}" for kind, var in words)
    refs = " ".join(f"{CTYPES[kind]}& {var} = p_{var}[i];" for kind, var in words)
    loop = "for (long long i = 0; i < count; i++)"
    return f"{qualifier} void {name}(long long count, {pointers}) {{ {loop} {{ {refs} {body}; }} }}\n"


@functools.cache
def elementwise_library():
    """Return all elementwise kernels of the package, compiled at once."""
    functions = [elementwise_source(f"pymavg_{name}", *parts) for name, parts in ELEMENTWISE.items()]
    return build(HOST_CUDA + PREAMBLE + "".join(functions))
