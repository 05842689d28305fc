"""Write lattices whose arcs are whole words or silences, so that the times of words are exact.

usage: pymavg lattice-align-words [options] <lang> <model> <lattices> <out-lattices>
 e.g.: pymavg lattice-align-words exp/tri4/graph exp/tri4/final.mdl exp/tri4/decode/lat.1.gz words.1.gz

By phones/word_boundary.int where the lang (or graph) directory has it, as Kaldi's lattice-align-words; else by
phones/align_lexicon.int, as lattice-align-words-lexicon.
"""

from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.decoding.word_lattice_lexicon import word_aligner
from pymavg.graph.lang import Lang
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import Parser, boolean, log


def main(argv):
    """Run the tool."""
    parser = Parser("lattice-align-words", __doc__)
    parser.add_argument("--by-lexicon", type=boolean, default=False, help="by align_lexicon.int in any case")
    parser.add_argument("lang")
    parser.add_argument("model", help="final.mdl")
    parser.add_argument("lattices", help="archive, as lat.1.gz")
    parser.add_argument("out", metavar="out-lattices")
    args = parser.parse_args(argv)
    aligner = word_aligner(read_transition_model(args.model), Lang(args.lang), args.by_lexicon)
    done = 0
    with LatticeWriter(args.out) as writer:
        for utterance, lattice in read_lattices(args.lattices):
            writer.write(utterance, aligner.align(lattice, f"{args.lattices}: utterance {utterance}"))
            done += 1
    log(f"Aligned {done} lattices")
