"""Make a data directory with all utterances of others.

usage: utils/combine_data.sh <target> <source> <source>…
e.g.:  utils/combine_data.sh data/all data/train data/dev
"""

from pymavg.data.combine import combine
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("combine-data", __doc__)
    parser.add_argument("target")
    parser.add_argument("source", nargs="+")
    args = parser.parse_args(argv)
    combine(args.target, args.source)
