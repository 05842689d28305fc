"""Turn utt2spk into spk2utt, or back with --many-to-one; reads a file or the standard input, prints the result.

usage: utils/utt2spk_to_spk2utt.pl [<utt2spk>] | utils/spk2utt_to_utt2spk.pl [<spk2utt>]
e.g.:  utils/utt2spk_to_spk2utt.pl data/train/utt2spk > data/train/spk2utt
"""

from pymavg.data.datadir import group, join_members
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("invert-map", __doc__)
    parser.add_argument("--many-to-one", action="store_true", help="the input is spk2utt")
    parser.add_argument("map", nargs="?", default="/dev/stdin")
    args = parser.parse_args(argv)
    pairs = {}
    for number, line in enumerate(read_lines(args.map), 1):
        key, *values = line.split() or [""]
        if not values or (len(values) > 1 and not args.many_to_one):
            raise PymavgError(f"{args.map}:{number}: '{line}': two columns expected")
        pairs |= dict.fromkeys(values, key) if args.many_to_one else {key: values[0]}
    table = dict(sorted(pairs.items())) if args.many_to_one else join_members(group(pairs, pairs.__getitem__))
    for key, rest in table.items():
        print(key, rest)
