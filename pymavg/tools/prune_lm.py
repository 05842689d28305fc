"""Prune a back-off language model by relative entropy, as SRILM's `ngram -prune`.

usage: pymavg prune-lm [options] <arpa> <out-arpa>
 e.g.: pymavg prune-lm --threshold 1e-7 sw1.o4g.kn.gz sw1.o4g.pr1-7.kn.gz

N-grams whose loss would raise the perplexity by less than the threshold, relatively, are left out.
"""

from pymavg.errors import PymavgError
from pymavg.graph.arpa import read_arpa, write_arpa
from pymavg.graph.lm_tools import prune
from pymavg.options import Parser, log, real


def main(argv):
    """Run the tool."""
    parser = Parser("prune-lm", __doc__)
    parser.add_argument("--threshold", type=real, default=1e-7, help="relative rise of the perplexity; default 1e-7")
    parser.add_argument("arpa")
    parser.add_argument("out", metavar="out-arpa")
    args = parser.parse_args(argv)
    if args.threshold < 0:
        raise PymavgError(f"--threshold {args.threshold}: expected 0 or more")
    model = read_arpa(args.arpa)
    pruned = prune(model, args.threshold)
    write_arpa(args.out, pruned)
    sizes = ([len(level.code) for level in each.levels] for each in (model, pruned))
    before, after = (" ".join(map(str, size)) for size in sizes)
    log(f"{args.out}: n-grams of the lengths 1, 2, …: {after}; before: {before}")
