"""Copy a data directory, perhaps with new names of utterances and speakers, or with paths that hold from anywhere.

usage: utils/copy_data_dir.sh [options] <source> <target>
e.g.:  utils/copy_data_dir.sh --utt-prefix noisy- --spk-prefix noisy- data/train data/train_noisy
       utils/copy_data_dir.sh --root /data/kaldi/egs/wsj/s5 /data/kaldi/egs/wsj/s5/data/train data/train
"""

from pymavg.data.combine import copy
from pymavg.data.reroot import reroot_tables
from pymavg.options import Parser

NAMES = ("utt_prefix", "utt_suffix", "spk_prefix", "spk_suffix")


def main(argv):
    """Run the tool."""
    parser = Parser("copy-data-dir", __doc__)
    for name in NAMES:
        parser.add_argument(f"--{name.replace('_', '-')}", default="")
    parser.add_argument(
        "--root",
        help="directory that relative paths in feats.scp, cmvn.scp and wav.scp start from, and "
        "under which the files of stale absolute ones lie: the copy gets paths that hold from anywhere",
    )
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args(argv)
    copy(args.source, args.target, **{name: getattr(args, name) for name in NAMES})
    if args.root:
        reroot_tables(args.target, args.root)
