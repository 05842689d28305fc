"""Score a decode directory at every LM weight and word insertion penalty.

usage: pymavg score [options] <data> <lang-or-graph-dir> <decode-dir>
 e.g.: pymavg score data/dev data/lang exp/tri1/decode_dev
       pymavg score --lmwt-from exp/tri1/decode_dev data/eval2000 data/lang exp/tri1/decode_eval2000

With stm and glm in the data directory, sclite counts the errors; else its `text` is the reference of a plain count.
"""

from pathlib import Path

from pymavg.data.datadir import DataDir
from pymavg.decoding.sweep import grid, score
from pymavg.options import Parser, boolean, positive


def main(argv):
    """Run the tool."""
    parser = Parser("score", __doc__)
    parser.add_argument("--min-lmwt", type=positive, default=5, help="default 5")
    parser.add_argument("--max-lmwt", type=positive, default=20, help="default 20")
    parser.add_argument("--word-ins-penalties", default="0.0,0.5,1.0", help="default 0.0,0.5,1.0")
    parser.add_argument("--lmwt-from", default="", help="scored decode directory of the set that chooses both")
    parser.add_argument("--scorer", choices=("auto", "sclite", "plain"), default="auto", help="default auto")
    parser.add_argument("--allow-missing", type=boolean, default=False, help="go on without some speakers' lattices")
    parser.add_argument("--model", help="final.mdl (default: the one beside the decode directory)")
    parser.add_argument("data")
    parser.add_argument("lang", metavar="lang-or-graph-dir")
    parser.add_argument("decode", metavar="decode-dir")
    args = parser.parse_args(argv)
    points = grid(args.min_lmwt, args.max_lmwt, args.word_ins_penalties)
    model = Path(args.model) if args.model else Path(args.decode).parent / "final.mdl"
    how = args.lmwt_from, args.scorer, args.allow_missing
    for line in score(DataDir(args.data), Path(args.lang), Path(args.decode), model, points, *how):
        print(line)
