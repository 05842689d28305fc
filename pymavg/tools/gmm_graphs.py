"""Compile the training graphs of a job into its directory, next to the features that gmm-feats wrote.

usage: pymavg gmm-graphs <lang> <data> <tree> <model> <job-dir>
 e.g.: pymavg gmm-graphs data/lang data/train/split4/1 exp/mono/tree exp/mono/0.mdl exp/mono/job.1
"""

from pathlib import Path

from pymavg.gmm.graphs import compile_graphs
from pymavg.gmm.job_data import JobData, write_graphs
from pymavg.graph.lang import Lang
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-graphs", __doc__)
    for name in ("lang", "data", "tree", "model", "job_dir"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    model, tree = read_transition_model(args.model), read_tree(args.tree)
    utts = JobData(args.job_dir).utts
    graphs = list(compile_graphs(Lang(args.lang), tree, model, Path(args.data, "text"), utts))
    write_graphs(args.job_dir, graphs)
    log(f"gmm-graphs: {sum(graph is not None for graph in graphs)} of {len(utts)} utterances")
