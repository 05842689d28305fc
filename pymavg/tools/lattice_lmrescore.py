"""Give lattices the costs of another language model, in the place of that which they were made with.

usage: pymavg lattice-lmrescore <old-lang> <new-lang> <lattices> <out-lattices>
 e.g.: pymavg lattice-lmrescore data/lang_tg data/lang_fg exp/dnn/decode_tg/lat.1.gz exp/dnn/decode_fg/lat.1.gz

Both lang directories hold a G.fst of a back-off model and the same words.txt.
"""

from pymavg.decoding.rescoring import BackoffGrammar, rescore_job
from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("lattice-lmrescore", __doc__)
    parser.add_argument("old_lang", metavar="old-lang")
    parser.add_argument("new_lang", metavar="new-lang")
    parser.add_argument("lattices")
    parser.add_argument("out", metavar="out-lattices")
    args = parser.parse_args(argv)
    langs = [Lang(path) for path in (args.old_lang, args.new_lang)]
    if langs[0].words.id_of != langs[1].words.id_of:
        raise PymavgError(f"{args.old_lang}/words.txt and {args.new_lang}/words.txt differ; make both from one lang")
    grammars = [BackoffGrammar(lang.grammar_fst, lang.words.ids(["#0"])[0], f"{lang.path}/G.fst") for lang in langs]
    rescore_job(args.lattices, args.out, *grammars)
