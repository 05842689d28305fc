"""Print alignments as phones with their durations.

usage: pymavg show-alignments [options] <phones.txt> <model> <alignments>
 e.g.: pymavg show-alignments data/lang/phones.txt exp/tri3_ali/final.mdl exp/tri3_ali/ali.1.gz
       pymavg show-alignments --form ctm data/lang/phones.txt exp/dnn_ali/final.mdl exp/dnn_ali/ali.1.gz

By default, as Kaldi's show-alignments, the transition-ids of each phone in brackets and below them the phones; `phones`
prints `key phone frames ; phone frames ; …`, `ctm` a line `key 1 start duration phone` for each phone, in seconds.
"""

from pymavg.decoding.word_times import phone_spans
from pymavg.errors import PymavgError
from pymavg.kaldi.rspecifier import parse_rspecifier
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.tables import read_int_vectors
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import Parser, real


def main(argv):
    """Run the tool."""
    parser = Parser("show-alignments", __doc__)
    parser.add_argument("--form", choices=("kaldi", "phones", "ctm"), default="kaldi", help="default kaldi")
    parser.add_argument("--frame-shift", type=real, default=0.01, help="seconds, for ctm; default 0.01")
    parser.add_argument("phones", metavar="phones.txt")
    parser.add_argument("model", help="final.mdl")
    parser.add_argument("alignments", help="archive, as ali.1.gz or 'ark:gunzip -c ali.*.gz |'")
    args = parser.parse_args(argv)
    symbols, model = read_symbols(args.phones), read_transition_model(args.model)
    place = parse_rspecifier(args.alignments)[1]
    for key, tids in read_int_vectors(args.alignments):
        if len(tids) and not (tids.min() >= 1 and tids.max() <= model.num_tids):
            bad = next(t for t in tids.tolist() if not 1 <= t <= model.num_tids)
            raise PymavgError(f"{place}: {key}: transition-id {bad}, {args.model} has 1 to {model.num_tids}")
        spans = phone_spans(model, tids) if len(tids) else []
        names = symbols.symbols([phone for *_, phone in spans], f"{place}: {key}")
        print(*_lines(args, key, tids.tolist(), spans, names), sep="\n")


def _lines(args, key, tids, spans, names):
    if args.form == "phones":
        return [
            f"{key} " + " ; ".join(f"{name} {end - start}" for (start, end, _), name in zip(spans, names, strict=True))
        ]
    if args.form == "ctm":
        shift = args.frame_shift
        pairs = zip(spans, names, strict=True)
        return [f"{key} 1 {start * shift:.3f} {(end - start) * shift:.3f} {name}" for (start, end, _), name in pairs]
    parts = ["[ " + "".join(f"{tid} " for tid in tids[start:end]) + "]" for start, end, _ in spans]
    below = [name.ljust(len(part)) for name, part in zip(names, parts, strict=True)]
    return [f"{key}  " + " ".join(parts) + " ", f"{key}  " + " ".join(below) + " ", ""]
