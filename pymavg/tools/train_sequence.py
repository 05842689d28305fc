"""Train a DNN further by sMBR, MPFE or MMI on the utterances of several workers, averaging their models.

usage: pymavg train-sequence [options] <data> <lang> <src-dir> <ali> <denlats> <exp>
 e.g.: pymavg train-sequence --num-iters 2 data/train data/lang exp/dnn exp/dnn_ali exp/dnn_denlats exp/dnn_smbr
       mpirun -n 4 python -m mpi4py -m pymavg.cli train-sequence … (or: pymavg launch --num-workers 4 train-sequence …)

<ali> is an alignment by <src-dir>, <denlats> comes from steps/nnet/make_denlats.sh. <exp> gets all that decoding needs,
with priors estimated anew. A run that was stopped goes on where it was when the same command is given again.
"""

import os

from pymavg.options import Parser
from pymavg.training.launch import limit_threads, local_tasks


def main(argv):
    """Run the tool."""
    limit_threads(local_tasks(os.environ))  # before NumPy is loaded
    from pymavg.decoding.sequence_options import SequenceOptions
    from pymavg.nnet.optimizer import OptimizerOptions
    from pymavg.training.combination import AveragingOptions
    from pymavg.training.groups import from_arguments

    groups = SequenceOptions(), OptimizerOptions(optimizer="sgd"), AveragingOptions()
    parser = Parser("train-sequence", __doc__)
    for group in groups:
        parser.add_options_of(group)
    for name in ("data", "lang", "src-dir", "ali", "denlats", "exp"):
        parser.add_argument(name.replace("-", "_"), metavar=name)
    given = parser.parse_args(argv)
    from pymavg.decoding.sequence_trainer import train_sequence  # after the help, which is to be fast

    options = from_arguments(groups, given)
    train_sequence(*options, given.data, given.lang, given.src_dir, given.ali, given.denlats, given.exp)
