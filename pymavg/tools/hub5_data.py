"""Make the data directory of the Hub5 2000 evaluation, with stm and glm for scoring.

usage: pymavg hub5-data [options] <speech-dir> <transcripts-dir> <data>
 e.g.: pymavg hub5-data /corpora/LDC2002S09 /corpora/LDC2002T43 data/eval2000
"""

from pymavg.data.hub5 import prepare
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("hub5-data", __doc__)
    parser.add_argument("--allow-partial", type=boolean, default=False, help="true: go on without missing recordings")
    parser.add_argument("speech_dir", metavar="speech-dir", help="LDC2002S09")
    parser.add_argument("transcripts_dir", metavar="transcripts-dir", help="LDC2002T43")
    parser.add_argument("data")
    args = parser.parse_args(argv)
    prepare(args.speech_dir, args.transcripts_dir, args.data, args.allow_partial)
