"""utils/parse_options.sh, option by option."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = f"""#!/usr/bin/env bash
set -euo pipefail
stage=0
lr=0.1
nj=               # may be left to the script
use_gpu=false
name=
kind=x            # a name that the parser itself might use
help_message="usage: $0 [--stage N] <a>"
. "{ROOT}/utils/parse_options.sh"
printf '%s|' "$stage" "$lr" "$use_gpu" "$name" "$kind" "$@"
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "s.sh").write_text(SCRIPT)

    def call(*arguments):
        return subprocess.run(
            ["bash", "s.sh", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )

    return call


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([], "0|0.1|false||x|"),
        (["--stage", "3", "a", "b c"], "3|0.1|false||x|a|b c|"),
        (["--stage=3", "--lr=1e-3", "a"], "3|1e-3|false||x|a|"),
        (["--stage", "-1", "--use-gpu", "true"], "-1|0.1|true||x|"),
        (["--use_gpu", "true"], "0|0.1|true||x|"),
        (["--name", "a=b --c", "--kind=", "a"], "0|0.1|false|a=b --c||a|"),
        (["--name=$(touch hacked)"], "0|0.1|false|$(touch hacked)|x|"),
        (["--", "--stage"], "0|0.1|false||x|--stage|"),
        (["--lr", "2"], "0|2|false||x|"),
    ],
)
def test_values_arrive_as_text(script, tmp_path, arguments, values):
    done = script(*arguments)
    assert (done.returncode, done.stdout) == (0, values), done.stderr
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stage"], "s.sh: --stage needs a value (see s.sh --help)"),
        (["--stage", "abc"], "--stage needs a whole number, got 'abc'"),
        (["--stage", "1.5"], "--stage needs a whole number, got '1.5'"),
        (["--stage", ""], "--stage needs a whole number, got ''"),
        (["--lr", "$(touch hacked)"], "--lr needs a number, got '$(touch hacked)'"),
        (["--nj", "x"], "--nj needs a whole number of at least 1, got 'x'"),
        (["--nj=0"], "--nj needs a whole number of at least 1, got '0'"),
        (["--lr", "nan"], "--lr needs a number, got 'nan'"),
        (["--use-gpu", "yes"], "--use-gpu needs true or false, got 'yes'"),
        (["--stge", "3"], "no option --stge; did you mean --stage?"),
        (["--stge=3"], "no option --stge; did you mean --stage?"),
        (["-stage", "3"], "no option -stage; did you mean --stage?"),
        (["--a[$(touch hacked)]", "3"], "no option --a[$(touch hacked)]"),
        (["--PATH", "3"], "no option --PATH"),
        (["a", "--stage", "4"], "option --stage must stand before the arguments"),
        (["", "b"], "an argument is an empty string"),
        (["a", ""], "an argument is an empty string"),
        (["--config", "none.conf"], "--config none.conf: no such file"),
    ],
)
def test_mistakes_are_told(script, tmp_path, arguments, message):
    done = script(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "hacked").exists()


def test_help(script):
    done = script("--stage", "3", "--help")
    assert (done.returncode, done.stdout) == (0, "usage: s.sh [--stage N] <a>\n")


def test_config_file_is_read_and_not_run(script, tmp_path):
    (tmp_path / "c.conf").write_text("# sizes\nstage=4   # last\n--name='a b'\n\nkind=$(touch hacked)\nlr=1e-4")
    done = script("--config", "c.conf", "--stage=5", "x")
    assert (done.returncode, done.stdout) == (0, "5|1e-4|false|a b|$(touch hacked)|x|"), done.stderr
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("touch hacked", "c.conf:2: 'touch hacked' is not name=value"),
        ("stge=1", "no option --stge; did you mean --stage?"),
    ],
)
def test_wrong_config_lines_are_told(script, tmp_path, line, message):
    (tmp_path / "c.conf").write_text(f"stage=1\n{line}\n")
    done = script("--config", "c.conf")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "hacked").exists()
