"""Accumulate statistics of MLLT over a job's alignments.

usage: pymavg gmm-acc-mllt [options] <model> <job-dir> <alignments> <stats>
 e.g.: pymavg gmm-acc-mllt --silence-phones 1:2:3 exp/tri3/2.mdl exp/tri3/job.1 exp/tri3/ali.1.gz exp/tri3/2.1.macc

Frames of the silence phones do not count.
"""

import numpy as np

from pymavg.gmm.job_options import add_transform_options, read_job
from pymavg.gmm.mllt import accumulate_mllt
from pymavg.gmm.silence import tid_weights
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.tables import read_int_vectors
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-acc-mllt", __doc__)
    add_transform_options(parser)
    parser.add_argument("--silence-phones", default="", help="ids separated by colons (phones/silence.csl)")
    for name in ("model", "job_dir", "alignments", "stats"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    transitions, gmm = read_model(args.model)
    data, alignments = read_job(args), dict(read_int_vectors(f"ark:{args.alignments}"))
    tids, rows = np.concatenate(list(alignments.values())), data.rows(alignments)
    weight = tid_weights(transitions, args.silence_phones, 0.0)[tids]
    kept = np.flatnonzero(weight)
    stats = accumulate_mllt(gmm, data.feats, rows[kept], transitions.tid_pdf[tids[kept]], weight[kept])
    stats.save(args.stats)
    log(f"gmm-acc-mllt: {stats.frames:.0f} frames outside silence of {len(alignments)} utterances")
