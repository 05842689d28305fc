"""Copy a file of an experiment in another form: binary to text and back, archives compressed or indexed.

usage: pymavg copy [options] <in> <out>
 e.g.: pymavg copy --binary false exp/dnn/final.nnet final.nnet.txt
       pymavg copy --binary false exp/tri3_ali/ali.1.gz ali.1.txt
       pymavg copy scp:data/train/feats.scp ark,scp:feats.ark,feats.scp

Networks, models, trees, topologies, FSTs, matrices, vectors, statistics, questions; archives of matrices, vectors,
alignments, posteriors, FSTs and lattices. A name in .gz is compressed. Numbers keep their precision; a copy in the form
that a file had is equal to it, to the byte where Kaldi's form leaves no choice (not compressed matrices, FST headers).
"""

from pymavg.errors import PymavgError
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
    parser.add_argument("target", metavar="out", help="a file, or ark:FILE, ark,t:FILE, ark,scp:FILE,INDEX")
    args = parser.parse_args(argv)
    _read_wspecifier(args)
    compress = args.compression_method if args.compress else 0
    kind, entries = copy(args.source, args.target, args.binary, args.scp, compress)
    log(f"{args.target}: {kind}" + (f", {entries} entries" if entries is not None else ""))


def _read_wspecifier(args):
    """Put what Kaldi's form of an output says (util/kaldi-table.h) into the options."""
    form, colon, place = args.target.partition(":")
    flags = form.split(",")
    if not colon or not {"ark", "scp"} & set(flags):
        return
    archive, comma, index = place.partition(",")
    if (
        flags[0] != "ark"
        or not set(flags[1:]) <= {"scp", "t", "b", "f", "nf", "p"}
        or ("scp" in flags) != bool(comma and index)
        or archive in ("", "-")
        or place.rstrip().startswith("|")
    ):
        raise PymavgError(f"{args.target}: expected a file, or ark:FILE, ark,t:FILE or ark,scp:FILE,INDEX")
    args.target, args.binary = archive, args.binary and "t" not in flags
    args.scp = index or args.scp
