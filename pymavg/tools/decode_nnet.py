"""Decode with a neural network; write lattices.

usage: pymavg decode-nnet [options] <graph-dir> <data> <model-dir> <lattices>
 e.g.: pymavg decode-nnet exp/tri1/graph data/fbank/test exp/dnn exp/dnn/decode_test/lat.1.gz

The model directory holds final.nnet, final.feature_transform, ali_train_pdf.counts and final.mdl.
"""

from pymavg.decoding import command
from pymavg.decoding.acoustic import PRIOR_FLOOR, NnetAcoustic
from pymavg.options import Parser, real

OTHER = {  # Kaldi's options of steps/nnet/decode.sh
    "nnet": "final.nnet",
    "feature-transform": "final.feature_transform",
    "class-frame-counts": "ali_train_pdf.counts",
    "model": "final.mdl",
}


def main(argv):
    """Run the tool."""
    parser = Parser("decode-nnet", __doc__)
    command.add_options(parser, acwt=0.1, lattice_beam=8.0)
    parser.add_argument("--prior-scale", type=real, default=1.0, help="factor on log-priors (default 1)")
    parser.add_argument(
        "--prior-floor",
        type=real,
        default=PRIOR_FLOOR,
        help="classes with a smaller share of the training frames are never recognised (default 1e-10)",
    )
    parser.add_argument("--use-gpu", default="no", help="auto, yes or no (default no)")
    for name in OTHER:
        parser.add_argument(f"--{name}", default="", help="file to take instead of the model directory's")
    args = parser.parse_args(argv)
    other = {file: getattr(args, name.replace("-", "_")) for name, file in OTHER.items()}
    command.run(args, NnetAcoustic(args.model_dir, args.prior_scale, args.use_gpu, other, args.prior_floor))
