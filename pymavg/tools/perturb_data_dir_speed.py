"""Make a copy of a data directory whose audio is played at another speed.

usage: utils/data/perturb_data_dir_speed.sh <speed> <source> <target>
e.g.:  utils/data/perturb_data_dir_speed.sh 0.9 data/train data/train_sp0.9

All names in the copy begin with sp<speed>-; features are to be computed for it again. wav.scp gets the commands that
Kaldi's script writes, and sox is not needed to read them here.
"""

from pymavg.data.speed import perturb
from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    parser = Parser("perturb-data-dir-speed", __doc__)
    for name in ("speed", "source", "target"):
        parser.add_argument(name)
    args = parser.parse_args(argv)
    perturb(args.source, args.target, args.speed)
