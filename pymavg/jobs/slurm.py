"""The words of SLURM: how an array is asked for, watched, cancelled, and what became of one of its tasks."""

import re
import subprocess

MEMORY = re.compile(r"memory limit|oom[-_ ]?kill", re.IGNORECASE)  # in what slurmstepd says of a job it ended
REMEDIES = {
    "OUT_OF_MEMORY": "ask for more memory, for example --mem 8G",
    "TIMEOUT": "ask for more time, for example --time 8:00:00",
    "NODE_FAIL": "the machine failed: run the step again",
    "PREEMPTED": "another job took the machine: run the step again",
    "CANCELLED": "somebody cancelled it, or the memory or time limit of the cluster did",
}


class Slurm:
    """SLURM's commands, for cluster.run."""

    cancel = "scancel"
    task_variable = "SLURM_ARRAY_TASK_ID"

    @staticmethod
    def arguments(request, script):
        """Return the options of sbatch that make an array and keep what tasks print outside of their logs."""
        limit = request.options.get("max-jobs-run")
        array = f"--array={request.first}-{request.last}" + (f"%{limit}" if limit else "")
        output = f"--output={script}" + (".%a.out" if request.job_name else ".out")
        return ["--parsable", "--open-mode=truncate", output, *([array] if request.job_name else [])]

    @staticmethod
    def output(script, job, is_array):
        """Return the name of the file with what a task printed outside of its log."""
        return f"{script}.{job}.out" if is_array else f"{script}.out"

    @staticmethod
    def job_number(printed):
        """Return the job's number from what `sbatch --parsable` printed: `123` or `123;cluster`."""
        return printed.split("\n")[-1].split(";")[0]

    @staticmethod
    def active(number):
        """Return whether a task of the job still waits or runs; a job that squeue no longer knows has ended."""
        done = subprocess.run(["squeue", "-h", "-j", number, "-o", "%T"], capture_output=True, text=True, check=False)
        if done.returncode:
            return "Invalid job id" not in done.stderr  # else the controller is busy: ask again
        return bool(done.stdout.strip())

    @staticmethod
    def state(number, job, count, said):
        """Return the state of one task; "" if unknown.

        From what slurmstepd has `said` (memory limits kept without cgroups end as FAILED elsewhere), the accounting
        or, where there is none, the controller.
        """
        if MEMORY.search(said):
            return "OUT_OF_MEMORY"
        task = f"{number}_{job}" if count > 1 else number
        words = _output(["sacct", "-n", "-X", "-P", "-o", "State", "-j", task]).split()
        if words:
            return words[0]
        shown = _output(["scontrol", "-o", "show", "job", task]) or _output(["scontrol", "-o", "show", "job", number])
        return next((word.split("=")[1] for word in shown.split() if word.startswith("JobState=")), "")


def _output(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
