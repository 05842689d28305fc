"""Check a lang directory; the first problem is told with file, line and remedy.

usage: utils/validate_lang.sh <lang-dir>
e.g.:  utils/validate_lang.sh data/lang
"""

from pymavg.graph.validate_lang import validate_lang
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("validate-lang", __doc__)
    parser.add_argument("lang_dir", metavar="lang-dir")
    args = parser.parse_args(argv)
    validate_lang(args.lang_dir)
    log(f"validate-lang: {args.lang_dir} is a valid lang directory")
