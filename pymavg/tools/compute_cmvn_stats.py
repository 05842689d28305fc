"""Compute the statistics for mean and variance normalisation of each speaker of a data directory.

usage: pymavg compute-cmvn-stats [options] <data> <ark> <scp>
 e.g.: pymavg compute-cmvn-stats data/train mfcc/cmvn_train.ark mfcc/cmvn_train.scp
"""

from pymavg.data.speaker_cmvn import compute_speaker_stats
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("compute-cmvn-stats", __doc__)
    parser.add_argument("--fake", type=boolean, default=False, help="mean 0, variance 1 for all (default false)")
    parser.add_argument("--root", help="directory that relative paths in feats.scp start from")
    parser.add_argument("data", help="data directory")
    parser.add_argument("ark", help="archive to write")
    parser.add_argument("scp", help="its index to write")
    args = parser.parse_args(argv)
    compute_speaker_stats(args.data, args.ark, args.scp, args.fake, args.root)
