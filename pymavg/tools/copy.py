"""Copy a file of an experiment in another form: binary to text and back, archives compressed or indexed.

usage: pymavg copy [options] <in> <out>
 e.g.: pymavg copy --binary false exp/dnn/final.nnet final.nnet.txt
       pymavg copy --binary false exp/tri3_ali/ali.1.gz ali.1.txt
       pymavg copy --scp feats.scp scp:data/train/feats.scp feats.ark

Networks, models, trees, topologies, FSTs, matrices, vectors, statistics, questions; archives of matrices, vectors,
alignments, posteriors, FSTs and lattices. A name in .gz is compressed. Numbers keep their precision; a copy in the form
that a file had is equal to it, to the byte where Kaldi's form leaves no choice (not compressed matrices, FST headers).
"""

from pymavg.formats.kinds import copy
from pymavg.kaldi.compressed import METHODS
from pymavg.options import Parser, boolean, log, whole


def main(argv):
    """Run the tool."""
    parser = Parser("copy", __doc__)
    parser.add_argument("--binary", type=boolean, default=True, help="false: text; default true")
    parser.add_argument("--scp", help="index to write beside an archive")
    parser.add_argument("--compress", type=boolean, default=False, help="matrices in 8 bits per number; default false")
    parser.add_argument(
        "--compression-method", type=whole, choices=METHODS, default=1, help="Kaldi's, 3: in 16 bits; default 1"
    )
    parser.add_argument("source", metavar="in", help="a file, or ark:FILE, scp:FILE, 'ark:COMMAND |'")
    parser.add_argument("target", metavar="out")
    args = parser.parse_args(argv)
    compress = args.compression_method if args.compress else 0
    kind, entries = copy(args.source, args.target, args.binary, args.scp, compress)
    log(f"{args.target}: {kind}" + (f", {entries} entries" if entries is not None else ""))
