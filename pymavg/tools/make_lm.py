"""Estimate an n-gram language model with interpolated, modified Kneser-Ney smoothing.

usage: pymavg make-lm [options] <text> <arpa>
 e.g.: pymavg make-lm --order 3 --vocabulary words --skip-key true data/train/text sw1.o3g.kn.gz

<text> has one sentence a line. A word outside of --vocabulary counts as <unk>, which a model has only with
--vocabulary or when the text holds it. A name in .gz is compressed.
"""

from pymavg.files import read_lines
from pymavg.graph.arpa import write_arpa
from pymavg.graph.lm import estimate
from pymavg.options import Parser, boolean, log, positive


def main(argv):
    """Run the tool."""
    parser = Parser("make-lm", __doc__)
    parser.add_argument("--order", type=positive, default=3, help="greatest length of an n-gram; default 3")
    parser.add_argument("--vocabulary", help="file whose first column lists all words; default: the words of the text")
    parser.add_argument("--skip-key", type=boolean, default=False, help="true: the first column is an utterance's name")
    parser.add_argument("text")
    parser.add_argument("arpa")
    args = parser.parse_args(argv)
    vocabulary = args.vocabulary and {line.split()[0] for line in read_lines(args.vocabulary) if line.strip()}
    sentences = [line.split()[args.skip_key :] for line in read_lines(args.text)]
    model = estimate(sentences, args.order, vocabulary)
    write_arpa(args.arpa, model)
    sizes = ", ".join(f"{len(level.code)} {n}-grams" for n, level in enumerate(model.levels, 1))
    log(f"{args.arpa}: {len(sentences)} sentences, {sum(map(len, sentences))} words; {sizes}")
