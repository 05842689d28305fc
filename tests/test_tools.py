"""The contract that every `pymavg TOOL` keeps."""

import importlib

import pytest

from pymavg.cli import main, summary, tool_names
from pymavg.errors import PymavgError


@pytest.mark.parametrize("tool", tool_names())
def test_help(tool, capsys):
    assert summary(tool), "the docstring's first line tells what the tool does"
    module = importlib.import_module(f"pymavg.tools.{tool.replace('-', '_')}")
    with pytest.raises(SystemExit) as caught:
        module.main(["--help"])
    assert caught.value.code == 0
    assert f"usage: pymavg {tool}" in capsys.readouterr().out


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


def test_no_tool_is_an_error(capsys):
    assert main([]) == 1
