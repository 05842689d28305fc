"""Make a data directory with some of the utterances of another.

usage: utils/subset_data_dir.sh [--first|--last|--shortest|--speakers|--per-spk] <source> <num-utts> <target>
   or: utils/subset_data_dir.sh --utt-list FILE | --spk-list FILE  <source> <target>
e.g.:  utils/subset_data_dir.sh --shortest data/train 10000 data/train_10kshort

Without an option the utterances are taken at even distances.
"""

from argparse import ArgumentTypeError

from pymavg.data.datadir import DataDir
from pymavg.data.split import choose, subset, utterances_of
from pymavg.options import Parser, positive

HOW = {
    "first": "the first ones",
    "last": "the last ones",
    "shortest": "the shortest ones",
    "speakers": "whole speakers, until the number is reached",
    "per-spk": "that many of each speaker",
}


def main(argv):
    """Run the tool."""
    parser = Parser("subset-data-dir", __doc__)
    ways = parser.add_mutually_exclusive_group()
    for how, text in HOW.items():
        ways.add_argument(f"--{how}", dest="how", action="store_const", const=how, default="spread", help=text)
    ways.add_argument("--utt-list", help="file with one utterance a line")
    ways.add_argument("--spk-list", help="file with one speaker a line")
    parser.add_argument("source")
    parser.add_argument("rest", nargs="+", metavar="[num-utts] target")
    args = parser.parse_args(argv)
    listed = args.utt_list or args.spk_list
    if len(args.rest) != (1 if listed else 2):
        parser.error(f"needs {'<source> <target>' if listed else '<source> <num-utts> <target>'}")
    data = DataDir(args.source)
    if listed:
        utts = utterances_of(listed, data.spk2utt if args.spk_list else None)
    else:
        utts = choose(data, args.how, positive_argument(parser, args.rest[0]))
    subset(args.source, utts, args.rest[-1])


def positive_argument(parser, text):
    """Parse <num-utts>; an error names it."""
    try:
        return positive(text)
    except ArgumentTypeError as error:
        return parser.error(f"<num-utts> {error}")
