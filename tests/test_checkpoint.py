import subprocess
import sys

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.training.checkpoint import Checkpoints, Lock, compare, load_arrays, save_arrays
from pymavg.training.communicator import Local


def test_arrays_come_back_in_bits_and_without_pickle(tmp_path):
    arrays = {"theta": np.random.default_rng(1).normal(size=50).astype(np.float32), "fisher.0.in": np.eye(3)}
    save_arrays(tmp_path / "a.npz", arrays, {"epoch": 3, "rate": 0.1})
    found, meta = load_arrays(tmp_path / "a.npz")
    assert meta == {"epoch": 3, "rate": 0.1}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_damage_is_an_error_with_a_remedy(tmp_path):
    save_arrays(tmp_path / "a.npz", {"x": np.zeros(1000)})
    whole = (tmp_path / "a.npz").read_bytes()
    for content in (b"", whole[:500], whole[:-30]):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(PymavgError, match="--restart true"):
            load_arrays(tmp_path / "a.npz")


def test_only_the_last_whole_checkpoint_counts(tmp_path):
    store = Checkpoints(tmp_path / "checkpoint", Local())
    assert store.load() is None
    store.save(1, {"x": np.ones(2)}, {"n": 1}, {0: {"w": np.ones(3)}})
    (tmp_path / "checkpoint" / "00000002").mkdir()  # as a kill in the middle of writing leaves it
    (tmp_path / "checkpoint" / "00000002" / "worker.0.npz").write_bytes(b"half")
    assert store.load()[1] == {"n": 1} and store.load_workers([0])[0]["w"].sum() == 3
    store.save(2, {"x": np.zeros(2)}, {"n": 2}, {0: {"w": np.zeros(3)}})
    assert store.load()[1] == {"n": 2}
    assert [p.name for p in (tmp_path / "checkpoint").iterdir() if p.is_dir()] == ["00000002"]


def test_what_differs_is_named():
    with pytest.raises(PymavgError, match=r"workers was 2, now 4, seed was 1, now None; .*--restart true"):
        compare({"workers": 2, "seed": 1, "lr": 0.1}, {"workers": 4, "lr": 0.1}, False)
    compare({"workers": 2}, {"workers": 4}, True)


def test_a_directory_is_locked_while_its_training_lives(tmp_path):
    code = f"from pymavg.training.checkpoint import Lock; Lock({str(tmp_path)!r})"
    holder = Lock(tmp_path)
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert other.returncode != 0 and "pid" in other.stderr and "trains here already" in other.stderr
    holder.release()
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    Lock(tmp_path).release()  # the lock of a process that is gone is no lock
