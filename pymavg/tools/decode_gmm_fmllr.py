"""Decode with a GMM adapted to each speaker by fMLLR; write lattices and transforms.

usage: pymavg decode-gmm-fmllr [options] <graph-dir> <data> <model-dir> <si-dir> <lattices> <transforms>
 e.g.: pymavg decode-gmm-fmllr exp/tri4/graph data/test/split4/1 exp/tri4 exp/tri4/decode_test.si
           exp/tri4/decode_test/lat.1.gz exp/tri4/decode_test/trans.1

<si-dir> holds lat.JOB.gz of a first pass without adaptation, with final.alimdl of <model-dir> where there is one.
"""

from pathlib import Path

from pymavg.data.pipeline import FeaturePipeline
from pymavg.decoding.acoustic import GmmAcoustic
from pymavg.decoding.adapted import AdaptedDecoder
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.decoder import Decoder, DecoderOptions
from pymavg.decoding.job import write_lattices
from pymavg.errors import PymavgError
from pymavg.gmm.fmllr import FmllrOptions
from pymavg.gmm.silence import add_silence_options, tid_weights
from pymavg.kaldi.fst import read_fst
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.tables import MatrixWriter
from pymavg.options import Parser, real


def main(argv):
    """Run the tool."""
    parser = Parser("decode-gmm-fmllr", __doc__)
    parser.add_options_of(DecoderOptions(beam=13.0, lattice_beam=6.0, max_active=7000))
    parser.add_options_of(FmllrOptions())
    add_silence_options(parser, silence_weight=0.01)
    parser.add_argument("--acwt", type=real, default=0.083333, help="acoustic scale (default 0.083333)")
    for name in ("graph", "data", "model_dir", "si_dir", "lattices", "transforms"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    pipeline, decoder = FeaturePipeline(args.data, args.model_dir), _decoder(args)
    first_pass, transforms = _first_pass(args.si_dir, set(pipeline.utts)), {}

    def found():
        for speaker, utts in pipeline.by_speaker().items():
            feats = {utterance: pipeline.get(utterance) for utterance in utts}
            rough = {utterance: first_pass.pop(utterance) for utterance in utts if utterance in first_pass}
            transforms[speaker], lattices = decoder.decode(speaker, feats, rough)
            for utterance, lattice in lattices.items():
                yield utterance, len(feats[utterance]), lattice

    words = read_symbols(Path(args.graph) / "words.txt")
    write_lattices(found(), len(pipeline), words, args.lattices, args.acwt)
    with MatrixWriter(args.transforms) as writer:
        for speaker, w in transforms.items():
            writer.write(speaker, w)


def _decoder(args):
    options = DecoderOptions(**{name: getattr(args, name) for name in vars(DecoderOptions())})
    acoustic = GmmAcoustic(Path(args.model_dir, "final.mdl"))
    alimdl = Path(args.model_dir, "final.alimdl")
    judge = read_model(alimdl)[1] if alimdl.exists() else acoustic.gmm
    weights = tid_weights(acoustic.transitions, args.silence_phones, args.silence_weight)
    search = Decoder(read_fst(Path(args.graph) / "HCLG.fst"), acoustic.transitions.tid_pdf, options)
    scale, fmllr = args.acwt, FmllrOptions.from_arguments(args)
    return AdaptedDecoder(search, acoustic, judge, weights, scale, options.lattice_beam, fmllr)


def _first_pass(folder, utts):
    """Return the dict utterance -> Lattice of a decode directory, whatever its number of jobs."""
    paths = sorted(Path(folder).glob("lat.*.gz"))
    lattices = {u: lattice for path in paths for u, lattice in read_lattices(path) if u in utts}
    if not lattices:
        raise PymavgError(f"{folder}: no lat.*.gz with lattices of this data; run steps/decode.sh first")
    return lattices
