"""Align transcripts with a neural network; write transition-ids.

usage: pymavg align-nnet [options] <data> <lang-dir> <model-dir> <alignments>
 e.g.: pymavg align-nnet --job 1 --num-jobs 4 data/fbank/train data/lang exp/dnn exp/dnn_ali/ali.1.gz

The model directory holds final.nnet, final.feature_transform, ali_train_pdf.counts, final.mdl and tree.
"""

from pathlib import Path

from pymavg.data.datadir import DataDir
from pymavg.data.pipeline import FeaturePipeline
from pymavg.decoding.acoustic import NnetAcoustic
from pymavg.decoding.forced import ForcedOptions, align_job
from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.options import Parser, positive
from pymavg.training.groups import from_arguments


def main(argv):
    """Run the tool."""
    parser, options = Parser("align-nnet", __doc__), ForcedOptions()
    parser.add_options_of(options)
    parser.add_argument("--use-gpu", default="no", help="auto, yes or no; default no")
    parser.add_argument("--job", type=positive, default=1, help="which part of the utterances: 1 .. num-jobs")
    parser.add_argument("--num-jobs", type=positive, default=1, help="number of parts; default 1")
    parser.add_argument("data")
    parser.add_argument("lang_dir", metavar="lang-dir")
    parser.add_argument("model_dir", metavar="model-dir")
    parser.add_argument("alignments", help="archive to write: ali.JOB.gz")
    given = parser.parse_args(argv)
    if given.job > given.num_jobs:
        raise PymavgError(f"--job {given.job}: there are --num-jobs {given.num_jobs}")
    (options,) = from_arguments([options], given)
    features = FeaturePipeline(given.data, given.model_dir)
    acoustic = NnetAcoustic(given.model_dir, use_gpu=given.use_gpu)
    own = features.utts[given.job - 1 :: given.num_jobs]
    tree = Path(given.model_dir, "tree")
    align_job(features, DataDir(given.data).text, own, acoustic, Lang(given.lang_dir), tree, given.alignments, options)
