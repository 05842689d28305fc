"""Measure the speed of training on this CPU against its matrix products and PyTorch.

usage: pymavg bench [options]        (one thread; about 5 minutes; PyTorch only where it is installed)
One line for each measure, tab-separated: name, figure, bound, verdict (ok, short, busy or skipped), frames/s.
"""

import os

from pymavg.errors import PymavgError
from pymavg.nnet import benchmark
from pymavg.options import Parser, log, positive


def main(argv):
    """Print the report; exit status 1 when a bound is missed on a machine that is not busy."""
    parser = Parser("bench", __doc__)
    parser.add_argument("--hidden-dim", type=positive, default=2048, help="of each of 6 layers and of the RBM; 2048")
    options = parser.parse_args(argv)
    if any(os.environ.get(name) != "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")):
        raise PymavgError("set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1: the bounds are for one thread")
    busy = benchmark.is_busy()
    log(f"load average {os.getloadavg()[0]:.2f}, {'busy' if busy else 'free'}")
    dims = [440, *[options.hidden_dim] * 6, 3000]
    short = False
    for measure in benchmark.measures(dims=dims, rbm_dim=options.hidden_dim):
        verdict, sign = measure.verdict(busy), "<=" if measure.at_most else ">="
        figure = "-" if measure.figure is None else f"{measure.figure:.3f}"
        fields = measure.name, figure, f"{sign}{measure.bound}", verdict, f"{measure.frames_per_second:.0f}"
        print(*fields, sep="\t", flush=True)
        short |= verdict == "short"
    return int(short)
