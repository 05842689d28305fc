"""Make a copy of a data directory whose audio is played at another speed, or one with the speeds 0.9, 1.0 and 1.1.

usage: utils/data/perturb_data_dir_speed.sh [options] <speed> <source> <target>
       utils/data/perturb_data_dir_speed_3way.sh [options] <source> <target>
e.g.:  utils/data/perturb_data_dir_speed_3way.sh data/train data/train_sp

The copies are named sp0.9-… and sp1.1-…; features are to be computed for them again. wav.scp gets the commands that
Kaldi's scripts write, and sox is not needed to read them here.
"""

from pymavg.data.speed import perturb, perturb_three_ways
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("perturb-data-dir-speed", __doc__)
    parser.add_argument(
        "--always-include-prefix", type=boolean, default=False, help="sp1.0- before what is unchanged, too (3way)"
    )
    parser.add_argument("speed", help="such as 0.9, or 3way")
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args(argv)
    if args.speed == "3way":
        perturb_three_ways(args.source, args.target, args.always_include_prefix)
    else:
        perturb(args.source, args.target, args.speed)
