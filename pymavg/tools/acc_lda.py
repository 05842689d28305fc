"""Accumulate LDA statistics of a job's spliced features, with the pdfs of an alignment as classes.

usage: pymavg acc-lda [options] <ali-dir> <data> <model-dir> <job> <stats>
 e.g.: pymavg acc-lda --silence-phones 1:2:3 exp/tri2_ali data/train/split4/1 exp/tri3 1 exp/tri3/1.lda

Reads final.mdl and the alignments of <ali-dir>, ali.<job>.gz first; cmvn_opts and splice_opts are looked for in
<model-dir>. Frames of the silence phones do not count.
"""

from pathlib import Path

from pymavg.data.pipeline import FeaturePipeline, SpliceOptions, read_options
from pymavg.data.transforms import splice
from pymavg.gmm.alignments import read_job_alignments
from pymavg.gmm.lda import LdaStats
from pymavg.gmm.silence import tid_weights
from pymavg.options import Parser, log, positive, real


def main(argv):
    """Run the tool."""
    parser = Parser("acc-lda", __doc__)
    parser.add_argument("--silence-phones", default="", help="ids separated by colons (phones/silence.csl)")
    parser.add_argument("--max-missing", type=real, default=0.1, help="share without alignment; default 0.1")
    for name in ("ali_dir", "data", "model_dir"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    parser.add_argument("job", type=positive)
    parser.add_argument("stats")
    args = parser.parse_args(argv)
    feats = dict(FeaturePipeline(args.data, args.model_dir, only_cmvn=True))
    lengths = {utterance: len(x) for utterance, x in feats.items()}
    transitions, alignments = read_job_alignments(args.ali_dir, args.job, lengths, args.data, args.max_missing)
    weights = tid_weights(transitions, args.silence_phones, 0.0)
    options = Path(args.model_dir, "splice_opts")
    context = read_options(options, SpliceOptions()) if options.exists() else SpliceOptions()
    dim = next(iter(feats.values())).shape[1] * (context.left_context + 1 + context.right_context)
    stats = LdaStats.zeros(transitions.num_pdfs, dim)
    for utterance, tids in alignments.items():
        counts = weights[tids] > 0
        spliced = splice(feats[utterance], context.left_context, context.right_context)
        stats.accumulate(spliced[counts], transitions.tid_pdf[tids[counts]])
    stats.save(args.stats)
    log(f"acc-lda: {stats.count.sum():.0f} frames of {len(alignments)} utterances, {dim} dimensions")
