"""Estimate an LDA transform from statistics of acc-lda.

usage: pymavg est-lda [options] <stats>... <matrix>
 e.g.: pymavg est-lda --dim 40 --write-full-matrix exp/tri3/full.mat exp/tri3/*.lda exp/tri3/0.mat
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.lda import estimate_lda, load_lda_stats
from pymavg.kaldi.writers import write_matrix
from pymavg.options import Parser, log, positive


def main(argv):
    """Run the tool."""
    parser = Parser("est-lda", __doc__)
    parser.add_argument("--dim", type=positive, default=40, help="dimensions that are kept; default 40")
    parser.add_argument("--write-full-matrix", metavar="FILE", help="the transform with all dimensions")
    parser.add_argument("stats", nargs="+")
    parser.add_argument("matrix")
    args = parser.parse_args(argv)
    total = load_lda_stats(args.stats[0])
    for path in args.stats[1:]:
        total.add(load_lda_stats(path), path)
    full, variance = estimate_lda(total)
    if args.dim > len(full):
        raise PymavgError(f"--dim {args.dim}: the spliced features have only {len(full)} dimensions")
    if args.write_full_matrix:
        write_matrix(args.write_full_matrix, full)
    write_matrix(args.matrix, full[: args.dim])
    values = " ".join(f"{v:.4g}" for v in variance[: args.dim])
    log(f"est-lda: {total.count.sum():.0f} frames; between-class variances {values}")
    log(f"est-lda: sum of those kept {np.sum(variance[: args.dim]):.4f}, of all {np.sum(variance):.4f}")
