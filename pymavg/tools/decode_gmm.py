"""Decode with a GMM; write lattices.

usage: pymavg decode-gmm [options] <graph-dir> <data> <model-dir> <lattices>
 e.g.: pymavg decode-gmm --beam 13 exp/tri1/graph data/test exp/tri1 exp/tri1/decode_test/lat.1.gz
"""

from pathlib import Path

from pymavg.decoding import command
from pymavg.decoding.acoustic import GmmAcoustic
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("decode-gmm", __doc__)
    command.add_options(parser, acwt=0.083333, lattice_beam=6.0)
    parser.add_argument("--model", metavar="FILE", help="instead of final.mdl in <model-dir>, as final.alimdl")
    args = parser.parse_args(argv)
    command.run(args, GmmAcoustic(args.model or Path(args.model_dir) / "final.mdl"))
