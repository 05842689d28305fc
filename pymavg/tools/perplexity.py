"""Print how well a language model predicts a text.

usage: pymavg perplexity [options] <arpa> <text>
 e.g.: pymavg perplexity --skip-key true sw1.o3g.kn.gz data/dev/text

Unknown words are counted and left out, as SRILM's `ngram -ppl` does; sentence ends are predicted too.
"""

from pymavg.files import read_lines
from pymavg.graph.arpa import read_arpa
from pymavg.graph.ngram import perplexity
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("perplexity", __doc__)
    parser.add_argument("--skip-key", type=boolean, default=False, help="true: the first column is an utterance's name")
    parser.add_argument("arpa")
    parser.add_argument("text")
    args = parser.parse_args(argv)
    found = perplexity(read_arpa(args.arpa), (line.split()[args.skip_key :] for line in read_lines(args.text)))
    print(
        f"{args.text}: perplexity {found.perplexity:.1f}, {found.sentences} sentences, {found.words} words, "
        f"{found.unknown} ({100 * found.unknown / found.words:.1f} %) unknown"
    )
