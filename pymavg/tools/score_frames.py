"""Classify the frames of a data directory with a trained network: accuracy and loss of each utterance.

usage: pymavg score-frames <data> <ali> <model-dir> <table>
 e.g.: pymavg score-frames data/cv exp/tri1_ali_cv exp/dnn exp/dnn/frames.tsv

<table> gets a line for each utterance: utterance, frames, correct ones, sum of −log p(aligned pdf).
"""

from pymavg.options import Parser
from pymavg.report.frame_scores import score_frames, write_frame_scores


def main(argv):
    """Run the tool."""
    parser = Parser("score-frames", __doc__)
    for name in ("data", "ali", "model_dir", "table"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    scores = score_frames(args.data, args.ali, args.model_dir)
    write_frame_scores(args.table, scores)
    frames, correct, loss = (sum(column) for column in zip(*scores.values(), strict=True))
    print(f"{args.table}: {frames} frames, accuracy {100 * correct / frames:.2f} %, loss {loss / frames:.4f}")
