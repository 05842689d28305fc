"""What the decoding tools have in common: options, and the way from them to decode_job."""

from pathlib import Path

from pymavg.data.pipeline import FeaturePipeline
from pymavg.decoding.decoder import DecoderOptions
from pymavg.decoding.job import decode_job
from pymavg.errors import PymavgError
from pymavg.kaldi.fst import read_fst
from pymavg.kaldi.symbols import read_symbols
from pymavg.options import boolean, positive, real


def add_options(parser, acwt, lattice_beam):
    """Add the options of every decoding tool."""
    defaults = DecoderOptions(beam=13.0, lattice_beam=lattice_beam, max_active=7000)
    parser.add_options_of(defaults)
    parser.add_argument("--acwt", type=real, default=acwt, help=f"acoustic scale (default {acwt})")
    parser.add_argument("--allow-partial", type=boolean, default=True, help="default true")
    parser.add_argument("--determinize-lattice", type=boolean, default=True, help="false: keep all alignments")
    parser.add_argument("--transform-dir", help="directory with fMLLR transforms, trans.JOB")
    parser.add_argument("--job", type=positive, default=1, help="which part of the utterances: 1 .. num-jobs")
    parser.add_argument("--num-jobs", type=positive, default=1, help="number of parts (default 1)")
    parser.add_argument("graph", help="directory with HCLG.fst and words.txt")
    parser.add_argument("data", help="data directory")
    parser.add_argument("model_dir", metavar="model-dir")
    parser.add_argument("lattices", help="archive to write: lat.JOB.gz, or lat.JOB.ark and .scp")


def run(args, acoustic):
    """Decode the part of the data that the options ask for."""
    if args.job > args.num_jobs:
        raise PymavgError(f"--job {args.job}: there are --num-jobs {args.num_jobs}")
    options = DecoderOptions(**{name: getattr(args, name) for name in vars(DecoderOptions())})
    features = FeaturePipeline(args.data, args.model_dir, args.transform_dir)
    graph, words = read_fst(Path(args.graph) / "HCLG.fst"), read_symbols(Path(args.graph) / "words.txt")
    utts = features.utts[args.job - 1 :: args.num_jobs]
    rules = args.acwt, args.allow_partial, args.determinize_lattice
    decode_job(features, utts, acoustic, graph, words, options, args.lattices, *rules)
