"""Compose two transforms: the result applies <b> to features, then <a>.

usage: pymavg compose-transforms [options] <a> <b> <matrix-out>
 e.g.: pymavg compose-transforms exp/tri3/12.mllt exp/tri3/0.mat exp/tri3/final.mat
"""

import numpy as np

from pymavg.gmm.fmllr import compose
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.writers import write_matrix
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("compose-transforms", __doc__)
    parser.add_argument("--b-is-affine", type=boolean, default=False, help="<b> has an offset; default false")
    for name in ("a", "b", "matrix_out"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    outer, inner = (open_reader(path).matrix(np.float64) for path in (args.a, args.b))
    write_matrix(args.matrix_out, compose(outer, inner, args.b_is_affine))
