"""Check that the disks of Switchboard-1 and of Hub5'00 are whole, before any work.

usage: pymavg check-ldc [options] <swbd-dir> <eval2000-speech> <eval2000-transcripts>
 e.g.: pymavg check-ldc /corpora/LDC97S62 /corpora/LDC2002S09 /corpora/LDC2002T43
"""

from pymavg.data.hub5 import find_layout
from pymavg.data.ldc import check_count, check_whole
from pymavg.data.swbd import find_transcripts
from pymavg.options import Parser, boolean, log


def main(argv):
    """Run the tool."""
    parser = Parser("check-ldc", __doc__)
    parser.add_argument("--transcripts", help="folder swb_ms98_transcriptions, when it is not in <swbd-dir>")
    parser.add_argument("--allow-partial", type=boolean, default=False, help="true: go on with fewer recordings")
    parser.add_argument("swbd_dir", metavar="swbd-dir")
    parser.add_argument("speech_dir", metavar="eval2000-speech")
    parser.add_argument("transcripts_dir", metavar="eval2000-transcripts")
    args = parser.parse_args(argv)
    check_whole(check_count(args.swbd_dir, (2435, 2438), args.allow_partial))
    log(f"transcripts: {find_transcripts(args.transcripts or args.swbd_dir)}")
    speech, _, stms = find_layout(args.speech_dir, args.transcripts_dir)
    check_whole(check_count(speech, (40,), args.allow_partial))
    log(f"reference: {stms[0]}")
