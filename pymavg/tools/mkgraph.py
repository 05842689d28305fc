"""Make the decoding graph of a model: <graph-dir>/HCLG.fst, words.txt, phones.txt, phones/, disambig_tid.int, num_pdfs.

usage: utils/mkgraph.sh [options] <lang-dir> <model-dir> <graph-dir>
e.g.:  utils/mkgraph.sh data/lang_3gram exp/tri1 exp/tri1/graph

Does nothing when the graph is newer than the lang and model it is made of.
"""

from pymavg.graph.hclg import make_graph
from pymavg.options import Parser, boolean, log, real


def main(argv):
    """Run the tool."""
    parser = Parser("mkgraph", __doc__)
    parser.add_argument("--transition-scale", type=real, default=1.0, help="default 1.0")
    parser.add_argument("--self-loop-scale", type=real, default=0.1, help="default 0.1")
    parser.add_argument("--remove-oov", type=boolean, default=False, help="take the unknown word out (default false)")
    parser.add_argument("lang_dir", metavar="lang-dir")
    parser.add_argument("model_dir", metavar="model-dir")
    parser.add_argument("graph_dir", metavar="graph-dir")
    args = parser.parse_args(argv)
    scales = args.transition_scale, args.self_loop_scale
    if make_graph(args.lang_dir, args.model_dir, args.graph_dir, *scales, args.remove_oov):
        log(f"mkgraph: {args.graph_dir}/HCLG.fst is ready")
    else:
        log(f"mkgraph: {args.graph_dir}/HCLG.fst is up to date")
