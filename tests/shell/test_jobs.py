"""run.pl and the parsing that all job runners share."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pymavg.errors import PymavgError
from pymavg.jobs.config import submission
from pymavg.jobs.request import parse_request

RUN_PL = Path(__file__).parents[2] / "utils" / "run.pl"


def run(cwd, *arguments, **environment):
    command = [str(RUN_PL), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_log_has_kaldis_lines(tmp_path):
    done = run(tmp_path, "JOB=1:3", "exp/log/x.JOB.log", "echo", "part JOB of 3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = (tmp_path / "exp/log/x.3.log").read_text().splitlines()
    assert log[0].startswith("# Running on ")
    assert log[1].startswith("# Started at ")
    assert log[2:5] == ["# echo 'part 3 of 3'", "#", "part 3 of 3"]
    assert log[5] == "# Accounting: time=0 threads=1"
    assert log[6].startswith("# Ended (code 0) at ") and log[6].endswith("elapsed time 0 seconds")


def test_one_job_without_array(tmp_path):
    assert run(tmp_path, "--mem", "4G", "--gpu", 1, "x.log", "echo", "JOB").returncode == 0
    assert "\nJOB\n" in (tmp_path / "x.log").read_text()


def test_words_are_text_but_bare_operators_work(tmp_path):
    words = [
        "echo",
        "$(touch a)",
        "`touch b`",
        "$HOME",
        "it's",
        'a "quoted" word',
        ";touch c",
        "|",
        "tr",
        "q",
        "Q",
        ">",
        "out.JOB",
    ]
    assert run(tmp_path, "JOB=1:1", "x.JOB.log", *words).returncode == 0
    assert (tmp_path / "out.1").read_text() == '$(touch a) `touch b` $HOME it\'s a "Quoted" word ;touch c\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.1", "x.1.log"]


def test_failure_anywhere_in_a_pipe_counts(tmp_path):
    assert run(tmp_path, "x.log", "false", "|", "cat").returncode == 1
    assert run(tmp_path, "x.log", "false", ";", "true").returncode == 1


def test_first_failing_log_is_shown(tmp_path):
    done = run(
        tmp_path, "--max-jobs-run", 1, "JOB=1:9", "log/x.JOB.log", "bash", "-c", "echo reason JOB; exit $((JOB >= 3))"
    )
    assert done.returncode == 1
    assert "run.pl: job 3 of 9 failed (1 failed, 6 not started); log log/x.3.log ends with" in done.stderr
    assert "reason 3" in done.stderr and "# Ended (code 1)" in done.stderr
    assert not (tmp_path / "log/x.4.log").exists()


def test_missing_program_is_in_the_log(tmp_path):
    done = run(tmp_path, "x.log", "no-such-program")
    assert done.returncode == 1
    assert "no-such-program: command not found" in done.stderr


def test_no_more_jobs_at_once_than_told(tmp_path):
    count = "touch running.JOB; ls running.* | wc -l; sleep 0.3; rm running.JOB"
    assert run(tmp_path, "--max-jobs-run", 2, "JOB=1:6", "x.JOB.log", "bash", "-c", count).returncode == 0
    counts = [int((tmp_path / f"x.{job}.log").read_text().splitlines()[4]) for job in range(1, 7)]
    assert max(counts) == 2


def test_jobs_side_by_side_keep_to_their_threads(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    shown = ["bash", "-c", "echo threads=${OMP_NUM_THREADS:-free}"]
    for options, expected in (
        (["JOB=1:2", "x.JOB.log"], "1"),
        (["--num-threads", "3", "x.1.log"], "3"),
        (["x.1.log"], "free"),
    ):
        subprocess.run([RUN_PL, *options, *shown], cwd=tmp_path, env=environment, check=True)
        assert f"threads={expected}\n" in (tmp_path / "x.1.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_jobs_and_their_children(tmp_path, number):
    command = [str(RUN_PL), "JOB=1:2", "x.JOB.log", "bash", "-c", "echo $$ > pid.JOB; sleep 300 | cat"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 20
    while not all((tmp_path / f"pid.{job}").exists() for job in (1, 2)) and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=20) == 128 + number
    for job in (1, 2):
        assert not Path(f"/proc/{(tmp_path / f'pid.{job}').read_text().strip()}").exists()
        assert f"# Ended (code {128 + signal.SIGTERM})" in (tmp_path / f"x.{job}.log").read_text()


def test_jobs_do_not_outlive_a_killed_runner(tmp_path):
    command = [str(RUN_PL), "x.log", "bash", "-c", "trap '' TERM; echo $$ > pid; sleep 300"]
    process = subprocess.Popen(command, cwd=tmp_path)
    assert _within(20, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    job = Path("/proc", (tmp_path / "pid").read_text().strip())
    process.kill()
    process.wait()
    assert _within(10, lambda: not job.exists() or "State:\tZ" in (job / "status").read_text())


def test_a_told_end_leaves_no_file_under_way(tmp_path):
    """The job's own SIGTERM: what was being written, beside its final name, is removed."""
    write = (
        "import sys, types, time, pymavg.cli, pymavg.files, pymavg.tools\n"
        "def main(argv):\n"
        "    with pymavg.files.atomic_open('out.ark') as stream: time.sleep(300)\n"
        "sys.modules['pymavg.tools.doctor'] = types.SimpleNamespace(main=main)\n"
        "sys.exit(pymavg.cli.main(['doctor']))"
    )
    (tmp_path / "write.py").write_text(write)
    environment = os.environ | {"PYTHONPATH": str(RUN_PL.parents[1])}
    process = subprocess.Popen(
        [str(RUN_PL), "log/x.log", sys.executable, "write.py"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE
    )
    assert _within(20, lambda: list(tmp_path.glob(".out.ark.*.tmp")))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "write.py"]


def test_nohup_keeps_a_hangup_away(tmp_path):
    process = subprocess.Popen(["nohup", str(RUN_PL), "x.log", "bash", "-c", "touch started; sleep 1"], cwd=tmp_path)
    assert _within(20, lambda: (tmp_path / "started").exists())
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=20) == 0


def _within(seconds, reached):
    """Return whether a state is reached within some seconds."""
    deadline = time.time() + seconds
    while not reached() and time.time() < deadline:
        time.sleep(0.05)
    return bool(reached())


def test_a_log_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "log").touch()
    done = run(tmp_path, "log/x.log", "true")
    assert done.returncode == 1
    assert "run.pl: log log/x.log cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.log"], "needs a log and a command"),
        (["JOB=5:2", "x.JOB.log", "true"], "'JOB=5:2' is no range of jobs"),
        (["JOB=0:2", "x.JOB.log", "true"], "'JOB=0:2' is no range of jobs"),
        (["JOB=1:-2", "x.JOB.log", "true"], "'JOB=1:-2' is no range of jobs"),
        (["JOB=1:", "x.JOB.log", "true"], "'JOB=1:' is no range of jobs"),
        (["--num-threads", "0", "x.log", "true"], "--num-threads needs at least 1, got '0'"),
        (["JOB=1:2", "x.log", "true"], "the log 'x.log' lacks JOB"),
        (["--num-threads", "many", "x.log", "true"], "--num-threads needs a whole number, got 'many'"),
        (["--mem"], "--mem needs a value"),
        (["-gpu", "1", "x.log", "true"], "no option -gpu; did you mean --gpu?"),
    ],
)
def test_mistakes_are_told(arguments, message):
    with pytest.raises(PymavgError) as caught:
        parse_request("run.pl", arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ali.JOB.gz", "ali.7.gz"),
        ("split8/JOB/feats.scp", "split8/7/feats.scp"),
        ("ark:gunzip -c JOB.gz |", "ark:gunzip -c 7.gz |"),
        ("--job=JOB", "--job=7"),
        ("raw_JOB_2", "raw_7_2"),
        ("JOBS", "JOBS"),
        ("MYJOB", "MYJOB"),
    ],
)
def test_job_stands_for_the_number(word, expected):
    assert parse_request("run.pl", ["JOB=7:7", "x.JOB", "true"]).substitute(word, 7) == expected


def test_job_in_the_recipes_own_path_stays(tmp_path, monkeypatch):
    recipe = tmp_path / "JOB/the JOB/egs"
    recipe.mkdir(parents=True)
    monkeypatch.chdir(recipe)
    request = parse_request("run.pl", ["JOB=7:7", "x.JOB", "true"])
    assert request.substitute(f"{recipe}/exp/JOB.gz", 7) == f"{recipe}/exp/7.gz"
    assert request.substitute(f"scp:{tmp_path}/JOB/the JOB/data/JOB", 7) == f"scp:{tmp_path}/JOB/the JOB/data/7"


def submitted(tmp_path, monkeypatch, runner, *arguments):
    monkeypatch.chdir(tmp_path)
    return submission(parse_request(runner, [*arguments, "x.JOB.log", "true"]))


def test_built_in_tables(tmp_path, monkeypatch):
    options = ["--mem", "4G", "--gpu", "1", "--num-threads", "2", "--max-jobs-run", "9", "JOB=1:2"]
    assert submitted(tmp_path, monkeypatch, "slurm.pl", *options) == [
        "sbatch", "--mem=4G", "--gres=gpu:1", "--cpus-per-task=2",
    ]  # fmt: skip
    sge = submitted(tmp_path, monkeypatch, "queue.pl", *options)
    assert " ".join(sge) == "qsub -cwd -S /bin/bash -j y -l mem_free=4G,ram_free=4G -l gpu=1 -pe smp 2 -tc 9"


def test_kaldis_configuration_file(tmp_path, monkeypatch):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/slurm.conf").write_text(
        "# ours\ncommand sbatch --export=PATH\noption mem=* --mem-per-cpu=$0\noption mem=0  # nothing\n"
        "default gpu=0\noption gpu=0 -p shared\noption gpu=* -p gpu --gres=gpu:$0\noption whim=* --whim $0\n"
    )
    words = submitted(tmp_path, monkeypatch, "slurm.pl", "--mem", "2G", "--whim", "x", "JOB=1:2")
    assert words == ["sbatch", "--export=PATH", "-p", "shared", "--mem-per-cpu=2G", "--whim", "x"]
    words = submitted(tmp_path, monkeypatch, "slurm.pl", "--mem", "0", "--gpu", "2", "JOB=1:2")
    assert words == ["sbatch", "--export=PATH", "-p", "gpu", "--gres=gpu:2"]
    (tmp_path / "conf/slurm.conf").write_text("command sbatch\nopton mem=*\n")
    with pytest.raises(PymavgError, match="conf/slurm.conf:2: 'opton mem=\\*' is neither"):
        submitted(tmp_path, monkeypatch, "slurm.pl", "JOB=1:2")
