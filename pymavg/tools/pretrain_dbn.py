"""Pretrain a stack of RBMs by CD-1 on the shards of several workers, averaging their models.

usage: pymavg pretrain-dbn [options] <data> <exp>
 e.g.: pymavg pretrain-dbn --nn-depth 4 --hid-dim 1024 data/train exp/pretrain_dbn

<exp> gets 1.dbn, 2.dbn, … (nnet1), and final.feature_transform. Layers that are there already are not trained again.
"""

import os

from pymavg.options import Parser
from pymavg.training.launch import limit_threads, local_tasks


def main(argv):
    """Run the tool."""
    limit_threads(local_tasks(os.environ))  # before NumPy is loaded
    from pymavg.training.combination import AveragingOptions
    from pymavg.training.groups import from_arguments
    from pymavg.training.settings import PretrainOptions

    groups = PretrainOptions(), AveragingOptions()
    parser = Parser("pretrain-dbn", __doc__)
    for group in groups:
        parser.add_options_of(group)
    parser.add_argument("data")
    parser.add_argument("exp")
    given = parser.parse_args(argv)
    from pymavg.training.pretraining import pretrain  # after the help, which is to be fast

    pretrain(*from_arguments(groups, given), given.data, given.exp)
