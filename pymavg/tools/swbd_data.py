"""Make the data directory of Switchboard-1 from LDC97S62 and the MS98 transcripts.

usage: pymavg swbd-data [options] <swbd-dir> <data>
 e.g.: pymavg swbd-data /corpora/LDC97S62 data/train
"""

from pymavg.data.swbd import prepare_training
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("swbd-data", __doc__)
    parser.add_argument("--transcripts", help="folder swb_ms98_transcriptions, when it is not in <swbd-dir>")
    parser.add_argument("--docs", help="folder with conv.tab, the speakers, when it is not in <swbd-dir>")
    parser.add_argument("--allow-partial", type=boolean, default=False, help="true: go on without missing recordings")
    parser.add_argument("swbd_dir", metavar="swbd-dir")
    parser.add_argument("data")
    args = parser.parse_args(argv)
    prepare_training(args.swbd_dir, args.data, args.transcripts, args.allow_partial, args.docs)
