"""egs/digits/run.sh: every part once, other options refused."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "egs/digits"

STUB = """#!/usr/bin/env bash
case $0 in
  */train_mono.sh) [ -z "${FAIL:-}" ] || exit 3 ;;
  */prepare_dict.sh) mkdir -p "$1/.." ;;
  */decode.sh) mkdir -p "${@: -1}" && echo "%WER 1.00 [ 3 / 300 ]" >"${@: -1}/wer_10_0.0" ;;
esac
echo "ran $0"
"""


@pytest.fixture
def recipe(tmp_path):
    """Return run(*options) of a copy of the recipe whose steps do nothing but say that they ran."""
    copy = tmp_path / "recipe"
    shutil.copytree(
        RECIPE, copy, symlinks=True, ignore=shutil.ignore_patterns("data", "exp", "local", "steps", "utils")
    )
    for script in set(re.findall(r"(?:steps|utils|local)/[a-z0-9_/]+\.sh", (RECIPE / "run.sh").read_text())):
        (copy / script).parent.mkdir(parents=True, exist_ok=True)
        (copy / script).write_text(STUB)
        (copy / script).chmod(0o755)
    shutil.copy(RECIPE / "utils/parse_options.sh", copy / "utils")
    for name in ("path.sh", "cmd.sh"):
        (copy / name).unlink()
        (copy / name).write_text("train_cmd=run.pl decode_cmd=run.pl cuda_cmd=run.pl\n")

    def run(*options, **environment):
        command = [copy / "run.sh", "--dir", "out", *options, "recordings"]
        return subprocess.run(command, cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True)

    return run


def test_a_run_goes_on_where_it_stopped(recipe, tmp_path):
    failed = recipe(FAIL="yes")
    assert failed.returncode == 3 and "ran steps/make_mfcc.sh" in failed.stdout
    mended = recipe()
    assert mended.returncode == 0, mended.stderr
    assert "make_features: done before" in mended.stdout and "ran steps/train_mono.sh" in mended.stdout
    again = recipe()
    assert again.returncode == 0 and "ran" not in again.stdout
    assert again.stdout.splitlines()[-3:] == [f"{system}\t%WER 1.00 [ 3 / 300 ]" for system in ("mono", "tri1", "dnn")]
    assert (tmp_path / "out/exp").is_dir()  # relative to where the user is, not to the recipe


@pytest.mark.parametrize("options", [("--seed", "2"), ("--test-speakers", "theo"), ("--quick", "true")])
def test_other_options_are_refused(recipe, options):
    assert recipe().returncode == 0
    other = recipe(*options)
    assert (other.returncode, other.stdout, other.stderr.count("\n")) == (1, "", 1)
    assert "was made with other settings" in other.stderr and "give another --dir" in other.stderr
