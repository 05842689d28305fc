"""Find phonetic questions in tree statistics, by top-down k-means of the lang's phone sets; its own are added.

usage: pymavg cluster-phones [options] <lang> <tree-stats>... <questions>
 e.g.: pymavg cluster-phones data/lang exp/tri1/*.treeacc exp/tri1/questions.int
"""

from pymavg.files import atomic_open
from pymavg.gmm.questions import find_questions
from pymavg.gmm.tree_stats import load_tree_stats
from pymavg.graph.lang import Lang
from pymavg.options import Parser, log, whole


def main(argv):
    """Run the tool."""
    parser = Parser("cluster-phones", __doc__)
    parser.add_argument("--central-position", type=whole, default=1, help="of the phone in its window; default 1")
    parser.add_argument("--pdf-class", type=whole, default=1, help="whose statistics are compared; default 1")
    parser.add_argument("lang")
    parser.add_argument("tree_stats", metavar="tree-stats", nargs="+")
    parser.add_argument("questions")
    args = parser.parse_args(argv)
    lang = Lang(args.lang)
    found = find_questions(load_tree_stats(args.tree_stats), lang.sets, args.central_position, args.pdf_class)
    with atomic_open(args.questions) as stream:
        stream.writelines(f"{' '.join(map(str, question))}\n" for question in found + lang.extra_questions)
    log(f"cluster-phones: {len(found)} questions found, {len(lang.extra_questions)} of {args.lang} added")
