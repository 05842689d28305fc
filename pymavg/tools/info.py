"""Tell what files of an experiment are and hold: networks, models, trees, graphs, archives, lattices, tables, audio.

usage: pymavg info <file> [<file> ...]
 e.g.: pymavg info exp/tri3/final.mdl exp/tri3/tree exp/dnn/final.nnet exp/tri3_ali/ali.1.gz data/train/feats.scp

Every file is read to its end and known by its content, in whatever encoding it is. Exit status 1, with one line for
each file, when one is missing or damaged, or holds values that are not finite.
"""

import sys

from pymavg.errors import PymavgError
from pymavg.formats.kinds import describe
from pymavg.formats.summary import NOT_FINITE
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("info", __doc__)
    parser.add_argument("file", nargs="+")
    status = 0
    for path in parser.parse_args(argv).file:
        try:
            lines = describe(path)
            print(*lines, sep="\n", flush=True)
            bad = [line for line in lines if line.startswith(f"  {NOT_FINITE}")]
            if bad:
                raise PymavgError(f"{path}: {bad[0].strip()}; make it anew")
        except PymavgError as error:
            print(f"ERROR (info): {error}", file=sys.stderr)
            status = 1
    return status
