"""Write the features that every pass over a job needs into a directory.

usage: pymavg gmm-feats [options] <data> <model-dir> <job-dir>
 e.g.: pymavg gmm-feats data/train/split4/1 exp/mono exp/mono/job.1

The options of the features are looked for in <model-dir>: cmvn_opts, delta_opts, splice_opts, final.mat.
"""

from pymavg.data.pipeline import FeaturePipeline
from pymavg.gmm.job_data import write_features
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-feats", __doc__)
    parser.add_argument("--transform-dir", metavar="DIR", help="with fMLLR transforms trans.JOB")
    parser.add_argument("data")
    parser.add_argument("model_dir", metavar="model-dir")
    parser.add_argument("job_dir", metavar="job-dir")
    args = parser.parse_args(argv)
    pipeline = FeaturePipeline(args.data, args.model_dir, args.transform_dir, gmm=True)
    write_features(args.job_dir, pipeline)
    log(f"gmm-feats: {len(pipeline)} utterances, {pipeline.dim} dimensions")
