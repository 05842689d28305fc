"""Run a training tool on several workers: under mpirun, or as it is for one.

usage: pymavg launch [options] TOOL arguments …
 e.g.: pymavg launch --num-workers 4 train --learn-rate 0.008 data/train data/cv exp/ali exp/ali_cv exp/dnn
"""

import os

from pymavg.options import Parser, log, positive
from pymavg.training.launch import limit_threads, local_ranks, mpi_command, mpi_environment


def main(argv):
    """Run the tool; this process becomes the launcher."""
    parser = Parser("launch", __doc__)
    parser.add_argument("--num-workers", type=positive, default=1, help="MPI ranks; default 1, without MPI")
    parser.add_argument(
        "--mpi-cmd", default="", help="launcher up to the number of ranks, such as 'srun --mpi=pmix -n'"
    )
    split = next((i for i, word in enumerate(argv) if i and not word.startswith("--") and _is_tool(argv, i)), len(argv))
    given = parser.parse_args(argv[:split])
    if split == len(argv):
        parser.error("no tool to run, such as train or pretrain-dbn")
    environment = mpi_environment(os.environ)
    limit_threads(local_ranks(given.num_workers, given.mpi_cmd), environment)
    command = mpi_command(given.num_workers, argv[split:], given.mpi_cmd)
    log("# " + " ".join(command))
    os.execvpe(command[0], command, environment)


def _is_tool(argv, i):
    """Return whether word i begins the tool's own command line, not the value of an option before it."""
    return argv[i - 1] not in ("--num-workers", "--mpi-cmd")
