"""Put the features that parallel jobs made together: write feats.scp, utt2num_frames and utt2dur of a data directory.

usage: pymavg collect-feats [options] <data> <prefix> <num-jobs>
 e.g.: pymavg collect-feats data/train exp/make_mfcc/raw_mfcc_train 4

Reads <prefix>.JOB.scp and <prefix>.JOB.lengths, written by `pymavg make-feats`. Nothing is written when more utterances
than --max-loss allows have no features.
"""

from pymavg.data.feature_jobs import collect
from pymavg.options import Parser, positive, real


def main(argv):
    """Run the tool."""
    parser = Parser("collect-feats", __doc__)
    parser.add_argument("--max-loss", type=real, default=0.05, help="part of the utterances (default 0.05)")
    parser.add_argument("data", help="data directory")
    parser.add_argument("prefix", help="what the names of the jobs' files start with")
    parser.add_argument("num_jobs", type=positive, help="number of jobs")
    args = parser.parse_args(argv)
    collect(args.data, args.prefix, args.num_jobs, args.max_loss)
