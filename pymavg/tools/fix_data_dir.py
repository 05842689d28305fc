"""Mend a data directory: C order, the utterances that all tables have, stale tables remade.

usage: utils/fix_data_dir.sh [options] <data-dir>
e.g.:  utils/fix_data_dir.sh --fix-text data/train

The originals are kept in <data-dir>/.backup. Nothing is changed when there is an error.
"""

from pymavg.data.fix import fix
from pymavg.options import Parser, real


def main(argv):
    """Run the tool."""
    parser = Parser("fix-data-dir", __doc__)
    parser.add_argument("--fix-text", action="store_true", help="mend characters of text, drop empty utterances")
    parser.add_argument("--keep-empty-text", action="store_true", help="keep utterances without words (test sets)")
    parser.add_argument("--max-loss", type=real, default=0.05, help="part of the utterances that may be dropped (0.05)")
    parser.add_argument("data_dir", metavar="data-dir")
    args = parser.parse_args(argv)
    fix(args.data_dir, args.fix_text, args.keep_empty_text, args.max_loss)
