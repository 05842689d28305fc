"""Write features as a GMM sees them: normalised, with deltas or spliced and transformed (LDA), adapted (fMLLR).

usage: pymavg transform-feats [options] <data> <gmm-dir> <prefix>
 e.g.: pymavg transform-feats --transform-dir exp/tri3_ali data/train exp/tri3_ali fmllr/train.1

The kind of features is found by Kaldi's rules in <gmm-dir>: cmvn_opts, splice_opts and final.mat, or delta_opts. Writes
<prefix>.ark, <prefix>.scp and <prefix>.lengths, which `pymavg collect-feats` puts together.
"""

from pymavg.data.feature_jobs import write_pipeline
from pymavg.data.pipeline import FeaturePipeline
from pymavg.options import Parser, boolean, positive


def main(argv):
    """Run the tool."""
    parser = Parser("transform-feats", __doc__)
    parser.add_argument("--transform-dir", metavar="DIR", help="with the speakers' fMLLR transforms, trans.JOB")
    parser.add_argument("--root", metavar="DIR", help="directory that relative paths in <data> start from")
    parser.add_argument("--compress", type=boolean, default=False, help="8 bits per number (default false)")
    parser.add_argument("--job", type=positive, default=1, help="which share of the utterances (default 1)")
    parser.add_argument("--num-jobs", type=positive, default=1, help="into how many shares they are split (default 1)")
    parser.add_argument("data")
    parser.add_argument("gmm_dir", metavar="gmm-dir")
    parser.add_argument("prefix", help="what the names of the output files start with")
    args = parser.parse_args(argv)
    pipeline = FeaturePipeline(args.data, args.gmm_dir, args.transform_dir, args.root, gmm=True)
    write_pipeline(pipeline, args.prefix, args.job, args.num_jobs, args.compress)
