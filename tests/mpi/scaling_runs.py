"""Real trainings under mpirun beside the scaling model: `python tests/mpi/scaling_runs.py [DIR]`, two minutes.

One worker gives the speed; two that average every 10 minibatches give the losses; two that average every 2, and every
20, are predicted. The exit status is 1 where the model is more than 10 % off. Only an idle machine gives figures worth
having: on a busy one the runs themselves differ by more.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import toy_corpus  # noqa: E402

from pymavg.cli import main  # noqa: E402
from pymavg.training.launch import mpi_command, mpi_environment  # noqa: E402

RUNS = {"1": (1, 10), "2": (2, 10), "2_every_2": (2, 2), "2_every_20": (2, 20)}  # name: workers, period
UTTERANCES = int(os.environ.get("UTTERANCES", "300"))  # of 3 seconds
BUSY = 0.5  # processes that want a core, beside which times are not worth having
OPTIONS = ["--hid-layers=3", "--hid-dim=512", "--schedule=exponential", "--epochs=6", "--use-gpu=no", "--restart=true"]


def run(directory):
    """Train all; return the exit status of the comparison."""
    if os.getloadavg()[0] > BUSY:
        print(f"# the machine is busy (load {os.getloadavg()[0]:.1f}): expect larger errors than the model's own")
    data = toy_corpus.make(directory / "corpus", utterances=UTTERANCES, lengths=(200, 400))[:4]
    exps = {name: directory / f"exp_{name}" for name in RUNS}
    for name, (workers, period) in RUNS.items():
        print(f"training with {workers} workers, an average every {period} minibatches", flush=True)
        words = ["train", *OPTIONS, f"--average-period={period}", *data, str(exps[name])]
        log = directory / f"{name}.log"
        with open(log, "w", encoding="utf-8") as stream:
            done = subprocess.run(mpi_command(workers, words), env=mpi_environment(os.environ), stderr=stream)
        if done.returncode:
            sys.exit(f"training failed, see {log}")
    return main(["scaling", "--check-runs", " ".join(map(str, exps.values()))])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(run(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as place:
        sys.exit(run(Path(place)))
