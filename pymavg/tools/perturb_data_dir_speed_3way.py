"""Make a data directory that holds another one at the speeds 0.9, 1.0 and 1.1.

usage: utils/data/perturb_data_dir_speed_3way.sh [options] <source> <target>
e.g.:  utils/data/perturb_data_dir_speed_3way.sh data/train data/train_sp

The copies are named sp0.9-… and sp1.1-…; features are to be computed for all. See perturb-data-dir-speed.
"""

from pymavg.data.speed import perturb_three_ways
from pymavg.options import Parser, boolean


def main(argv):
    """Run the tool."""
    parser = Parser("perturb-data-dir-speed-3way", __doc__)
    parser.add_argument(
        "--always-include-prefix", type=boolean, default=False, help="sp1.0- before the unchanged names, too"
    )
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args(argv)
    perturb_three_ways(args.source, args.target, args.always_include_prefix)
