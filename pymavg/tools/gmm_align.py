"""Align a job's data with a GMM.

usage: pymavg gmm-align [options] <lang> <data> <model-dir> <alignments>
 e.g.: pymavg gmm-align data/lang data/train/split4/1 exp/tri1 exp/tri1_ali/ali.1.gz

<model-dir> holds final.mdl, tree and the options of the features.
"""

from pathlib import Path

from pymavg.data.pipeline import FeaturePipeline
from pymavg.gmm.align_job import Aligner, align_all
from pymavg.gmm.align_options import AlignOptions
from pymavg.gmm.alignments import write_alignments
from pymavg.gmm.graphs import compile_graphs
from pymavg.graph.hcl import add_transition_probs
from pymavg.graph.lang import Lang
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-align", __doc__)
    parser.add_options_of(AlignOptions(max_failed=0.2))
    parser.add_argument("--transform-dir", metavar="DIR", help="with fMLLR transforms trans.JOB")
    for name in ("lang", "data", "model_dir", "alignments"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    transitions, gmm = read_model(Path(args.model_dir, "final.mdl"))
    tree = read_tree(Path(args.model_dir, "tree"))
    pipeline = FeaturePipeline(args.data, args.model_dir, args.transform_dir)
    graphs = compile_graphs(Lang(args.lang), tree, transitions, Path(args.data, "text"), pipeline.utts)
    utterances = (
        (utt, feats, graph and add_transition_probs(graph, transitions))
        for (utt, feats), graph in zip(pipeline, graphs, strict=True)
    )
    options = AlignOptions.from_arguments(args)
    alignments = align_all("gmm-align", Aligner(transitions, gmm, options), utterances, options.max_failed)
    write_alignments(args.alignments, alignments)
