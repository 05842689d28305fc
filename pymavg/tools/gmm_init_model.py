"""Make the first model of a tree, one Gaussian for each leaf, from tree statistics.

usage: pymavg gmm-init-model [options] <lang> <tree> <tree-stats>... <model>
 e.g.: pymavg gmm-init-model --mix-up 1000 data/lang exp/tri1/tree exp/tri1/*.treeacc exp/tri1/1.mdl
"""

import numpy as np

from pymavg.gmm.estimate import mix_up
from pymavg.gmm.first_model import tree_model
from pymavg.gmm.tree_stats import load_tree_stats
from pymavg.graph.lang import Lang
from pymavg.kaldi.gmm import write_model
from pymavg.kaldi.transitions import TransitionModel
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser, log, real, whole


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-init-model", __doc__)
    parser.add_argument("--mix-up", type=whole, default=0, help="Gaussians wanted in all; default 0: one per leaf")
    parser.add_argument("--power", type=real, default=0.25, help="of a pdf's frames, for its share; default 0.25")
    parser.add_argument("--seed", type=whole, default=0, help="of the directions of splits; default 0")
    parser.add_argument("lang")
    parser.add_argument("tree")
    parser.add_argument("tree_stats", metavar="tree-stats", nargs="+")
    parser.add_argument("model")
    args = parser.parse_args(argv)
    lang, tree = Lang(args.lang), read_tree(args.tree)
    gmm, occupancy, unseen = tree_model(tree, load_tree_stats(args.tree_stats))
    if unseen:
        log(f"gmm-init-model: pdfs {unseen[:10]} ({len(unseen)} in all) were never seen and get the average of all")
    if args.mix_up > gmm.num_gauss:
        gmm = mix_up(gmm, occupancy, args.mix_up, args.power, np.random.default_rng(args.seed))
    write_model(args.model, TransitionModel.from_tree(lang.topology, tree), gmm)
    log(f"gmm-init-model: {gmm.num_pdfs} pdfs, {gmm.num_gauss} Gaussians")
