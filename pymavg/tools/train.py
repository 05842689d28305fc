"""Train a DNN by NG-SGD or SGD on the shards of several workers, averaging their models.

usage: pymavg train [options] <data-train> <data-cv> <ali-train> <ali-cv> <exp>
 e.g.: pymavg train --learn-rate 0.008 data/train data/cv exp/tri1_ali exp/tri1_ali_cv exp/dnn
       mpirun -n 4 python -m mpi4py -m pymavg.cli train … (or: pymavg launch --num-workers 4 train …)

<exp> gets final.nnet, final.feature_transform, ali_train_pdf.counts, final.mdl and tree: all that steps/nnet/decode.sh
needs. A run that was stopped goes on where it was when the same command is given again.
"""

import os

from pymavg.options import Parser, real
from pymavg.training.launch import limit_threads, local_tasks


def main(argv):
    """Run the tool."""
    limit_threads(local_tasks(os.environ))  # before NumPy is loaded
    from pymavg.nnet.optimizer import OptimizerOptions
    from pymavg.training.combination import AveragingOptions
    from pymavg.training.groups import from_arguments
    from pymavg.training.settings import TrainOptions

    groups = TrainOptions(), OptimizerOptions(), AveragingOptions()
    parser = Parser("train", __doc__)
    parser.add_options_of(groups[0], start_halving_impr=real, end_halving_impr=real)
    for group in groups[1:]:
        parser.add_options_of(group)
    for name in ("data_train", "data_cv", "ali_train", "ali_cv", "exp"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    given = parser.parse_args(argv)
    from pymavg.training.trainer import train  # after the help, which is to be fast

    options = from_arguments(groups, given)
    train(*options, given.data_train, given.data_cv, given.ali_train, given.ali_cv, given.exp)
