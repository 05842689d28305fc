"""Make a data directory in which no transcription comes much more often than a number of times.

usage: utils/data/remove_dup_utts.sh <max-count> <source> <target>
e.g.:  utils/data/remove_dup_utts.sh 300 data/train_nodev data/train_nodup

Of `uh-huh` and `yeah` there are thousands in conversations, from which there is little more to learn. Which ones stay
is drawn as Kaldi's script of that name draws it, so that both keep the same utterances.
"""

from argparse import ArgumentTypeError

from pymavg.data.split import subset, without_repeats
from pymavg.options import Parser, positive


def main(argv):
    """Run the tool."""
    parser = Parser("remove-dup-utts", __doc__)
    parser.add_argument("max_count", metavar="max-count")
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args(argv)
    try:
        max_count = positive(args.max_count)
    except ArgumentTypeError as error:
        parser.error(f"<max-count> {error}")
    subset(args.source, without_repeats(args.source, max_count), args.target)
