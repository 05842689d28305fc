"""The GPU path without a GPU: strict device arrays, the kernels' real text on the host, and NVRTC."""

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import strict_device
from strict_device import CTYPES, StrictArray, xp

from pymavg.backend import to_device, to_host
from pymavg.kaldi import nnet1
from pymavg.nnet import network, rbm
from pymavg.nnet.cuda_kernels import ELEMENTWISE, PREAMBLE, ROW_KERNELS, ROWS
from pymavg.nnet.cuda_operations import CudaOperations
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.host_operations import HostOperations
from pymavg.nnet.initialise import init_network, init_rbm
from pymavg.nnet.loss import evaluate
from pymavg.nnet.operations import Operations
from pymavg.nnet.optimizer import OptimizerOptions, make_optimizer

RNG = np.random.default_rng(4)


def cuda():
    return CudaOperations(xp, strict_device.cublas)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_the_stand_in_is_strict():
    a, host = xp.asarray(np.ones(3)), np.ones(3)
    for wrong in (lambda: a + host, lambda: host + a, lambda: np.asarray(a), lambda: xp.maximum(a, host)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        a[...] = host
    assert isinstance(a + 1 + a.sum(), StrictArray)


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
    "weighted": ("softmax_xent_", normal(5, 300), np.arange(5, dtype=np.int32), abs(normal(5)), np.zeros(3)),
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


@pytest.fixture(params=["cuda", "plain"])
def device(request, monkeypatch):
    """Let networks and RBMs on strict arrays use either set of operations."""

    def choose(module, dtype, precision="float32"):
        return HostOperations() if module is np else cuda() if request.param == "cuda" else Operations(module)

    monkeypatch.setattr(network, "operations", choose)
    monkeypatch.setattr(rbm, "operations", choose)
    return xp


TRAININGS = {
    "sgd": OptimizerOptions(optimizer="sgd"),
    "momentum": OptimizerOptions(optimizer="sgd", momentum=0.5, l2_penalty=1e-3, l1_penalty=1e-4),
    "dropout": OptimizerOptions(optimizer="sgd", dropout_retention=0.8),
    "ngsgd": OptimizerOptions(rank_in=4, rank_out=3, update_period=2),
    "simple": OptimizerOptions(precondition="simple"),
    "mse": OptimizerOptions(objective_function="mse", rank_in=4, rank_out=3),
}


@pytest.mark.parametrize(
    ("name", "activation"),
    [*((name, "sigmoid") for name in TRAININGS), ("ngsgd", "tanh"), ("dropout", "tanh"), ("dropout", "relu")],
)
def test_training_on_the_device(device, name, activation):
    splice = [nnet1.Splice(np.arange(-1, 2), 6), nnet1.AddShift(normal(18)), nnet1.Rescale(abs(normal(18)))]
    feats, thetas, losses = normal(200, 6), [], []
    rows, targets = RNG.integers(0, 200, (13, 16)), RNG.integers(0, 5, (13, 16)).astype(np.int32)
    weights = RNG.random(16).astype(np.float32)
    for module in (np, device):
        net = network.Network(init_network([18, 12, 9, 5], activation=activation), module)
        optimizer, transform = make_optimizer(net, TRAININGS[name], seed=2), FeatureTransform(splice, module)
        on_device = to_device(module, feats)
        for r, t in zip(rows, targets, strict=True):
            x = transform.gather(on_device, to_device(module, r))
            optimizer.step(x, to_device(module, t), 0.02, to_device(module, weights))
        optimizer.load_state(optimizer.state())
        losses.append(to_host(evaluate(net, x, to_device(module, targets[0]), stats=optimizer.stats)))
        thetas.append(to_host(net.theta))
    np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-4)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


@pytest.mark.parametrize("visible", ["bern", "gauss"])
def test_rbm_on_the_device(device, visible):
    v, thetas = RNG.random((8, 20, 10)).astype(np.float32), []
    for module in (np, device):
        machine = rbm.Rbm.from_component(init_rbm(10, 7, visible), module)
        generator = np.random.default_rng(3)
        for part in v:
            machine.step(to_device(module, part), 0.05, 0.5, 2e-4, generator)
        machine.load_state(machine.state())
        thetas.append(to_host(machine.theta))
        assert to_host(machine.hidden_probs(to_device(module, v[0]))).shape == (20, 7)
    np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-5)


@pytest.mark.parametrize("name", ["sgd", "momentum", "dropout", "ngsgd"])
def test_no_step_waits_for_the_device(device, name):
    net = network.Network(init_network([18, 12, 5]), device)
    optimizer = make_optimizer(net, TRAININGS[name])
    x, targets = to_device(device, normal(16, 18)), to_device(device, np.zeros(16, np.int32))
    for _ in range(20):
        optimizer.step(x, targets, 0.01)
    for preconditioner in sum(getattr(optimizer, "preconditioners", []), []):
        preconditioner.period = 1000  # the renewal of the Fisher estimate itself is small work on the host
    before = device.waits
    for _ in range(5):
        optimizer.step(x, targets, 0.01)
    assert device.waits == before


def test_rbm_step_does_not_wait(device):
    machine = rbm.Rbm.from_component(init_rbm(10, 7, "gauss"), device)
    v, before = to_device(device, normal(16, 10)), device.waits
    for _ in range(3):
        machine.step(v, 0.01, 0.5, 2e-4, np.random.default_rng(0))
    assert device.waits == before


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
        strict_device.elementwise_source(f"pymavg_{name}", *parts, qualifier='extern "C" __global__')
        for name, parts in ELEMENTWISE.items()
    ]
    ptx = compile_ptx(PREAMBLE + "".join(functions) + ROWS, architecture)
    for name in [*(f"pymavg_{n}" for n in ELEMENTWISE), *ROW_KERNELS]:
        assert f".entry {name}(" in ptx
    assert set(CTYPES) >= {
        word.split()[0] for parts in ELEMENTWISE.values() for word in ", ".join(parts[:2]).split(", ")
    }
