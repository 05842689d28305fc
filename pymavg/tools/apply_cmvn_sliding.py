"""Normalise the mean (and variance) of features in a window that moves with the frame.

usage: pymavg apply-cmvn-sliding [options] <features-rspecifier> <archive> [<scp>]
 e.g.: pymavg apply-cmvn-sliding --center true --cmn-window 300 scp:data/train/feats.scp feats.ark feats.scp
"""

from pymavg.data.sliding_cmvn import SlidingOptions, apply
from pymavg.kaldi.tables import MatrixWriter, read_matrices
from pymavg.options import Parser, log
from pymavg.training.groups import from_arguments


def main(argv):
    """Run the tool."""
    parser = Parser("apply-cmvn-sliding", __doc__)
    parser.add_options_of(SlidingOptions())
    for name in ("features", "archive"):
        parser.add_argument(name)
    parser.add_argument("scp", nargs="?")
    args = parser.parse_args(argv)
    (options,) = from_arguments([SlidingOptions()], args)
    options.check()
    count = 0
    with MatrixWriter(args.archive.removeprefix("ark:"), args.scp) as writer:
        for count, (utterance, features) in enumerate(read_matrices(args.features), 1):  # noqa: B007
            writer.write(utterance, apply(features, options))
    log(f"apply-cmvn-sliding: {count} utterances")
