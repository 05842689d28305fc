"""Check features: every utterance readable, finite, with frames, of one dimension, as long as utt2num_frames says.

usage: pymavg check-feats [options] <data-or-rspecifier>
 e.g.: pymavg check-feats data/train
       pymavg check-feats ark:fbank/raw_fbank_train.1.ark
"""

from pymavg.data.feature_check import check_features
from pymavg.errors import PymavgError
from pymavg.options import Parser, warn


def main(argv):
    """Run the tool."""
    parser = Parser("check-feats", __doc__)
    parser.add_argument("--root", help="directory that relative paths start from (default: the current one)")
    parser.add_argument("source", help="data directory, or a table such as scp:feats.scp")
    args = parser.parse_args(argv)
    report = check_features(args.source, args.root)
    if report.faults:
        raise PymavgError(f"{args.source}: {'; '.join(report.faults)}; make these features anew or remove them")
    if report.constant:
        warn(f"{args.source}: {report.constant} of {report.dim} coefficients are the same in all frames")
    print(f"{args.source}: {report.num_utterances} utterances, {report.num_frames} frames x {report.dim}, all finite")
