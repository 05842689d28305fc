"""Divide a data directory into training and cross-validation (CV) data.

usage: utils/subset_data_dir_tr_cv.sh [options] <source> <train> <cv>
e.g.:  utils/subset_data_dir_tr_cv.sh --by conversation data/train data/train_tr data/train_cv

Where there are too few speakers or conversations for the share wanted, single utterances are drawn, with a warning.
"""

from pymavg.data.split import divide
from pymavg.options import Parser, real, whole


def main(argv):
    """Run the tool."""
    parser = Parser("subset-data-dir-tr-cv", __doc__)
    parser.add_argument("--cv-percent", type=real, default=10.0, help="share of the utterances for CV (10)")
    parser.add_argument("--by", choices=("conversation", "speaker", "utterance"), default="speaker", help="(speaker)")
    parser.add_argument("--seed", type=whole, default=0, help="of the random choice (0)")
    parser.add_argument("source")
    parser.add_argument("train")
    parser.add_argument("cv")
    args = parser.parse_args(argv)
    if not 0 < args.cv_percent < 100:
        parser.error(f"--cv-percent needs a number between 0 and 100, got {args.cv_percent:g}")
    divide(args.source, args.train, args.cv, args.cv_percent, args.by, args.seed)
