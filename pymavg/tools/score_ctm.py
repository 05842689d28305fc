"""Score a ctm file of any recogniser with sclite.

usage: pymavg score-ctm [options] <stm> <glm> <ctm> <out-dir>
 e.g.: pymavg score-ctm data/eval2000/stm data/eval2000/glm hyp.ctm /tmp/scores
"""

from pathlib import Path

from pymavg.decoding.reference import matched_ctm, read_ctm, read_stm
from pymavg.decoding.wer import Counts, filtered_stm, sclite_counts
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("score-ctm", __doc__)
    parser.add_argument("--allow-missing", type=boolean, default=False, help="channels without words are deletions")
    for name in ("stm", "glm", "ctm", "out"):
        parser.add_argument(name)
    args = parser.parse_args(argv)
    stm, filtered = read_stm(args.stm), Path(args.out) / "stm.filt"
    rows = matched_ctm(read_ctm(args.ctm), stm, args.ctm, args.allow_missing)
    filtered_stm(stm, args.glm, filtered)
    name = Path(args.ctm).name.removesuffix(".ctm")
    parts = sclite_counts(rows, stm, filtered, args.glm, args.out, name, details=True)
    print(f"# sclite with {args.glm}, case folded")
    for part, counts in (*sorted(parts.items()), ("total", sum(parts.values(), Counts()))):
        print(f"{counts}  {part}")
