"""A stand-in for CuPy that needs no GPU and refuses what CuPy refuses.

`StrictArray` holds a NumPy array that nothing but this module can reach: mixing with NumPy arrays and implicit
conversion raise TypeError, as on a device. `xp` has the functions of the array interface. Kernels given to
`ElementwiseKernel` and `RawModule` are the real CUDA C, compiled for the host by the C++ compiler; `cublas` reads
matrices through their pointers, column by column. `xp.waits` counts what would make the host wait for the device.

CUDA graphs are modelled too: while a stream is captured, every operation is recorded and its effects are taken back;
a replay does the same operations on the same memory. What is launched on a stream of its own is done only when
somebody waits for it, so that a missing wait shows.
"""

import contextlib
import ctypes
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
from host_cuda import HOST_CUDA, build, elementwise_library

from pymavg.nnet.cuda_kernels import ELEMENTWISE, PREAMBLE


class Capture:
    """The operations recorded so far, and what memory held before them."""

    def __init__(self):
        self.operations, self.before, self.kept = [], [], []

    def end(self):
        for array, held in reversed(self.before):
            array[...] = held
        return Graph(self)


class Graph:
    def __init__(self, capture):
        self.operations, self.kept = capture.operations, capture.kept

    def launch(self):
        stream = Stream.current[-1]
        if stream is None:
            self.run()
        else:
            stream.queue.append(self.run)

    def run(self):
        for operation in self.operations:
            operation()


capture = None  # the one under way


def do(operation, changes=(), result=False):
    """Do an operation that changes some arrays, or whose value is wanted; record it while a graph is captured."""
    if capture is None:
        return operation()
    capture.before += [(array, array.copy()) for array in changes]
    value = operation()
    if isinstance(value, np.ndarray | np.generic) and result:
        value = np.asarray(value)
        capture.operations.append(lambda: value.__setitem__(..., operation()))
        capture.kept.append(value)
    else:
        capture.operations.append(operation)
    return value


class Stream:
    current = [None]  # None: the default stream, on which all is done at once

    def __init__(self, non_blocking=False):
        assert non_blocking
        self.queue = []

    def __enter__(self):
        self.current.append(self)

    def __exit__(self, *_):
        self.current.pop()

    def begin_capture(self):
        global capture
        assert capture is None
        capture = Capture()

    def end_capture(self):
        global capture
        ended, capture = capture, None
        return ended.end()

    def record(self):
        return self

    def wait_event(self, event):
        event.synchronize()

    def synchronize(self):
        while self.queue:
            self.queue.pop(0)()


class StrictArray:
    """An array on the device."""

    __array_ufunc__ = None

    def __init__(self, hidden):
        self._hidden = hidden
        if capture:
            capture.kept.append(hidden)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion of a device array to NumPy")

    def get(self, out=None):
        assert capture is None, "a copy to the host in a captured graph"
        xp.waits += 1
        if out is None:
            return self._hidden.copy()
        out[...] = self._hidden
        return out

    def set(self, host):
        assert isinstance(host, np.ndarray)
        self._hidden[...] = host

    @property
    def data(self):
        return SimpleNamespace(ptr=self._hidden.ctypes.data)

    def __getattr__(self, name):
        if name.startswith("__"):  # __array_interface__ and the like would let NumPy in
            raise AttributeError(name)
        value = getattr(self._hidden, name)
        return _guard(value) if callable(value) else _wrap(value)

    def __len__(self):
        return len(self._hidden)

    def __getitem__(self, index):
        hidden, index = self._hidden, _unwrap(index)
        return _wrap(do(lambda: hidden[index], result=True))

    def __setitem__(self, index, value):
        hidden, index, value = self._hidden, _unwrap(index), _unwrap(value)
        do(lambda: hidden.__setitem__(index, value), [hidden])

    def _wait(kind):  # noqa: N805
        def convert(self):
            assert capture is None, "a wait in a captured graph"
            xp.waits += 1
            return kind(self._hidden)

        return convert

    __float__, __int__, __bool__ = _wait(float), _wait(int), _wait(bool)
    del _wait


def _binary(name):
    def method(self, other):
        hidden, other = self._hidden, _unwrap(other)
        if name.startswith("__i"):
            do(lambda: getattr(hidden, name)(other), [hidden])
            return self
        return _wrap(do(lambda: getattr(hidden, name)(other), result=True))

    return method


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "rshift",
    "lshift",
]:
    for _form in ("__{}__", "__r{}__", "__i{}__"):
        setattr(StrictArray, _form.format(_name), _binary(_form.format(_name)))
for _name in ["lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(StrictArray, f"__{_name}__", _binary(f"__{_name}__"))
StrictArray.__neg__ = lambda self: xp.negative(self)
StrictArray.__invert__ = lambda self: xp.invert(self)
StrictArray.__hash__ = None


def _unwrap(value):
    if isinstance(value, StrictArray):
        return value._hidden
    if isinstance(value, np.ndarray):
        raise TypeError("a NumPy array where a device array is needed")
    if isinstance(value, (tuple, list)):
        return type(value)(_unwrap(v) for v in value)
    return value


def _wrap(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return StrictArray(np.asarray(value))
    return value


def _guard(function):
    def call(*args, **kwargs):
        args, kwargs = [_unwrap(a) for a in args], {k: _unwrap(v) for k, v in kwargs.items()}
        return _wrap(do(lambda: function(*args, **kwargs), result=True))

    return call


class ElementwiseKernel:
    def __init__(self, inputs, outputs, body, name, preamble=""):
        assert (inputs, outputs, body) == ELEMENTWISE[name.removeprefix("pymavg_")]
        assert preamble == PREAMBLE
        self.words = [p.split() for p in f"{inputs}, {outputs}".split(", ")]
        self.count_in = len(inputs.split(", "))
        self.function = getattr(elementwise_library(), name)

    def __call__(self, *args):
        do(lambda: self.run(*args), [_unwrap(a) for a in args[self.count_in :]])

    def run(self, *args):
        outputs = [_unwrap(a) for a in args[self.count_in :]]
        shape = outputs[0].shape
        arrays = []
        for (kind, _), value in zip(self.words, args, strict=True):
            value = _unwrap(value)
            assert not isinstance(value, np.ndarray) or value.dtype == kind, (kind, value.dtype)
            arrays.append(
                value if any(value is o for o in outputs) else np.ascontiguousarray(np.broadcast_to(value, shape), kind)
            )
        assert all(a.flags.c_contiguous and a.shape == shape for a in arrays)
        self.function(ctypes.c_longlong(outputs[0].size), *(ctypes.c_void_p(a.ctypes.data) for a in arrays))


class RawModule:
    """Kernels of a module; each block runs on `threads` real threads, so that a missing barrier shows."""

    threads = 1

    def __init__(self, code, options=()):
        self.names = [line.split("(")[0].split()[-1] for line in code.splitlines() if "__global__" in line]
        self.library = build(HOST_CUDA + code)

    def get_function(self, name):
        assert name in self.names

        def launch(grid, block, args):
            do(lambda: start(grid, args), [a._hidden for a in args if isinstance(a, StrictArray)])

        def start(grid, args):
            values = [_argument(a) for a in args]
            self.library.set_threads(self.threads)

            def run(thread):
                for b in range(grid[0]):
                    self.library.set_thread(thread, b)
                    getattr(self.library, name)(*values)
                    self.library.end_of_block()  # shared memory is used again

            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(run, range(self.threads)))

        return launch


def _argument(value):
    if isinstance(value, StrictArray):
        return ctypes.c_void_p(value.data.ptr)
    return {np.int32: ctypes.c_int, np.float64: ctypes.c_double}[type(value)](value)


def _matrix(pointer, rows, columns, leading, code):
    """The column-major matrix at an address, as a NumPy view."""
    flat = (code * (leading * columns)).from_address(pointer)
    return np.frombuffer(flat, code).reshape(columns, leading).T[:rows]


class Cublas:
    def gemm_ex(self, op_a, op_b, m, n, k, alpha, a, b, beta, c, kind, strides, compute, on_device):
        assert compute == 70 if kind else compute in (68, 75, 77)
        code, dtype = ((ctypes.c_float, np.float32), (ctypes.c_double, np.float64))[kind]
        factors = [np.frombuffer((code * 1).from_address(p), dtype) for p in (alpha, beta)]
        factors = factors if on_device else [np.array(f) for f in factors]  # captured by value
        lda, ldb, ldc = strides
        first = _matrix(a, k, m, lda, code).T if op_a else _matrix(a, m, k, lda, code)
        second = _matrix(b, n, k, ldb, code).T if op_b else _matrix(b, k, n, ldb, code)
        out = _matrix(c, m, n, ldc, code)

        def multiply():
            alpha, beta = factors[0][0], factors[1][0]
            out[...] = alpha * (first @ second) + (beta * out if beta else 0)

        do(multiply, [out])


class Module:
    """The part of CuPy's interface that is NumPy's, over StrictArray."""

    __name__ = "strict"
    ndarray = StrictArray
    ElementwiseKernel, RawModule = ElementwiseKernel, RawModule

    def __init__(self):
        self.waits = 0
        self.linalg = SimpleNamespace(solve=_guard(np.linalg.solve))
        null = Stream(True)
        self.cuda = SimpleNamespace(
            Stream=Stream,
            get_current_stream=lambda: Stream.current[-1] or null,
            using_allocator=lambda allocator: contextlib.nullcontext(),
        )

    def asarray(self, host, dtype=None):
        host = host._hidden if isinstance(host, StrictArray) else host
        return StrictArray(np.array(host, dtype=dtype))

    def __getattr__(self, name):
        value = getattr(np, name)
        return value if isinstance(value, type) else _guard(value)


xp, cublas = Module(), Cublas()
