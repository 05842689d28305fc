"""Print the sizes of a model.

usage: pymavg gmm-info <model>
 e.g.: pymavg gmm-info exp/tri1/final.mdl
"""

from pymavg.kaldi.gmm import read_model
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-info", __doc__)
    parser.add_argument("model")
    transitions, gmm = read_model(parser.parse_args(argv).model)
    print("number of phones", len(transitions.topology.phones))
    print("number of pdfs", gmm.num_pdfs)
    print("number of transition-ids", transitions.num_tids)
    print("number of transition-states", len(transitions.tuples))
    print("feature dimension", gmm.dim)
    print("number of gaussians", gmm.num_gauss)
