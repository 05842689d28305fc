"""slurm.pl against a real SLURM."""

import signal
import subprocess
import time
from pathlib import Path

SLURM_PL = Path(__file__).parents[2] / "utils" / "slurm.pl"


def submit(env, cwd, *arguments):
    command = [str(SLURM_PL), *arguments]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_array_runs_and_logs_as_run_pl_does(slurm, tmp_path):
    done = submit(slurm, tmp_path, "--mem", "100M", "JOB=1:3", "log/x.JOB.log", "echo", "job", "JOB", "of 3")
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log/x.2.log").read_text()
    assert "job 2 of 3\n" in log
    assert "# Running on" in log and "# Ended (code 0)" in log and "# Accounting: time=" in log


def test_job_sources_path_sh_itself(slurm, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/slurm.conf").write_text("command sbatch --export=NONE\noption mem=* --mem=$0\n")
    done = submit(
        slurm, tmp_path, "log/x.log", "bash", "-c", "echo root=$PYMAVG_ROOT locale=$LC_ALL; command -v run.pl"
    )
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log/x.log").read_text()
    assert f"root={SLURM_PL.parents[1]} locale=C\n{SLURM_PL.parent}/run.pl" in log


def test_failing_job_is_named_with_its_log(slurm, tmp_path):
    command = ["bash", "-c", "echo reason of JOB; exit $((JOB == 2))"]
    done = submit(slurm, tmp_path, "JOB=1:3", "log/x.JOB.log", *command)
    assert done.returncode == 1
    assert "job 2 of 3: FAILED" in done.stderr
    assert "log log/x.2.log ends with" in done.stderr and "reason of 2" in done.stderr


def test_memory_limit_is_told_with_a_remedy(slurm, tmp_path):
    hungry = "import time; x = bytearray(300 << 20); time.sleep(30)"
    done = submit(slurm, tmp_path, "--mem", "40M", "log/x.log", "python3", "-c", hungry)
    assert done.returncode == 1
    assert "OUT_OF_MEMORY; ask for more memory, for example --mem 8G" in done.stderr


def test_interrupt_cancels_what_was_submitted(slurm, tmp_path):
    command = [str(SLURM_PL), "JOB=1:2", "log/x.JOB.log", "sleep", "300"]
    process = subprocess.Popen(command, env=slurm, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 30
    while not (tmp_path / "log/x.1.log").exists() and time.time() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert "cancelled" in process.stderr.read()
    left = subprocess.run(["squeue", "-h", "-t", "PD,R"], env=slurm, capture_output=True, text=True)
    assert left.stdout.strip() == ""


def test_unknown_option_is_refused_with_the_nearest(slurm, tmp_path):
    done = submit(slurm, tmp_path, "--memm", "4G", "x.log", "true")
    assert done.returncode == 1
    assert "no option --memm; did you mean mem?" in done.stderr
