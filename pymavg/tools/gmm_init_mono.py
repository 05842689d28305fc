"""Make the first monophone model, 0.mdl, and its tree: all states alike, with mean and variance of some utterances.

usage: pymavg gmm-init-mono [options] <lang> <data> <model-dir>
 e.g.: pymavg gmm-init-mono data/lang data/train exp/mono

The options of the features are looked for in <model-dir>. Phones of one set of <lang> share their states.
"""

from itertools import islice
from pathlib import Path

import numpy as np

from pymavg.data.pipeline import FeaturePipeline
from pymavg.gmm.first_model import monophone_model
from pymavg.gmm.tree_roots import monophone_tree
from pymavg.graph.lang import Lang
from pymavg.kaldi.gmm import write_model
from pymavg.kaldi.transitions import TransitionModel
from pymavg.kaldi.tree import write_tree
from pymavg.options import Parser, log, positive


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-init-mono", __doc__)
    parser.add_argument("--num-utts", type=positive, default=10, help="utterances that are looked at; default 10")
    parser.add_argument("lang")
    parser.add_argument("data")
    parser.add_argument("model_dir", metavar="model-dir")
    args = parser.parse_args(argv)
    lang = Lang(args.lang)
    feats = [features for _, features in islice(FeaturePipeline(args.data, args.model_dir, gmm=True), args.num_utts)]
    tree = monophone_tree(lang.topology, lang.sets)
    write_tree(Path(args.model_dir, "tree"), tree)
    model = monophone_model(tree.num_pdfs, np.concatenate(feats))
    write_model(Path(args.model_dir, "0.mdl"), TransitionModel.from_tree(lang.topology, tree), model)
    log(f"gmm-init-mono: {tree.num_pdfs} pdfs, {model.dim} dimensions")
