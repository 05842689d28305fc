"""Convert a language model in ARPA format to a grammar FST, with #0 on its back-off arcs.

usage: pymavg arpa2fst --read-symbol-table=<words.txt> <arpa> <fst>
e.g.:  pymavg arpa2fst --disambig-symbol=#0 --read-symbol-table=data/lang/words.txt lm.arpa.gz data/lang/G.fst
"""

from pymavg.errors import PymavgError
from pymavg.graph.format_lm import arpa_grammar
from pymavg.kaldi.fst import write_fst
from pymavg.kaldi.symbols import read_symbols
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("arpa2fst", __doc__)
    parser.add_argument("--disambig-symbol", default="#0", help="only #0 is supported (default #0)")
    parser.add_argument("--read-symbol-table", required=True, help="words.txt")
    parser.add_argument("arpa", help="plain or .gz")
    parser.add_argument("fst")
    args = parser.parse_args(argv)
    if args.disambig_symbol != "#0":
        raise PymavgError(
            f"--disambig-symbol '{args.disambig_symbol}': expected #0, without which LG has no finite form"
        )
    write_fst(args.fst, arpa_grammar(args.arpa, read_symbols(args.read_symbol_table)))
