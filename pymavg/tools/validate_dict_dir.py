"""Check a dictionary directory; the first problem is told with file, line and remedy.

usage: utils/validate_dict_dir.sh [options] <dict-dir>
e.g.:  utils/validate_dict_dir.sh data/local/dict
"""

from pymavg.graph.dictionary import read_dictionary
from pymavg.options import Parser, boolean, log


def main(argv):
    """Run the tool."""
    parser = Parser("validate-dict-dir", __doc__)
    parser.add_argument(
        "--position-dependent-phones",
        type=boolean,
        default=True,
        help="whether prepare_lang.sh will mark places in the word (default true)",
    )
    parser.add_argument("dict_dir", metavar="dict-dir")
    args = parser.parse_args(argv)
    dictionary = read_dictionary(args.dict_dir, args.position_dependent_phones)
    words = len({pronunciation.word for pronunciation in dictionary.lexicon})
    log(f"validate-dict-dir: {args.dict_dir} is valid: {words} words, {len(dictionary.lexicon)} pronunciations")
