"""Make the next model from statistics: maximum-likelihood update of GMMs and transitions, then mixing up.

usage: pymavg gmm-est [options] <model-in> <stats>... <model-out>
 e.g.: pymavg gmm-est --mix-up 1000 --write-occs exp/mono/4.occs exp/mono/3.mdl exp/mono/3.*.acc exp/mono/4.mdl
"""

import numpy as np

from pymavg.files import atomic_open
from pymavg.gmm.accumulate import GmmStats, load_stats
from pymavg.gmm.estimate import UpdateOptions, mix_up, pdf_occupancy, update
from pymavg.kaldi.gmm import read_model, write_model
from pymavg.kaldi.stream import KaldiWriter
from pymavg.options import Parser, log, real, whole


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-est", __doc__)
    parser.add_options_of(UpdateOptions())
    parser.add_argument("--mix-up", type=whole, default=0, help="Gaussians wanted in all; default 0: as many as now")
    parser.add_argument("--power", type=real, default=0.25, help="of a pdf's frames, for its share; default 0.25")
    parser.add_argument("--seed", type=whole, default=0, help="of the directions of splits; default 0")
    parser.add_argument("--write-occs", metavar="FILE", help="frames of each pdf")
    parser.add_argument("model_in", metavar="model-in")
    parser.add_argument("stats", nargs="+")
    parser.add_argument("model_out", metavar="model-out")
    args = parser.parse_args(argv)
    options = UpdateOptions(**{name: getattr(args, name) for name in vars(UpdateOptions())})

    transitions, gmm = read_model(args.model_in)
    stats = GmmStats.zeros(gmm, transitions.num_tids)
    for path in args.stats:
        stats.add(load_stats(path), path)
    occupancy = pdf_occupancy(gmm, stats)
    gain = transitions.update(stats.transitions)
    gmm, removed = update(gmm, stats, options)
    if args.mix_up > gmm.num_gauss:
        gmm = mix_up(gmm, occupancy, args.mix_up, args.power, np.random.default_rng(args.seed))
    if args.write_occs:
        with atomic_open(args.write_occs, "wb") as stream:
            KaldiWriter(stream).vector(occupancy)
    write_model(args.model_out, transitions, gmm)
    frames = stats.frames
    log(
        f"gmm-est: log-likelihood per frame {stats.loglike / frames:.4f} over {frames:.0f} frames, transitions gain "
        f"{gain / frames:.4g}; {gmm.num_gauss} Gaussians, {removed} removed for too little data"
    )
