"""Make a lang directory with a grammar in which all words of a list are equally likely.

usage: pymavg make-grammar [options] <lang-dir> <word-list> <out-lang-dir>
e.g.:  pymavg make-grammar --type single data/lang data/local/digits.txt data/lang_digit

--type single accepts exactly one word, --type loop one or more. <word-list> has one word a line.
"""

from pymavg.graph.format_lm import format_word_list
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("make-grammar", __doc__)
    parser.add_argument("--type", choices=["single", "loop"], default="loop", help="default loop")
    parser.add_argument("lang_dir", metavar="lang-dir")
    parser.add_argument("word_list", metavar="word-list")
    parser.add_argument("out_lang_dir", metavar="out-lang-dir")
    args = parser.parse_args(argv)
    format_word_list(args.lang_dir, args.word_list, args.out_lang_dir, args.type == "loop")
    log(f"make-grammar: {args.out_lang_dir} is ready")
