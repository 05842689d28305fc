"""The CUDA kernels without a GPU: their own text run on the host against the plain formulas, and compiled by NVRTC."""

import ctypes
import importlib.util
from pathlib import Path

import host_cuda
import numpy as np
import pytest
import strict_device
from strict_device import RawModule, xp

from pymavg.backend import to_device, to_host
from pymavg.nnet import fisher
from pymavg.nnet.cuda_fisher import FISHER
from pymavg.nnet.cuda_kernels import ELEMENTWISE, PREAMBLE, ROW_KERNELS, ROWS
from pymavg.nnet.cuda_operations import CudaOperations
from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.natural_gradient import OnlinePreconditioner
from pymavg.nnet.operations import Operations

RNG = np.random.default_rng(4)


def cuda():
    return CudaOperations(xp, strict_device.cublas)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


KERNELS = {  # method and arguments: arrays are changed in place and compared afterwards
    "gemm": ("gemm", normal(5, 7), normal(7, 4), normal(5, 4), 0.5, 2.0),
    "gemm_transposed": ("gemm", normal(7, 5), normal(4, 7), normal(5, 4), -0.5, 0.0, True, True),
    "add_rows": ("add_rows_", normal(6), normal(5, 6), 0.3, 0.9),
    "add_weighted_rows": ("add_rows_", normal(6), normal(5, 6), 0.3, 0.9, normal(5)),
    "scale_add": ("scale_add_", normal(5, 6), 0.9, normal(5, 6), -0.1),
    "scale_add_vector": ("scale_add_", normal(6), 0.9, normal(6), -0.1),
    "add_correction": ("add_correction_", normal(5, 6), normal(5, 6), 0.01, 0.9),
    "square_distance": ("square_distance", normal(5, 6), normal(5, 6)),
    "deviation": ("deviation", normal(5, 6) + 3),
    "row_squares": ("row_squares", normal(5, 300)),
    **{f"{k}": ("activate_", k, normal(5, 6) * 9, normal(6)) for k in ("linear", "sigmoid", "tanh", "relu", "softmax")},
    **{
        f"derive_{k}": ("derive_", k, normal(5, 6), abs(normal(5, 6)), 0.5)
        for k in ("linear", "sigmoid", "tanh", "relu")
    },
    "dropout": ("dropout_", normal(50, 60), 0.7, 12345 << 30),
    "sample": ("sample_hidden", normal(50, 60), normal(60), normal(50, 60), 98765 << 30),
    "softmax_xent": ("softmax_xent_", normal(5, 300) * 5, np.arange(5, dtype=np.int32) * 60, None, np.zeros(3)),
    "ties": ("softmax_xent_", np.zeros((4, 3), np.float32), np.array([0, 1, 2, 0], np.int32), None, np.zeros(3)),
    "weighted": ("softmax_xent_", normal(5, 300), np.arange(5), abs(normal(5)), np.zeros(3)),
    "posteriors": ("softmax_xent_", normal(2, 2), np.array([[0.3, 0.7], [1, 0]], np.float32), normal(2), np.zeros(3)),
    "gather": (
        *("gather", normal(9, 3), np.array([0, 8, 4, 4]), np.array([0, 5, 4, 3]), np.array([4, 8, 4, 8])),
        *(np.arange(-2, 3, dtype=np.int32), normal(15), normal(15), normal(4, 15)),
    ),
    "gather_plain": (
        *("gather", normal(9, 3), np.array([0, 8]), np.array([0, 5]), np.array([4, 8])),
        *(np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.float32), normal(2, 3)),
    ),
    "limit_rows": ("limit_rows_", normal(5, 6), 2.0),
    "shrink_l1": ("shrink_l1_", normal(5, 6), normal(5, 6), 0.3, 0.5),
}


@pytest.mark.parametrize("make", [HostOperations, cuda, lambda: Operations(xp)], ids=["host", "cuda", "plain"])
@pytest.mark.parametrize("name", KERNELS)
def test_operation_against_its_definition(name, make):
    method, *arguments = KERNELS[name]
    results = []
    for operations in (Operations(np), make()):
        own = [to_device(operations.xp, a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
        returned = getattr(operations, method)(*own)
        results.append([to_host(a) for a in [*own, returned] if not isinstance(a, (str, type(None)))])
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=3e-6, atol=3e-6)


@pytest.fixture(params=[1, 4])
def threads(request, monkeypatch):
    """Run row kernels with that many threads in a block."""
    monkeypatch.setattr(RawModule, "threads", request.param)
    return request.param


@pytest.mark.parametrize("name", ["softmax_xent", "weighted", "ties", "row_squares", "gather"])
def test_row_kernels_with_threads(threads, name):
    test_operation_against_its_definition(name, cuda)


@pytest.mark.parametrize("rank", [1, 2, 5, 8])
def test_renewal_on_the_device(threads, rank):
    """The same estimate follows from a series of minibatches, whatever computes the small matrices."""
    inputs = [(normal(32, 12) * np.geomspace(1, 0.01, 12)).astype(np.float32) for _ in range(8)]
    estimates = []
    for operations in (Operations(np), cuda()):
        conditioner = OnlinePreconditioner(12, rank, operations, np.float32, ones=True)
        for x in inputs:
            gamma, _, _ = conditioner.precondition_(to_device(operations.xp, x.copy()))
        assert conditioner.self_test() < 1e-5
        estimates.append(conditioner.state() | {"gamma": to_host(gamma)})
    for name in ("rho", "gamma"):
        np.testing.assert_allclose(estimates[1][name], estimates[0][name], rtol=1e-5)
    np.testing.assert_allclose(np.sort(estimates[1]["d"]), np.sort(estimates[0]["d"]), rtol=1e-4)
    products = [e["W"].T @ e["W"] for e in estimates]
    np.testing.assert_allclose(products[1], products[0], atol=1e-5)


@pytest.mark.parametrize("case", ["skew", "lost", "good"])
def test_orthonormalising_on_the_device(threads, case):
    rng = np.random.default_rng(1)
    rows, root_e = np.linalg.qr(rng.standard_normal((9, 6)))[0].T, rng.random(6) + 0.1
    if case == "skew":
        rows = (np.eye(6) + 0.1 * rng.standard_normal((6, 6))) @ rows
    elif case == "lost":
        rows[3] = rows[1]
    factor = root_e[:, None] * rows
    arrays = [to_device(xp, a) for a in (factor, root_e)]
    turned = to_host(cuda().reorthonormalise(*arrays, to_device(xp, np.int32(1)).reshape(())))
    gram = turned @ turned.T / np.outer(root_e, root_e)
    if case == "lost":
        assert np.linalg.eigvalsh(gram).max() < 1 + 1e-9  # still no more than an orthonormal set
    else:
        np.testing.assert_allclose(turned, fisher.reorthonormalise(factor, root_e), atol=1e-12)
        np.testing.assert_allclose(gram, np.eye(6), atol=1e-9)


def nvrtc_library():
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations) if spec else []
    found = sorted(p for f in folders for p in Path(f).glob("*/lib/libnvrtc.so.*"))
    if not found:
        pytest.skip("needs NVRTC (pip install nvidia-cuda-nvrtc-cu12, 90 MB)")
    return ctypes.CDLL(str(found[0]))


def compile_ptx(source, architecture):
    lib, program = nvrtc_library(), ctypes.c_void_p()
    assert lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++14")
    status, size = lib.nvrtcCompileProgram(program, 2, options), ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
def test_kernels_compile_for_the_device(architecture):
    functions = [
        host_cuda.elementwise_source(f"pymavg_{name}", *parts, qualifier='extern "C" __global__')
        for name, parts in ELEMENTWISE.items()
    ]
    ptx = compile_ptx(PREAMBLE + "".join(functions) + ROWS + FISHER, architecture)
    for name in [*(f"pymavg_{n}" for n in ELEMENTWISE), *ROW_KERNELS, "renew", "orthonormalise"]:
        assert f".entry {name}(" in ptx
    assert set(host_cuda.CTYPES) >= {
        word.split()[0] for parts in ELEMENTWISE.values() for word in ", ".join(parts[:2]).split(", ")
    }
