"""Check a data directory; every problem is told with file, line and remedy.

usage: utils/validate_data_dir.sh [options] <data-dir>
e.g.:  utils/validate_data_dir.sh --no-feats data/train
"""

from pymavg.data.validate import validate
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("validate-data-dir", __doc__)
    parser.add_argument("--no-feats", action="store_true", help="feats.scp need not be there")
    parser.add_argument("--no-text", action="store_true", help="text need not be there")
    parser.add_argument("--no-wav", action="store_true", help="wav.scp need not be there")
    parser.add_argument("--non-print", action="store_true", help="accept characters in text that cannot be printed")
    parser.add_argument("--no-spk-sort", action="store_true", help="accepted for Kaldi's sake; never asked for here")
    parser.add_argument("--allow-empty-text", action="store_true", help="accept utterances without words")
    parser.add_argument("data_dir", metavar="data-dir")
    args = parser.parse_args(argv)
    needs = {f"need_{name}": not getattr(args, f"no_{name}") for name in ("feats", "text", "wav")}
    validate(args.data_dir, non_print=args.non_print, allow_empty_text=args.allow_empty_text, **needs)
    log(f"validate-data-dir: {args.data_dir} is a valid data directory")
