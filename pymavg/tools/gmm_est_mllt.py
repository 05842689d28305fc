"""Estimate an MLLT transform from statistics of gmm-acc-mllt, and move the model's means into the new space.

usage: pymavg gmm-est-mllt [options] <model-in> <stats>... <model-out> <matrix>
 e.g.: pymavg gmm-est-mllt --before exp/tri3/2.mllt exp/tri3/4.mdl exp/tri3/4.*.macc
           exp/tri3/4.moved.mdl exp/tri3/4.mllt

<matrix> is the new transform after that of --before, the one under which the statistics were accumulated.
"""

import numpy as np

from pymavg.gmm.fmllr import compose
from pymavg.gmm.mllt import estimate_mllt, load_mllt_stats, transform_means
from pymavg.kaldi.gmm import read_model, write_model
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.writers import write_matrix
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-est-mllt", __doc__)
    parser.add_argument("--before", metavar="FILE", help="matrix applied to the features so far")
    parser.add_argument("model_in", metavar="model-in")
    parser.add_argument("stats", nargs="+")
    parser.add_argument("model_out", metavar="model-out")
    parser.add_argument("matrix")
    args = parser.parse_args(argv)
    total = load_mllt_stats(args.stats[0])
    for path in args.stats[1:]:
        total.add(load_mllt_stats(path), path)
    transitions, gmm = read_model(args.model_in)
    m, gain = estimate_mllt(total)
    write_model(args.model_out, transitions, transform_means(gmm, m))
    before = open_reader(args.before).matrix(np.float64) if args.before else np.eye(len(m))
    write_matrix(args.matrix, compose(m, before, inner_is_affine=False))
    log(
        f"gmm-est-mllt: log-likelihood gain {gain:.6g} per frame over {total.frames:.0f} frames, log-determinant "
        f"{np.linalg.slogdet(m)[1]:.6g}"
    )
