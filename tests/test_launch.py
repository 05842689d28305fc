import sys

import pytest

from pymavg.errors import PymavgError
from pymavg.training import devices, launch
from pymavg.training.communicator import Local
from pymavg.training.launch import launched_tasks, limit_threads, mpi_command, mpi_environment


def test_the_launcher_says_how_many_tasks_there_are():
    assert launched_tasks({}) == 1
    assert launched_tasks({"OMPI_COMM_WORLD_SIZE": "4", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}) == 4
    assert launched_tasks({"PMI_SIZE": "3"}) == 3
    assert launched_tasks({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8"}) == 8
    assert launched_tasks({"SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8"}) == 1  # a batch script, no srun


def test_one_worker_needs_no_mpi():
    assert mpi_command(1, ["train", "x"]) == [sys.executable, "-m", "pymavg.cli", "train", "x"]


def test_the_command_goes_through_mpi4py_and_oversubscribes_when_it_must(monkeypatch):
    monkeypatch.setattr(launch, "find_mpirun", lambda: "/opt/mpirun")
    monkeypatch.setattr(launch, "cores", lambda: 2)
    tail = [sys.executable, "-m", "mpi4py", "-m", "pymavg.cli", "train"]
    assert mpi_command(2, ["train"]) == ["/opt/mpirun", "--bind-to", "none", "-n", "2", *tail]
    assert "--oversubscribe" in mpi_command(3, ["train"])
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert mpi_command(4, ["train"], "srun --mpi=pmix -n") == ["srun", "--mpi=pmix", "-n", "4", *tail]
    monkeypatch.setattr(launch, "find_mpirun", lambda: None)
    with pytest.raises(PymavgError, match="needs mpirun, and none is on PATH; pip install"):
        mpi_command(2, ["train"])


def test_a_system_mpirun_wins(monkeypatch, tmp_path):
    system = tmp_path / "mpirun"
    system.write_text("#!/bin/sh\n")
    system.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    assert launch.find_mpirun() == str(system)


def test_threads_are_shared_out_unless_set(monkeypatch):
    monkeypatch.setattr(launch, "cores", lambda: 8)
    environment = {}
    limit_threads(4, environment)
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "2"
    environment = {"OMP_NUM_THREADS": "5"}
    limit_threads(4, environment)
    assert environment == {"OMP_NUM_THREADS": "5"}


def test_root_is_allowed_where_one_is_root(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert mpi_environment({"A": "b"})["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert mpi_environment({"A": "b"}) == {"A": "b"}


class FourRanks(Local):
    size = 4

    def __init__(self, rank, marks):
        self.rank, self.marks = rank, marks

    def gather(self, row):
        self.marks[self.rank] = row[0]
        import numpy as np

        return np.array(self.marks, dtype=float)[:, np.newaxis]


@pytest.mark.parametrize("share", [False, True])
def test_ranks_take_a_card_each_or_share_when_asked(monkeypatch, share):
    chosen = []
    monkeypatch.setattr(devices, "device_count", lambda: 2)
    monkeypatch.setattr(devices, "array_module", lambda use_gpu, index: chosen.append(index))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    own = devices.zlib.crc32(f"{Local.host} 0,1".encode())
    for rank in range(4):
        comm = FourRanks(rank, [own] * 4)
        if share:
            devices.bind(comm, "auto", True)
        else:
            with pytest.raises(PymavgError, match="4 ranks on .* and 2 GPU: .*--virtual-workers"):
                devices.bind(comm, "auto", False)
    assert chosen == ([0, 1, 0, 1] if share else [])


def test_a_card_per_task_as_slurm_gives_them(monkeypatch):
    chosen = []
    monkeypatch.setattr(devices, "device_count", lambda: 1)
    monkeypatch.setattr(devices, "array_module", lambda use_gpu, index: chosen.append(index))
    for rank in range(4):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", str(rank))
        marks = [devices.zlib.crc32(f"{Local.host} {r}".encode()) for r in range(4)]
        devices.bind(FourRanks(rank, marks), "auto", False)
    assert chosen == [0] * 4


def test_a_home_that_cannot_be_written_moves_the_kernel_cache(monkeypatch):
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    devices.bind(Local(), "no")
    import os

    assert os.environ["CUPY_CACHE_DIR"].endswith(f"cupy-{os.getuid()}")
    monkeypatch.delenv("CUPY_CACHE_DIR")
