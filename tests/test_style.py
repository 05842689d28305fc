"""ruff and ShellCheck find nothing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def clean(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff():
    clean(BIN / "ruff", "check", ".")


def test_ruff_format():
    clean(BIN / "ruff", "format", "--check", ".")


def test_shellcheck():
    folders = (".ci", "egs", "steps", "utils")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if is_shell(path)]
    assert len(found) > 10
    clean(BIN / "shellcheck", "-x", "path.sh", "cmd.sh", *sorted(found))


def is_shell(path):
    return path.is_file() and not path.is_symlink() and (path.suffix in (".sh", ".pl") or path.name == "run")
