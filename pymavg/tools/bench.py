"""Measure the speed of training and decoding on this CPU against matrix products, PyTorch and kaldi-decoder.

usage: pymavg bench [options]        (one thread; about 12 minutes; PyTorch only where it is installed)
 e.g.: pymavg bench --only steps,rbm

One line for each measure, tab-separated: name, figure, bound, verdict (ok, short, busy or skipped), frames/s. The
measures are steps (SGD and NG-SGD), rbm, ranks (two MPI ranks against one), decoder (its time beside that of
LatticeSimpleDecoder of kaldi-decoder, where that is installed), and accuracy (frames and seconds to the loss that plain
SGD ends with, on the features and alignments named below; skipped where they are not). Exit status 1 when a bound is
missed on a machine that is not busy.
"""

import os
from pathlib import Path

from pymavg.decoding import benchmark as decoder_benchmark
from pymavg.errors import PymavgError
from pymavg.nnet import benchmark
from pymavg.options import Parser, log, positive
from pymavg.training import accuracy_benchmark, ranks_benchmark

KINDS = ("steps", "rbm", "ranks", "decoder", "accuracy")
RECIPE = "egs/swbd"  # what make run leaves
DATA = {
    "data_train": "data/fbank/train_nodev",
    "data_cv": "data/fbank/train_dev",
    "ali_train": "exp/tri1_ali_train_nodev_sp",  # at three speeds, the unperturbed utterances among them
    "ali_cv": "exp/tri1_ali_train_dev",
}


def main(argv):
    """Print the report; exit status 1 when a bound is missed on a machine that is not busy."""
    parser = Parser("bench", __doc__)
    parser.add_argument("--hidden-dim", type=positive, default=2048, help="of each of 6 layers and of the RBM; 2048")
    parser.add_argument("--only", default=",".join(KINDS), help=f"some of {','.join(KINDS)}; default all")
    parser.add_argument("--frames", type=positive, default=150_000, help="of training, for accuracy; default 150000")
    for name, folder in DATA.items():
        default = f"{RECIPE}/{folder}"
        parser.add_argument(f"--{name.replace('_', '-')}", default=default, help=f"for accuracy; default {default}")
    options = parser.parse_args(argv)
    kinds = options.only.split(",")
    if not set(kinds) <= set(KINDS):
        raise PymavgError(f"--only {options.only}: expected some of {','.join(KINDS)}")
    if any(os.environ.get(name) != "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")):
        raise PymavgError("set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1: the bounds are for one thread")
    busy, short = benchmark.is_busy(), False
    log(f"load average {os.getloadavg()[0]:.2f}, {'busy' if busy else 'free'}")
    for kind in kinds:
        for measure in _measures(kind, options):
            print(measure.line(busy), flush=True)
            short |= measure.verdict(busy) == "short"
    log(f"load average {os.getloadavg()[0]:.2f}")
    return int(short)


def _measures(kind, options):
    dims = [440, *[options.hidden_dim] * 6, 3000]
    if kind == "steps":
        return benchmark.step_measures(dims)
    if kind == "rbm":
        return benchmark.rbm_measures(options.hidden_dim)
    if kind == "ranks":
        return ranks_benchmark.measures(dims)
    if kind == "decoder":
        return decoder_benchmark.measures()
    folders = [getattr(options, name) for name in DATA]
    missing = [folder for folder in folders if not Path(folder).is_dir()]
    if missing:
        log(f"accuracy: {missing[0]} is not there; run make run first, or name other data")
        return [benchmark.Measure("time to accuracy", None, None, True)]
    return accuracy_benchmark.measures(folders[:2], folders[2:], options.frames)
