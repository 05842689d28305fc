"""Accumulate statistics of phones in context, for cluster-phones and build-tree.

usage: pymavg acc-tree-stats [options] <lang> <ali-dir> <job-dir> <job> <tree-stats>
 e.g.: pymavg acc-tree-stats data/lang exp/mono_ali exp/tri1/job.1 1 exp/tri1/1.treeacc

Reads final.mdl and the alignments of <ali-dir>, ali.<job>.gz first; <job-dir> holds the features (gmm-feats).
"""

import numpy as np

from pymavg.gmm.alignments import read_job_alignments
from pymavg.gmm.job_options import add_transform_options, read_job
from pymavg.gmm.tree_stats import accumulate_tree_stats, frame_keys
from pymavg.graph.lang import Lang
from pymavg.options import Parser, log, positive, real, whole


def main(argv):
    """Run the tool."""
    parser = Parser("acc-tree-stats", __doc__)
    add_transform_options(parser)
    parser.add_argument("--context-width", type=positive, default=3, help="phones in a window; default 3")
    parser.add_argument("--central-position", type=whole, default=1, help="of the phone itself; default 1")
    parser.add_argument("--max-missing", type=real, default=0.1, help="share without alignment; default 0.1")
    parser.add_argument("lang")
    parser.add_argument("ali_dir", metavar="ali-dir")
    parser.add_argument("job_dir", metavar="job-dir")
    parser.add_argument("job", type=positive)
    parser.add_argument("tree_stats", metavar="tree-stats")
    args = parser.parse_args(argv)
    data = read_job(args)
    transitions, alignments = read_job_alignments(args.ali_dir, args.job, data.frames(), data.path, args.max_missing)
    shape = args.context_width, args.central_position
    keys = frame_keys(transitions, list(alignments.values()), Lang(args.lang).context_indep, *shape)
    stats = accumulate_tree_stats(keys, np.asarray(data.feats[data.rows(alignments)]))
    stats.save(args.tree_stats)
    log(f"acc-tree-stats: {len(stats.keys)} contexts in {len(keys)} frames of {len(alignments)} utterances")
