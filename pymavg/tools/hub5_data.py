"""Make the data directory of an evaluation of conversational telephone speech, with stm and glm for scoring.

usage: pymavg hub5-data [options] <speech-dir> <transcripts-dir> <data>
 e.g.: pymavg hub5-data /corpora/LDC2002S09 /corpora/LDC2002T43 data/eval2000
       pymavg hub5-data --evaluation eval2001 /corpora/LDC2002S13 /corpora/LDC2002S13 data/eval2001
       pymavg hub5-data --evaluation rt03 /corpora/LDC2007S10 /corpora/LDC2007S10 data/rt03
"""

from pymavg.data.hub5 import EVALUATIONS, prepare
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("hub5-data", __doc__)
    parser.add_argument("--evaluation", choices=tuple(EVALUATIONS), default="eval2000", help="default eval2000")
    parser.add_argument("--allow-partial", type=boolean, default=False, help="true: go on without missing recordings")
    parser.add_argument("--glm", help="rules of scoring, where the release has none")
    parser.add_argument("speech_dir", metavar="speech-dir", help="such as LDC2002S09")
    parser.add_argument("transcripts_dir", metavar="transcripts-dir", help="such as LDC2002T43")
    parser.add_argument("data")
    args = parser.parse_args(argv)
    prepare(args.speech_dir, args.transcripts_dir, args.data, args.allow_partial, args.evaluation, args.glm)
