"""How options become those of sbatch or qsub: a table as in Kaldi's conf/slurm.conf and conf/queue.conf.

command sbatch --export=ALL         # how to submit
option mem=* --mem=$0               # --mem 4G  becomes  --mem=4G
option gpu=0                        # --gpu 0   becomes  nothing
option gpu=* -p gpu --gres=gpu:$0
default gpu=0                       # as if --gpu 0 were given
"""

import shlex
from pathlib import Path

from pymavg.errors import PymavgError, did_you_mean
from pymavg.files import read_lines

BUILT_IN = {
    "slurm.pl": """
command sbatch
option mem=0
option mem=* --mem=$0
option num_threads=* --cpus-per-task=$0
option gpu=0
option gpu=* --gres=gpu:$0
option time=* --time=$0
option max_jobs_run=*
""",
    "queue.pl": """
command qsub -cwd -S /bin/bash -j y
option mem=0
option mem=* -l mem_free=$0,ram_free=$0
option num_threads=1
option num_threads=* -pe smp $0
option gpu=0
option gpu=* -l gpu=$0
option time=* -l h_rt=$0
option max_jobs_run=* -tc $0
""",
}
NOT_FOR_THE_CLUSTER = ("config", "sync", "verbose")


def submission(request):
    """Return the words of the submitting command with all options of the request.

    The table is that of --config, or conf/slurm.conf (conf/queue.conf) where there is one, or the built-in one.

    Raises
    ------
    PymavgError
        On a table that cannot be read, or an option that the table does not know.
    """
    command, rules, given = _table(request)
    given |= {k.replace("-", "_"): v for k, v in request.options.items() if k not in NOT_FOR_THE_CLUSTER}
    words = shlex.split(command)
    for name, value in given.items():
        if (name, value) in rules:
            words += shlex.split(rules[name, value])
        elif (name, "*") in rules:
            words += [word.replace("$0", value) for word in shlex.split(rules[name, "*"])]
        else:
            hint = did_you_mean(name, {known for known, _ in rules})
            raise PymavgError(f"{request.runner}: no option --{name.replace('_', '-')}{hint}")
    return words


def _table(request):
    """Return the submitting command, {(option, value or '*'): words}, and {option: default value}."""
    name = request.options.get("config") or f"conf/{request.runner.removesuffix('.pl')}.conf"
    if "config" in request.options or Path(name).exists():
        lines = read_lines(name)
    else:
        name, lines = "the built-in table", BUILT_IN[request.runner].split("\n")
    command, rules, defaults = "", {}, {}
    for number, line in enumerate(lines, 1):
        kind, _, rest = line.split("#")[0].strip().partition(" ")
        key, _, words = rest.strip().partition(" ")
        option, equals, value = key.partition("=")
        if kind == "command":
            command = rest
        elif kind == "option" and equals:
            rules[option, value] = words
        elif kind == "default" and equals:
            defaults[option] = value
        elif kind:
            raise PymavgError(f"{name}:{number}: '{line.strip()}' is neither command, option name=value nor default")
    if not command:
        raise PymavgError(f"{name}: has no line 'command …' that says how to submit")
    return command, rules, defaults
