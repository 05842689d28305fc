"""Write the words of lattices with times and confidences, as a ctm file.

usage: pymavg lattice-to-ctm [options] <lang> <model> <lattices>
 e.g.: pymavg lattice-to-ctm --lmwt 12 exp/tri4/graph exp/tri4/final.mdl exp/tri4/decode/lat.1.gz >hyp.ctm

Minimum Bayes risk decoding of the lattices cut into words, as Kaldi's lattice-align-words and lattice-to-ctm-conf.
Times are those within the utterance, in seconds.
"""

from pymavg.decoding.archive import read_lattices
from pymavg.decoding.mbr import mbr_decode
from pymavg.decoding.word_lattice_lexicon import word_aligner
from pymavg.graph.lang import Lang
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import Parser, boolean, positive, real


def main(argv):
    """Run the tool."""
    parser = Parser("lattice-to-ctm", __doc__)
    parser.add_argument("--decode-mbr", type=boolean, default=True, help="false: the words of the best path")
    parser.add_argument("--lmwt", type=positive, default=10, help="LM weight, 1 / acoustic scale (default 10)")
    parser.add_argument("--word-ins-penalty", type=real, default=0.0, help="cost of each word (default 0)")
    parser.add_argument("--frame-shift", type=real, default=0.01, help="seconds (default 0.01)")
    parser.add_argument("lang")
    parser.add_argument("model", help="final.mdl")
    parser.add_argument("lattices", help="archive, as lat.1.gz")
    args = parser.parse_args(argv)
    lang, shift = Lang(args.lang), args.frame_shift
    aligner = word_aligner(read_transition_model(args.model), lang)
    for utterance, lattice in read_lattices(args.lattices):
        name = f"{args.lattices}: utterance {utterance}"
        words = aligner.align(lattice, name)
        cost = words.costs(acoustic_scale=1 / args.lmwt, penalty=args.word_ins_penalty)
        found = mbr_decode(words, cost, args.decode_mbr)
        symbols = lang.words.symbols(found.words, name)
        for word, (begin, end), sure in zip(symbols, found.times, found.confidences, strict=True):
            print(f"{utterance} 1 {begin * shift:.2f} {(end - begin) * shift:.2f} {word} {sure:.2f}")
