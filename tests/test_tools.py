"""The contract that every `pymavg TOOL` keeps."""

import importlib
import re
import subprocess
import sys

import pytest

from pymavg.arguments import MEANINGS
from pymavg.cli import main, summary, tool_names
from pymavg.errors import PymavgError
from pymavg.options import Parser


@pytest.mark.parametrize("tool", tool_names())
def test_help(tool, capsys):
    assert summary(tool), "the docstring's first line tells what the tool does"
    module = importlib.import_module(f"pymavg.tools.{tool.replace('-', '_')}")
    with pytest.raises(SystemExit) as caught:
        module.main(["--help"])
    assert caught.value.code == 0
    (usage,) = re.findall("usage: (.*)", capsys.readouterr().out)  # one, and not argparse's
    assert usage.startswith((f"pymavg {tool}", "utils/"))


def test_every_argument_is_explained_and_nothing_else(monkeypatch):
    parsers, names = [], set()
    monkeypatch.setattr(Parser, "parse_args", lambda self, *_: parsers.append(self) or self.exit())
    for tool in tool_names():
        with pytest.raises(SystemExit):
            importlib.import_module(f"pymavg.tools.{tool.replace('-', '_')}").main([])
    for parser in parsers:
        for action in parser._actions:
            if not action.option_strings:
                name = action.metavar or action.dest
                assert action.help, f"{parser.tool} <{name}>: say it in pymavg/arguments.py"
                names |= {name, f"{parser.tool} {name}"}
    assert len(parsers) == len(tool_names())
    assert set(MEANINGS) <= names


@pytest.mark.parametrize("tool", ["train", "pretrain-dbn", "train-sequence"])
def test_help_loads_no_numerical_library(tool):
    """So that it takes a tenth of a second: the help of steps/nnet asks for it too."""
    code = "import sys\nfrom pymavg.cli import main\ntry: main(sys.argv[1:])\nfinally: print('numpy' in sys.modules)"
    for words in (["--help"], ["--show-defaults", "average-period restart"]):
        done = subprocess.run([sys.executable, "-c", code, tool, *words], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("\nFalse\n")
    assert done.stdout == "  --average-period 10   --restart false\nFalse\n"


@pytest.mark.parametrize("tool", tool_names())
def test_unknown_option(tool):
    module = importlib.import_module(f"pymavg.tools.{tool.replace('-', '_')}")
    with pytest.raises((PymavgError, SystemExit)) as caught:
        module.main(["--no-such-option", "3"])
    assert "pymavg" in str(caught.value) and tool in str(caught.value)


def test_overview_lists_all_tools(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(tool in shown for tool in tool_names())


def test_unknown_tool_is_told_with_the_nearest(capsys):
    assert main(["validate-data-dri"]) == 1
    assert "no tool 'validate-data-dri'; did you mean validate-data-dir?" in capsys.readouterr().err


def test_a_full_disk_behind_standard_output_is_told(tmp_path):
    (tmp_path / "utt2spk").write_text("a-1 a\n")
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "pymavg.cli", "invert-map", str(tmp_path / "utt2spk")]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR (invert-map): standard output: No space left on device")
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_the_system_refuses_is_told_without_traceback(tmp_path, capsys):
    (tmp_path / "utt2spk").write_text("b-1 b\na-1 a\n")
    (tmp_path / ".backup").write_text("in the way of a directory")
    assert main(["fix-data-dir", str(tmp_path)]) == 1
    assert f"ERROR (fix-data-dir): {tmp_path}/.backup: File exists" in capsys.readouterr().err
    assert (tmp_path / "utt2spk").read_text() == "b-1 b\na-1 a\n"


def test_no_tool_is_an_error(capsys):
    assert main([]) == 1
