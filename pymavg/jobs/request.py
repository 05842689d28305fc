"""What a step asks of a job runner, in the words of Kaldi's run.pl, queue.pl and slurm.pl.

    run.pl [options] [JOB=1:8] log/align.JOB.log command argument … JOB …

Options: --mem 4G, --gpu 1, --num-threads 4, --max-jobs-run 10, --time 4:00:00, --config conf/slurm.conf, -sync yes|no,
any other `--name value` that the configuration file knows, and Grid Engine's own -l, -q, -pe, -tc.
In the log's name and in the command, JOB stands for the job's number. Words of the command are taken as text; only
a word that is a shell operator and nothing else (| || && ; > >> < 2> 2>> 2>&1) acts as one.
"""

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from pymavg.errors import PymavgError, did_you_mean

OPERATORS = {"|", "||", "&&", ";", ">", ">>", "<", "2>", "2>>", "2>&1", "&>"}
OPTIONS = ("mem", "gpu", "num-threads", "max-jobs-run", "time", "config", "verbose", "sync", "whole-nodes")
WHOLE = ("gpu", "num-threads", "max-jobs-run")


@dataclass
class Request:
    """One call of a job runner.

    Attributes
    ----------
    runner : str
        Name by which messages speak: run.pl, slurm.pl or queue.pl.
    options : dict
        Option name (with dashes) -> text.
    native : list of str
        Grid Engine's own options, as given.
    job_name, first, last
        `JOB=1:8` is ("JOB", 1, 8); without it job_name is "" and there is the one job 1.
    log : str
        Name of the log, still with JOB in it.
    words : list of str
        The command.
    """

    runner: str
    log: str
    words: list
    job_name: str = ""
    first: int = 1
    last: int = 1
    options: dict = field(default_factory=dict)
    native: list = field(default_factory=list)

    @property
    def jobs(self):
        """Numbers of all jobs."""
        return range(self.first, self.last + 1)

    @property
    def num_threads(self):
        """Threads of each job."""
        return int(self.options.get("num-threads", 1))

    def log_of(self, job):
        """Return the log's path for one job."""
        return Path(self.substitute(self.log, job))

    def command_of(self, job):
        """Return the line of shell that runs one job's command."""
        words = [self.substitute(word, job) for word in self.words]
        return " ".join(word if word in OPERATORS else shlex.quote(word) for word in words)

    def substitute(self, word, job):
        """Put the job's number in the place of JOB, but not inside longer words nor in the recipe's own path."""
        if not self.job_name:
            return word
        name = re.escape(self.job_name)
        above = (str(Path.cwd()), os.environ.get("PWD", ""), os.environ.get("PYMAVG_ROOT", ""))
        kept = [re.match(rf"/.*{name}[^/]*(?=/|$)", path) for path in above]
        literal = "|".join(re.escape(match.group()) for match in kept if match) or "(?!)"
        pattern = rf"({literal})(?![^/])|(?<![A-Za-z]){name}(?![A-Za-z])"
        return re.sub(pattern, lambda match: match.group(1) or str(job), word)


def parse_request(runner, arguments):
    """Parse the arguments of a job runner.

    Raises
    ------
    PymavgError
        On an unknown or incomplete option, a range that is not one, or a missing log or command.
    """
    rest = list(arguments)
    options, native, array = {}, [], None
    while rest:
        word = rest[0]
        match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", word)
        if match:
            array = _job_range(runner, match)
            del rest[0]
        elif word.startswith("--"):
            _take_option(runner, rest, options)
        elif word.startswith("-") and len(word) > 1:
            _take_native(runner, rest, options, native)
        else:
            break
    if len(rest) < 2:
        raise PymavgError(f"{runner}: needs a log and a command (see {runner} --help)")
    request = Request(runner, rest[0], rest[1:], *(array or ("", 1, 1)), options, native)
    if array and request.first != request.last and request.log_of(request.first) == request.log_of(request.last):
        raise PymavgError(f"{runner}: the log '{request.log}' lacks {array[0]}: all jobs would write into one file")
    return request


def _job_range(runner, match):
    name, bounds = match.groups()
    numbers = [int(bound) if re.fullmatch("[0-9]+", bound) else 0 for bound in bounds.split(":")]
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 or first < 1 or last < first:
        raise PymavgError(f"{runner}: '{match.group()}' is no range of jobs; expected for example {name}=1:8")
    return name, first, last


def _take_option(runner, rest, options):
    name, equals, value = rest.pop(0)[2:].partition("=")
    name = name.replace("_", "-")
    if not equals:
        if not rest:
            raise PymavgError(f"{runner}: --{name} needs a value (see {runner} --help)")
        value = rest.pop(0)
    if name in WHOLE and not value.isdigit():
        raise PymavgError(f"{runner}: --{name} needs a whole number, got '{value}'")
    if name == "num-threads" and int(value) == 0:
        raise PymavgError(f"{runner}: --{name} needs at least 1, got '{value}'")
    options[name] = value


def _take_native(runner, rest, options, native):
    name = rest.pop(0)
    count = {"-V": 0, "-pe": 2}.get(name, 1)
    if len(rest) < count:
        raise PymavgError(f"{runner}: {name} needs a value (see {runner} --help)")
    values, rest[:count] = rest[:count], []
    if name == "-sync":
        options["sync"] = values[0]
    elif name == "-tc":
        options["max-jobs-run"] = values[0]
    elif name in ("-l", "-q", "-pe", "-V", "-P", "-p"):
        native += [name, *values]
    else:
        raise PymavgError(f"{runner}: no option {name}{did_you_mean('-' + name, ['--' + o for o in OPTIONS])}")
