"""path.sh, sourced anywhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "path.sh"
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}


def bash(line, cwd, shell=("bash", "-c"), **environment):
    return subprocess.run([*shell, line], cwd=cwd, env=CLEAN | environment, capture_output=True, text=True, timeout=30)


def test_twice_from_another_directory_under_set_u(tmp_path):
    done = bash(
        f"set -euo pipefail; . {PATH}; env | sort > one; . {PATH}; env | sort > two; cmp one two; echo alive", tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
    environment = dict(line.split("=", 1) for line in (tmp_path / "one").read_text().splitlines() if "=" in line)
    assert environment["PYMAVG_ROOT"] == str(ROOT)
    assert environment["PATH"].split(":")[0] == f"{ROOT}/.venv/bin"
    assert f"{ROOT}/utils" in environment["PATH"].split(":")
    assert environment["LC_ALL"] == "C"
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert os.access(environment["NUMBA_CACHE_DIR"], os.W_OK)


@pytest.mark.parametrize("kaldi_root", ["", "/nonexistent"])
def test_kaldi_root_does_not_matter(tmp_path, kaldi_root):
    assert bash(f". {PATH} && pymavg --help", tmp_path, KALDI_ROOT=kaldi_root).returncode == 0


def test_through_the_link_of_a_recipe():
    done = bash(". ./path.sh; echo $PYMAVG_ROOT", ROOT / "egs/swbd")
    assert done.stdout == f"{ROOT}\n"


@pytest.mark.parametrize("name", ["with space", "JOB", "a JOB'b"])
def test_in_a_directory_with_an_odd_name(tmp_path, name):
    """The whole tree works there: path.sh, links, job runner."""
    root = tmp_path / name
    for part in ("utils", "pymavg"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PATH, root)
    recipe = root / "egs/mine"
    recipe.mkdir(parents=True)
    for link in ("path.sh", "utils"):
        (recipe / link).symlink_to(f"../../{link}")
    line = 'set -eu; . ./path.sh; run.pl JOB=1:2 "$PWD/exp/log/JOB.log" echo "root $PYMAVG_ROOT" JOB'
    done = bash(line, recipe)
    assert done.returncode == 0, done.stderr
    assert f"root {root} 2\n" in (recipe / "exp/log/2.log").read_text()


def test_interactive_shell_stays_open(tmp_path):
    done = bash(f". {PATH}; . {PATH}; echo alive", tmp_path, ("bash", "--norc", "-i", "-c"))
    assert "alive" in done.stdout


def test_a_copy_outside_says_what_it_needs_and_never_ends_the_shell(tmp_path):
    shutil.copy(PATH, tmp_path)
    done = bash(". ./path.sh; echo status $?", tmp_path)
    assert done.stdout == "status 1\n"
    assert "set PYMAVG_ROOT" in done.stderr
    done = bash(". ./path.sh && echo $PYMAVG_ROOT", tmp_path, PYMAVG_ROOT=str(ROOT))  # as in a spool directory
    assert done.stdout == f"{ROOT}\n"


def test_read_only_home_and_tree(tmp_path):
    done = bash(f". {PATH}; echo $NUMBA_CACHE_DIR", tmp_path, NUMBA_CACHE_DIR="/mine")
    assert done.stdout == "/mine\n"
    tree = tmp_path / "tree"
    (tree / "pymavg").mkdir(parents=True)
    (tree / "pymavg/cli.py").touch()
    (tree / ".cache").touch()  # stands for a place that cannot be written, also for root
    shutil.copy(PATH, tree)
    done = bash(f". {tree}/path.sh; echo $NUMBA_CACHE_DIR", tmp_path, HOME="/proc/none", TMPDIR=str(tmp_path))
    assert done.stdout == f"{tmp_path}/pymavg-{os.getuid()}/numba\n"


def test_plain_sh_in_the_recipes_directory():
    done = bash(". ./path.sh; . ./path.sh; echo $PYMAVG_ROOT", ROOT / "egs/swbd", ("sh", "-euc"))
    assert done.stdout == f"{ROOT}\n", done.stderr


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh(tmp_path):
    done = bash(f". {PATH}; . {PATH}; echo $PYMAVG_ROOT", tmp_path, ("zsh", "-c"))
    assert done.stdout == f"{ROOT}\n", done.stderr
