"""One pass over a job's data: align it, where that is due, and accumulate statistics for gmm-est.

usage: pymavg gmm-pass [options] <model> <job-dir> <alignments> <stats>
 e.g.: pymavg gmm-pass --align viterbi exp/mono/3.mdl exp/mono/job.1 exp/mono/ali.1.gz exp/mono/3.1.acc

With --align none the alignments are read; else they are written, by shares of equal length (equal) or by the best path
(viterbi). <job-dir> is made by gmm-feats and gmm-graphs. With --two-feats true, the transformed features decide on the
posteriors, and the sums are those of the features as they were: the model for speakers not yet adapted to.
"""

import numpy as np

from pymavg.gmm.accumulate import GmmStats, accumulate
from pymavg.gmm.align_options import AlignOptions
from pymavg.gmm.alignments import write_alignments
from pymavg.gmm.job_options import add_transform_options, read_job
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.tables import read_int_vectors
from pymavg.options import Parser, boolean, log


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-pass", __doc__)
    parser.add_argument("--align", choices=("none", "equal", "viterbi"), default="none", help="default none")
    parser.add_options_of(AlignOptions())
    add_transform_options(parser)
    parser.add_argument("--two-feats", type=boolean, default=False, help="needs --transform; default false")
    for name in ("model", "job_dir", "alignments", "stats"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    transitions, gmm = read_model(args.model)
    data = read_job(args)
    if args.align == "none":
        alignments = dict(read_int_vectors(f"ark:{args.alignments}"))
    else:
        alignments = _align(args, transitions, gmm, data)
    stats = GmmStats.zeros(gmm, transitions.num_tids)
    tids = np.concatenate(list(alignments.values()))
    second = data.plain if args.two_feats else None
    accumulate(stats, gmm, transitions.tid_pdf, data.feats, tids, data.rows(alignments), moments_of=second)
    stats.save(args.stats)
    log(f"gmm-pass: average log-likelihood per frame {stats.loglike / stats.frames:.4f} over {stats.frames:.0f} frames")


def _align(args, transitions, gmm, data):
    from pymavg.gmm import align_job  # here, since a pass that only accumulates starts faster without

    options = AlignOptions.from_arguments(args)
    equal = args.align == "equal"
    aligner = align_job.equal_aligner if equal else align_job.Aligner(transitions, gmm, options)
    graphs = data.graphs(transitions)
    utterances = ((utt, feats, graph) for (utt, feats), graph in zip(data.items(), graphs, strict=True))
    alignments = align_job.align_all("gmm-pass", aligner, utterances, options.max_failed)
    write_alignments(args.alignments, alignments)
    return alignments
