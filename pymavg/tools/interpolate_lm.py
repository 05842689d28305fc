"""Interpolate language models, with weights that predict a held-out text best.

usage: pymavg interpolate-lm [options] --held-out <text> <arpa> <arpa> … <out-arpa>
 e.g.: pymavg interpolate-lm --held-out data/dev/text --skip-key true sw1.o3g.kn.gz fsh.o3g.kn.gz sw1_fsh.o3g.kn.gz

All must have the same words: estimate them with one --vocabulary. Prints weights and held-out perplexities.
"""

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.graph.arpa import read_arpa, write_arpa
from pymavg.graph.lm_tools import interpolate, mixture_weights
from pymavg.graph.ngram import perplexity
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("interpolate-lm", __doc__)
    parser.add_argument("--held-out", default="", help="text that the weights are estimated on")
    parser.add_argument("--weights", default="", help="such as 0.7,0.3, in place of --held-out")
    parser.add_argument("--skip-key", type=boolean, default=False, help="true: the text's first column is a name")
    parser.add_argument("arpa", nargs="+")
    parser.add_argument("out", metavar="out-arpa")
    args = parser.parse_args(argv)
    if bool(args.held_out) == bool(args.weights):
        raise PymavgError("either --held-out TEXT or --weights W,W,… must be given")
    models = [read_arpa(path) for path in args.arpa]
    text = [line.split()[args.skip_key :] for line in read_lines(args.held_out)] if args.held_out else []
    weights = mixture_weights(models, text) if text else _given(args.weights, len(models))
    model = interpolate(models, weights)
    write_arpa(args.out, model)
    for path, each, weight in zip(args.arpa, models, weights, strict=True):
        print(f"{path}: weight {weight:.4f}{_perplexity(each, text)}")
    print(f"{args.out}: order {model.order}{_perplexity(model, text)}")


def _perplexity(model, text):
    return f", perplexity {perplexity(model, text).perplexity:.1f}" if text else ""


def _given(text, count):
    try:
        weights = [float(weight) for weight in text.split(",")]
    except ValueError:
        weights = []
    if len(weights) != count or not all(w >= 0 for w in weights) or abs(sum(weights) - 1) > 1e-3:
        raise PymavgError(f"--weights {text}: expected {count} numbers, none negative, that sum to 1")
    return weights
