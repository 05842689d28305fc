"""Split a data directory into jobs: <data-dir>/splitN/1 … N, by speaker; prints the number of jobs made.

usage: utils/split_data.sh [--per-utt] <data-dir> <num-jobs>
e.g.:  nj=$(utils/split_data.sh data/train 8)

There are never more jobs than speakers (utterances with --per-utt, which makes <data-dir>/splitNutt). A split that is
newer than its parent is left as it is.
"""

from pymavg.data.split import split
from pymavg.options import Parser, positive


def main(argv):
    """Run the tool."""
    parser = Parser("split-data", __doc__)
    parser.add_argument("--per-utt", action="store_true", help="split by utterance")
    parser.add_argument("data_dir", metavar="data-dir")
    parser.add_argument("num_jobs", metavar="num-jobs", type=positive)
    args = parser.parse_args(argv)
    print(len(split(args.data_dir, args.num_jobs, args.per_utt)))
