"""What `make gpu-check` does, on the model of a device; and that one failing check stops no other."""

from types import SimpleNamespace

import numpy as np
import pytest
import strict_device
from strict_device import xp

from pymavg.nnet import dispatch, features, network, rbm
from pymavg.nnet.cuda_operations import CudaOperations
from pymavg.nnet.host_operations import HostOperations
from pymavg.tools import gpu_check as tool
from pymavg.training import gpu_check, gpu_speed, staging


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """Let everything on strict arrays use the operations of CUDA and its graphs."""
    operations = CudaOperations(xp, strict_device.cublas)
    for module in (dispatch, features, network, rbm, gpu_speed):
        monkeypatch.setattr(module, "operations", lambda m, *rest: HostOperations() if m is np else operations)
    monkeypatch.setattr(staging, "host_buffer", lambda module, shape, dtype: np.empty(shape, dtype))
    monkeypatch.setattr(xp.cuda, "MemoryPool", lambda: SimpleNamespace(malloc=None), raising=False)


def test_all_checks_pass():
    found = list(gpu_check.results(xp))
    assert len(found) > 35
    assert [r.line() for r in found if not r.good] == []


def test_a_failing_check_is_told_and_the_others_go_on(monkeypatch, capsys):
    def wrong(self, a, *rest):
        a += 1

    def broken(self, *rest):
        raise RuntimeError("CUDA_ERROR\n of a kernel")

    monkeypatch.setattr(CudaOperations, "limit_rows_", wrong)
    monkeypatch.setattr(CudaOperations, "shrink_l1_", broken)
    monkeypatch.setattr(tool, "describe", lambda xp: "a model")
    assert not tool.run(xp, False, 0)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    failed = {line[0]: line for line in lines if line[3] == "FAILED"}
    assert set(failed) == {
        "operation limit_rows",
        "operation shrink_l1",
        "training: sgd with momentum and penalties",
    }
    assert "RuntimeError('CUDA_ERROR\\n of a kernel')" in failed["operation shrink_l1"][4]
    assert lines[-1][3] == "ok"


def test_speeds(monkeypatch):
    monkeypatch.setattr(gpu_speed, "STEPS", 2)
    monkeypatch.setattr(gpu_speed, "FRAMES", 400)
    found = list(gpu_speed.speeds(xp, 0.0, [12, 12], (7,), (16,)))
    assert len(found) == 4 * 3
    ours = [s for s in found if "torch" not in s.name]
    assert all(s.frames_per_second > 0 and not s.trouble for s in ours)
    assert all((s.share is None) == s.name.endswith("products") for s in ours)
    assert "7 outputs, minibatch 16, tf32: ngsgd" in [s.name for s in found]


def test_without_a_gpu_it_skips(capsys):
    assert tool.main([]) == 0
    assert "skipped: no usable GPU" in capsys.readouterr().out
