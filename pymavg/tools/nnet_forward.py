"""Pass features through a neural network and write its outputs.

usage: pymavg nnet-forward [options] <network> <features-rspecifier> <archive> [<scp>]
 e.g.: pymavg nnet-forward --feature-transform exp/dnn/final.feature_transform --no-softmax true \
         --class-frame-counts exp/dnn/ali_train_pdf.counts exp/dnn/final.nnet scp:data/test/feats.scp exp/dnn/out.ark

The features must be normalised as in training (cmvn_opts).
"""

from pymavg.backend import array_module
from pymavg.decoding.forward import Forward, ForwardOptions
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixWriter, read_matrices
from pymavg.options import Parser, log
from pymavg.training.groups import from_arguments


def main(argv):
    """Run the tool."""
    parser = Parser("nnet-forward", __doc__)
    parser.add_options_of(ForwardOptions())
    parser.add_argument("--use-gpu", default="no", help="auto, yes or no; default no")
    for name in ("network", "features", "archive"):
        parser.add_argument(name)
    parser.add_argument("scp", nargs="?")
    args = parser.parse_args(argv)
    forward = Forward(args.network, *from_arguments([ForwardOptions()], args), array_module(args.use_gpu))
    count = 0
    with MatrixWriter(args.archive.removeprefix("ark:"), args.scp) as writer:
        for count, (utterance, feats) in enumerate(read_matrices(args.features), 1):  # noqa: B007
            try:
                writer.write(utterance, forward(feats))
            except PymavgError as error:
                raise PymavgError(f"utterance {utterance}: {error}") from error
    log(f"nnet-forward: {count} utterances")
