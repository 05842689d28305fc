"""Entry point: `python3 -m pymavg.jobs run.pl|slurm.pl|queue.pl arguments`."""

import sys

from pymavg.errors import PymavgError
from pymavg.jobs import request

USAGE = "usage: {} [options] [JOB=1:N] <log> <command> <argument>…\n\n"


def main(arguments):
    """Run one request and return its exit status."""
    runner, rest = arguments[0], arguments[1:]
    if rest[:1] in (["--help"], ["-h"]):
        print(USAGE.format(runner) + request.__doc__)
        return 0
    try:
        asked = request.parse_request(runner, rest)
        if runner == "run.pl":
            from pymavg.jobs import local as backend
        else:
            from pymavg.jobs import cluster as backend
        backend.run(asked)
    except PymavgError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
