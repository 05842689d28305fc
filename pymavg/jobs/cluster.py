"""Run jobs under SLURM (slurm.pl) or Grid Engine (queue.pl).

All jobs of a request become one array. Each task sources path.sh itself, so it depends on no environment handed over by
the cluster, and then is a call of run.pl for its one job, which writes the log as on a single machine.
"""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.jobs import config, slurm
from pymavg.jobs.local import failure
from pymavg.jobs.signals import ending_on_signals

ROOT = Path(__file__).resolve().parents[2]
LOG_DELAY = 20.0  # seconds that a network file system may take to show another machine's log


def run(request):
    """Submit all jobs, wait for them (unless -sync no), and check how each of them ended.

    Raises
    ------
    PymavgError
        When the submission is refused or a job failed; holds the scheduler's state of the first failing job, with the
        remedy, and the last lines of its log.
    """
    system = SYSTEMS[request.runner]
    script = _write_script(request)
    for job in request.jobs:
        request.log_of(job).parent.mkdir(parents=True, exist_ok=True)
        request.log_of(job).unlink(missing_ok=True)  # an old log must not pass for the new one
    command = [*config.submission(request), *system.arguments(request, script), str(script)]
    with ending_on_signals():
        number = system.job_number(call(command, request.runner))
        if request.options.get("sync", "yes") in ("no", "n", "0", "false"):
            print(f"{request.runner}: submitted as {number}", file=sys.stderr)
            return
        try:
            _wait(lambda: system.active(number))
        except SystemExit:
            call([system.cancel, number], request.runner)
            print(f"{request.runner}: job {number} cancelled", file=sys.stderr)
            raise

    def output(job):
        return _read(system.output(script, job, bool(request.job_name)))

    def state(job):
        return system.state(number, job, len(request.jobs), output(job))

    failed = _failed(request, state)
    if failed:
        raise PymavgError(_explain(request, failed, state(failed[0]), output(failed[0])))


def _explain(request, failed, state, output):
    """Return the message about failed jobs: the first one's state, the remedy, its log, and what the system said."""
    remedy = f"; {slurm.REMEDIES[state]}" if state in slurm.REMEDIES else ""
    message = f"{request.runner}: job {failed[0]} of {len(request.jobs)}: {state}{remedy}\n" if state else ""
    message += failure(request, failed)
    if output and not _ended(request.log_of(failed[0]), "# Ended (code "):  # else the output repeats the log
        message += f"\n{request.runner}: and the system says\n" + "\n".join(
            "    " + x for x in output.splitlines()[-5:]
        )
    return message


def call(command, runner):
    """Run a program of the scheduler and return what it prints.

    Raises
    ------
    PymavgError
        When it is missing or fails.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PymavgError(f"{runner}: no command {command[0]} on this machine; run.pl runs jobs locally") from None
    if done.returncode:
        raise PymavgError(f"{runner}: {shlex.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


class GridEngine:
    """The words of Grid Engine."""

    cancel = "qdel"
    task_variable = "SGE_TASK_ID"

    @staticmethod
    def arguments(request, script):
        """Return the options of qsub that make an array."""
        array = ["-t", f"{request.first}:{request.last}"] if request.job_name else []
        return ["-terse", "-o", f"{script}.out", *array, *request.native]

    @staticmethod
    def job_number(printed):
        """Return the job's number from what qsub printed: `123.1-8:1`."""
        return printed.split("\n")[-1].split(".")[0]

    @staticmethod
    def active(number):
        """Return whether a task of the job still waits or runs."""
        return subprocess.run(["qstat", "-j", number], capture_output=True, check=False).returncode == 0

    @staticmethod
    def state(_number, _job, _count, _said):
        """Return what the scheduler says of a job: nothing, as qacct is seldom open to users."""
        return ""

    @staticmethod
    def output(script, _job, _is_array):
        """Return the name of the file with what the tasks printed outside of their logs."""
        return f"{script}.out"


SYSTEMS = {"slurm.pl": slurm.Slurm, "queue.pl": GridEngine}


def _write_script(request):
    """Write the script of the array and return its path: <log directory>/q/<log name>.sh ."""
    log = request.log_of(request.first)
    script = log.parent / "q" / f"{request.substitute(Path(request.log).name, 'JOB')}.sh"
    task = SYSTEMS[request.runner].task_variable
    array = [f'{request.job_name}="${task}:${task}"'] if request.job_name else []
    words = ["run.pl", "--num-threads", str(request.num_threads), *array]
    lines = [
        "#!/usr/bin/env bash",
        f"cd {shlex.quote(os.environ.get('PWD') or str(Path.cwd()))} || exit 1",
        f". {shlex.quote(str(ROOT / 'path.sh'))} || exit 1",
        " ".join(words) + " " + shlex.join([request.log, *request.words]),
    ]
    with atomic_open(script) as stream:
        stream.write("\n".join(lines) + "\n")
    return script


def _wait(active):
    pause = 0.2
    while active():
        time.sleep(pause)
        pause = min(1.5 * pause, 10.0)


def _failed(request, state):
    """Return the numbers of the jobs whose logs do not end well.

    A job that the scheduler does not call failed, and whose log has no end, is given time: the log may be under way.
    """
    failed = list(request.jobs)
    deadline = time.time() + LOG_DELAY
    while True:
        failed = [job for job in failed if not _ended(request.log_of(job), "# Ended (code 0)")]
        without_end = [job for job in failed if not _ended(request.log_of(job), "# Ended (code ")]
        if time.time() > deadline or not any(state(job) in ("", "COMPLETED") for job in without_end):
            return failed
        time.sleep(0.5)


def _ended(log, mark):
    return any(line.startswith(mark) for line in _read(log).splitlines()[-5:])


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
