"""Build a decision tree from tree statistics and questions.

usage: pymavg build-tree [options] <lang> <questions> <tree-stats>... <tree>
 e.g.: pymavg build-tree --max-leaves 1000 data/lang exp/tri1/questions.int exp/tri1/*.treeacc exp/tri1/tree
"""

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.gmm.build_tree import TreeOptions, build_tree
from pymavg.gmm.tree_stats import load_tree_stats
from pymavg.graph.lang import Lang
from pymavg.kaldi.tree import write_tree
from pymavg.options import Parser, log, whole


def main(argv):
    """Run the tool."""
    parser = Parser("build-tree", __doc__)
    parser.add_options_of(TreeOptions())
    parser.add_argument("--central-position", type=whole, default=1, help="of the phone in its window; default 1")
    parser.add_argument("lang")
    parser.add_argument("questions")
    parser.add_argument("tree_stats", metavar="tree-stats", nargs="+")
    parser.add_argument("tree")
    args = parser.parse_args(argv)
    lang, stats = Lang(args.lang), load_tree_stats(args.tree_stats)
    options = TreeOptions(**{name: getattr(args, name) for name in vars(TreeOptions())})
    width = stats.keys.shape[1] - 1
    questions = _read_questions(args.questions)
    tree, report = build_tree(stats, questions, lang.roots, lang.topology, options, width, args.central_position)
    write_tree(args.tree, tree)
    log(
        f"build-tree: {report['leaves_split']} leaves after splitting, log-likelihood gain {report['gain']:.6g} per "
        f"frame, last split {report['smallest_split']:.6g}; {report['leaves']} leaves after merging"
    )


def _read_questions(path):
    questions = []
    for number, line in enumerate(read_lines(path), 1):
        if not all(word.isdecimal() for word in line.split()) or not line.strip():
            raise PymavgError(f"{path}:{number}: phone ids expected, found '{line}'; run cluster-phones")
        questions.append([int(word) for word in line.split()])
    return questions
