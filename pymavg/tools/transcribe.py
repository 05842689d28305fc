"""Transcribe audio files with a finished system: words, times and confidences.

usage: pymavg transcribe [options] <exp> <audio> [<audio> ...]
 e.g.: pymavg transcribe exp/dnn talk.wav meeting.flac
       pymavg transcribe --form text --graph exp/tri1/graph --config conf/fbank.conf exp/dnn *.wav

wav, flac, sph and what else libsndfile reads, at any rate; channels apart, long recordings in pieces. The graph is
looked for in <exp> and beside systems of the same tree, the kind of features in <exp>/conf. A line for each word:
`file channel start duration word confidence` (ctm); or --form text, --form json.
"""

from pymavg.decoding.decoder import DecoderOptions
from pymavg.decoding.transcribe import Transcriber, channels, find_extractor, find_graph, formatted
from pymavg.options import Parser, log, real


def main(argv):
    """Run the tool."""
    parser = Parser("transcribe", __doc__)
    parser.add_options_of(DecoderOptions(beam=13.0, lattice_beam=8.0, max_active=7000))
    parser.add_argument("--acwt", type=real, default=0.1, help="acoustic scale; default 0.1")
    parser.add_argument("--graph", help="directory with HCLG.fst, words.txt and phones/")
    parser.add_argument("--type", default="", help="kind of features, as mfcc or fbank, where <exp>/conf does not tell")
    parser.add_argument("--config", default="", help="conf file of the features")
    parser.add_argument("--form", choices=("ctm", "text", "json"), default="ctm", help="default ctm")
    parser.add_argument("--use-gpu", default="no", help="auto, yes or no; default no")
    parser.add_argument("exp", help="directory with final.nnet, or final.mdl of a GMM")
    parser.add_argument("audio", nargs="+")
    args = parser.parse_args(argv)
    options = DecoderOptions(**{name: getattr(args, name) for name in vars(DecoderOptions())})
    extractor = find_extractor(args.exp, args.type, args.config)
    graph = args.graph or find_graph(args.exp)
    log(f"transcribe: {args.exp}, {graph}, {extractor.config.path}")
    transcriber = Transcriber(args.exp, graph, extractor, options, args.acwt, args.use_gpu)
    for path in args.audio:
        found, rate = channels(path)
        for number, samples in enumerate(found, 1):
            name = path if len(found) == 1 else f"{path}, channel {number}"
            lines = formatted(args.form, path, number, transcriber(samples, rate, name))
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)
