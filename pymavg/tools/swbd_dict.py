"""Make data/local/dict in Kaldi's form from the MS98 dictionary, sw-ms98-dict.text, with its faults corrected.

usage: pymavg swbd-dict [options] <swbd-dir> <dict-dir>
 e.g.: pymavg swbd-dict /corpora/LDC97S62 data/local/dict
"""

from pymavg.data.swbd import find_transcripts, transcribed_words, write_dictionary
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("swbd-dict", __doc__)
    parser.add_argument("--transcripts", help="folder swb_ms98_transcriptions, when it is not in <swbd-dir>")
    parser.add_argument("--extra-lexicon", help="file of more lines `word phone …`")
    parser.add_argument(
        "--g2p",
        type=boolean,
        default=False,
        help="true: words that the dictionary lacks are pronounced by their spelling (phonetisaurus)",
    )
    parser.add_argument("swbd_dir", metavar="swbd-dir")
    parser.add_argument("dict_dir", metavar="dict-dir")
    args = parser.parse_args(argv)
    folder = find_transcripts(args.transcripts or args.swbd_dir)
    words = transcribed_words(folder) if args.g2p else ()
    write_dictionary(folder / "sw-ms98-dict.text", args.dict_dir, args.extra_lexicon, words)
