import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_corpus import make

from pymavg.cli import main
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.nnet.network import Network
from pymavg.training.launch import find_mpirun, mpi_command, mpi_environment

pytest.importorskip("mpi4py")
if find_mpirun() is None:
    pytest.skip("no mpirun", allow_module_level=True)

PROGRAM = str(Path(__file__).with_name("collective.py"))
TRAIN = [
    "--splice=1",
    "--hid-layers=1",
    "--hid-dim=12",
    "--minibatch-size=16",
    "--use-gpu=no",
    "--average-period=3",
    "--schedule=exponential",
    "--epochs=3",
    "--learn-rate=0.02",
    "--rank-in=5",
    "--rank-out=3",
]


def run(command, **environment):
    environment = mpi_environment({**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment})
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def collective(ranks, *words):
    command = (
        mpi_command(ranks, ["train"]) if ranks > 1 else [find_mpirun(), "-n", "1", sys.executable, "-m", "mpi4py", "-m"]
    )
    return run([*command[: command.index("mpi4py") + 1], PROGRAM, *words])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ranks")
    return directory, {ranks: collective(ranks, "checks", str(directory)) for ranks in (1, 2, 3)}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_collectives_and_the_protocol_of_uneven_shards(results, ranks):
    done = results[1][ranks]
    assert done.returncode == 0, done.stderr
    for rank in range(ranks):
        assert f"rank {rank} of {ranks}: all checks passed" in done.stdout


@pytest.mark.parametrize("kind", ["plain", "bmuf"])
def test_virtual_workers_times_ranks_is_the_number_of_workers(results, kind):
    models = [np.load(results[0] / f"{kind}.{ranks}.npy") for ranks in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_allclose(model, models[0], atol=2e-6)


def test_a_rank_that_raises_ends_the_job_with_its_reason():
    begun = time.monotonic()
    done = collective(2, "raise")
    assert done.returncode != 0
    assert time.monotonic() - begun < 30
    assert "RuntimeError: boom" in done.stderr and "in minibatch 5: u" in done.stderr


def test_a_rank_that_is_killed_ends_the_job():
    begun = time.monotonic()
    assert collective(2, "kill").returncode != 0
    assert time.monotonic() - begun < 30


def test_two_ranks_train_as_two_virtual_workers(tmp_path):
    *data, _ = make(tmp_path)
    done = run(mpi_command(2, ["train", *TRAIN, *data, str(tmp_path / "mpi")]))
    assert done.returncode == 0, done.stderr
    assert "rank 1 of 2" in done.stderr and "(rank 1)" in done.stderr
    assert main(["train", *TRAIN, "--virtual-workers=2", *data, str(tmp_path / "virtual")]) == 0
    models = [Network(read_nnet(tmp_path / name / "final.nnet")).theta for name in ("mpi", "virtual")]
    np.testing.assert_allclose(*models, atol=1e-4)


def test_a_mistake_is_told_once_and_ends_all_ranks(tmp_path):
    *data, _ = make(tmp_path)
    data[0] = str(tmp_path / "nowhere")
    done = run(mpi_command(2, ["train", *TRAIN, *data, str(tmp_path / "exp")]))
    assert done.returncode != 0
    assert done.stderr.count("nowhere") == 1 and "ERROR (train): rank 0" in done.stderr


def test_another_launcher_than_mpi4pys_is_detected(tmp_path):
    *data, _ = make(tmp_path)
    command = [sys.executable, "-m", "pymavg.cli", "train", *TRAIN, *data, str(tmp_path / "exp")]
    done = run(command, PMI_SIZE="4")
    assert done.returncode == 1
    assert "started as 4 tasks but MPI sees 1" in done.stderr
