"""Run jobs on this machine, as run.pl does."""

import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from datetime import datetime

from pymavg.errors import PymavgError
from pymavg.jobs.signals import ending_on_signals

LINES_SHOWN = 10  # of the first failing log
# Ends the job, all that it started with it, when the pipe on its standard input closes: this process was killed.
GUARD = '{ trap "" TERM; read -r || { kill -TERM 0; sleep 2; kill -KILL 0; }; } <&0 >/dev/null 2>&1 & exec </dev/null'
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run(request):
    """Run all jobs of a request, at most as many at once as there are cores (or --max-jobs-run).

    After a failure no further job is started; those that run are waited for.

    Raises
    ------
    PymavgError
        When a job failed or could not be started; holds the last lines of the first failing log.
    """
    limit = int(request.options.get("max-jobs-run", 0)) or max(1, cores() // request.num_threads)
    waiting, running, failed = list(request.jobs), {}, []
    with _stopped_together(running):
        while running or (waiting and not failed):
            while waiting and not failed and len(running) < limit:
                job = waiting.pop(0)
                running[job] = _Job(request, job)
            time.sleep(0.02)
            for job in [job for job, started in running.items() if started.finished()]:
                if running.pop(job).status != 0:
                    failed.append(job)
    if failed:
        raise PymavgError(failure(request, sorted(failed), f", {len(waiting)} not started" if waiting else ""))


def cores():
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def failure(request, failed, remark=""):
    """Return the message about failed jobs: how many, which log, and that log's last lines."""
    log = request.log_of(failed[0])
    count = len(request.jobs)
    which = f"job {failed[0]} of {count}" if count > 1 else "the job"
    also = f" ({len(failed)} failed{remark})" if len(failed) > 1 or remark else ""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_SHOWN:]
    except OSError:
        lines = ["(the log was never written)"]
    shown = "\n".join("    " + line for line in lines)
    return f"{request.runner}: {which} failed{also}; log {log} ends with\n{shown}"


class _Job:
    """One running job and its log."""

    def __init__(self, request, job):
        self.request = request
        self.command = request.command_of(job)
        path = request.log_of(job)
        self.start = time.time()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.log = path.open("w", encoding="utf-8")
            self._tell(f"# Running on {platform.node()}\n# Started at {_now()}\n# {self.command}\n#\n")
        except OSError as error:
            raise PymavgError(f"{request.runner}: log {path} cannot be written: {error.strerror}") from error
        self.process = subprocess.Popen(
            ["bash", "-c", f"{GUARD}; set -eo pipefail; {self.command}"],
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=self.log,
            env=_environment(request),
            start_new_session=True,  # so that the whole group can be ended
        )

    def finished(self):
        """Return whether the job has ended; the first time, end its log too."""
        status = self.process.poll()
        if status is None or self.log.closed:
            return status is not None
        self.status = status if status >= 0 else 128 - status
        self.process.communicate(b"\n")  # lets the guard go
        elapsed = round(time.time() - self.start)
        if self.status == 128 + signal.SIGKILL:
            self._tell("# Killed by SIGKILL; was the memory full? (fewer jobs at once: --max-jobs-run)\n")
        self._tell(f"# Accounting: time={elapsed} threads={self.request.num_threads}\n")
        self._tell(f"# Ended (code {self.status}) at {_now()}, elapsed time {elapsed} seconds\n")
        self.log.close()
        return True

    def _tell(self, text):
        self.log.seek(0, os.SEEK_END)
        self.log.write(text)
        self.log.flush()

    def end(self, number):
        """Send a signal to the job and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def _environment(request):
    """Return the jobs' environment: side by side, each job keeps to its number of threads unless the user set one."""
    env = dict(os.environ)
    if len(request.jobs) > 1 or "num-threads" in request.options:
        for name in THREAD_VARIABLES:
            env.setdefault(name, str(request.num_threads))
    return env


def _now():
    return datetime.now().strftime("%a %b %e %H:%M:%S %Y")


@contextlib.contextmanager
def _stopped_together(running):
    """End the running jobs, with all their children, if this process fails, is interrupted or told to end."""
    with ending_on_signals():
        try:
            yield
        finally:
            if running:
                print(f"{len(running)} running jobs are ended", file=sys.stderr)
            for number in (signal.SIGTERM, signal.SIGKILL) if running else ():
                for job in running.values():
                    job.end(number)
                deadline = time.time() + 3
                while time.time() < deadline and not all(job.finished() for job in running.values()):
                    time.sleep(0.05)
