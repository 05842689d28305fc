"""Make a lang directory with G.fst from one without and a language model in ARPA format.

usage: utils/format_lm.sh <lang-dir> <arpa> <lexicon> <out-lang-dir>
e.g.:  utils/format_lm.sh data/lang data/local/lm/3gram.arpa.gz data/local/dict/lexicon.txt data/lang_3gram

<lexicon> is Kaldi's; it must exist and is not needed otherwise. N-grams with words outside words.txt are left out.
"""

from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.graph.format_lm import format_lm
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("format-lm", __doc__)
    parser.add_argument("lang_dir", metavar="lang-dir")
    parser.add_argument("arpa", help="plain or .gz")
    parser.add_argument("lexicon")
    parser.add_argument("out_lang_dir", metavar="out-lang-dir")
    args = parser.parse_args(argv)
    if not Path(args.lexicon).exists():
        raise PymavgError(f"{args.lexicon}: no such file; expected the lexicon of {args.lang_dir}")
    format_lm(args.lang_dir, args.arpa, args.out_lang_dir)
    log(f"format-lm: {args.out_lang_dir} is ready")
