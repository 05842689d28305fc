"""Make text for the language model from the transcripts of Fisher English, in the spelling of Switchboard.

usage: pymavg fisher-text <fisher-dir>... <dir>
 e.g.: pymavg fisher-text /corpora/LDC2004T19 /corpora/LDC2005T19 data/local/fisher

Writes <dir>/text: one sentence a line, no names of utterances.
"""

from pymavg.data.fisher import write_text
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("fisher-text", __doc__)
    parser.add_argument("fisher_dirs", nargs="+", metavar="fisher-dir", help="LDC2004T19, LDC2005T19, or one of them")
    parser.add_argument("dir")
    args = parser.parse_args(argv)
    write_text(args.fisher_dirs, args.dir)
