"""The command `pymavg TOOL [options] arguments`."""

import ast
import importlib
import importlib.util
import os
import pkgutil
import signal
import sys
from pathlib import Path

import pymavg.tools
from pymavg.errors import PymavgError, did_you_mean
from pymavg.jobs.signals import ending_on_signals


def tool_names():
    """Return the names of all tools: one for each module in pymavg.tools."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(pymavg.tools.__path__))


def summary(name):
    """Return the first line of a tool's docstring without importing the tool."""
    source = Path(pymavg.tools.__path__[0], name.replace("-", "_") + ".py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


def usage():
    """Return the overview that `pymavg --help` prints."""
    lines = ["usage: pymavg TOOL [options] arguments      (pymavg TOOL --help explains one)", ""]
    return "\n".join(lines + [f"  {name:<27} {summary(name)}" for name in tool_names()])


def main(argv=None):
    """Run one tool and return its exit status: 0, or 1 after an error that the user can mend."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else 1
    name = argv[0]
    if name not in tool_names():
        print(f"pymavg: no tool '{name}'{did_you_mean(name, tool_names())} (pymavg --help lists them)", file=sys.stderr)
        return 1
    try:
        module = importlib.import_module(f"pymavg.tools.{name.replace('-', '_')}")
        with ending_on_signals((signal.SIGTERM, signal.SIGHUP)):  # so that files under way are removed
            status = module.main(argv[1:]) or 0
        sys.stdout.flush()  # a full disk is to be told here, not when the interpreter ends
        return status
    except PymavgError as error:
        print(f"ERROR ({name}): {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return _give_up_output()
    except OSError as error:
        place = error.filename2 or error.filename or "standard output"
        reason = error.strerror or error
        print(f"ERROR ({name}): {place}: {reason}; check the name, disk space and permissions", file=sys.stderr)
        return _give_up_output()
    except KeyboardInterrupt:
        print(f"ERROR ({name}): interrupted", file=sys.stderr)
        return 130


def _give_up_output():
    """Keep the interpreter from writing, when it ends, what could not be written; return the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


if __name__ == "__main__":
    sys.exit(main())
