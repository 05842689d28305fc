"""The calls of cuBLAS, against a library that notes what it is asked for."""

import ctypes
from types import SimpleNamespace

import pytest

from pymavg.errors import PymavgError
from pymavg.nnet import cublas


class Function:
    def __init__(self, name, calls, status=0):
        self.name, self.calls, self.status, self.argtypes = name, calls, status, None

    def __call__(self, *arguments):
        if self.argtypes:
            assert len(arguments) == len(self.argtypes)
            arguments = [kind.from_param(a) and a for kind, a in zip(self.argtypes, arguments, strict=True)]
        self.calls.append((self.name, [getattr(a, "value", a) for a in arguments]))
        return self.status


def library(calls, broken=None):
    names = ["Create_v2", "SetStream_v2", "SetWorkspace_v2", "SetPointerMode_v2", "GemmEx"]
    functions = {f"cublas{n}": Function(f"cublas{n}", calls, 7 if n == broken else 0) for n in names}
    return SimpleNamespace(**functions)


def device(stream=11):
    places = iter(range(1000, 9000, 1000))
    return SimpleNamespace(
        cuda=SimpleNamespace(
            get_current_stream=lambda: SimpleNamespace(ptr=stream),
            alloc=lambda size: SimpleNamespace(ptr=next(places), size=size),
            runtime=SimpleNamespace(getDevice=lambda: 0),
        )
    )


def test_a_product_is_one_call_on_the_current_stream_with_a_workspace(monkeypatch):
    calls = []
    monkeypatch.setattr(cublas, "_library", lambda xp: library(calls))
    blas = cublas.Cublas(device())
    for m, n in ((30, 20), (30, 20), (3000, 2000)):
        blas.gemm_ex(0, 1, m, n, 10, 101, 102, 103, 104, 105, 0, (30, 20, 30), 68, True)
    assert [name for name, _ in calls[1:5]] == [
        "cublasSetStream_v2",
        "cublasSetWorkspace_v2",
        "cublasSetPointerMode_v2",
        "cublasGemmEx",
    ]
    assert calls[1][1][1] == 11 and calls[3][1][1] == 1
    assert calls[4][1][1:] == [0, 1, 30, 20, 10, 101, 102, 0, 30, 103, 0, 20, 104, 105, 0, 30, 68, -1]
    workspaces = [arguments[1:] for name, arguments in calls if name == "cublasSetWorkspace_v2"]
    assert workspaces == [[1000, 1 << 20], [1000, 1 << 20], [2000, 16 << 20]]


def test_what_fails_is_named(monkeypatch):
    monkeypatch.setattr(cublas, "_library", lambda xp: library([], "Create_v2"))
    with pytest.raises(PymavgError, match="cublasCreate_v2 failed with status 7"):
        cublas.Cublas(device())


def test_all_networks_share_a_handle(monkeypatch):
    calls = []
    monkeypatch.setattr(cublas, "_library", lambda xp: library(calls))
    monkeypatch.setattr(cublas, "_HANDLES", {})
    assert cublas.cublas_of(device()) is cublas.cublas_of(device())
    assert len(calls) == 1


def test_the_types_of_the_call():
    assert len(cublas.GEMM_EX) == 19
    assert cublas.GEMM_EX.count(ctypes.c_void_p) == 6
