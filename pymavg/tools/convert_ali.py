"""Rewrite the alignments of a job for a new tree and model of the same topology.

usage: pymavg convert-ali [options] <ali-dir> <model> <tree> <job-dir> <job> <alignments>
 e.g.: pymavg convert-ali exp/mono_ali exp/tri1/1.mdl exp/tri1/tree exp/tri1/job.1 1 exp/tri1/ali.1.gz

Reads final.mdl and the alignments of <ali-dir>, ali.<job>.gz first.
"""

from pymavg.gmm.alignments import read_job_alignments, write_alignments
from pymavg.gmm.first_model import AlignmentConverter
from pymavg.gmm.job_data import JobData
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser, log, positive, real


def main(argv):
    """Run the tool."""
    parser = Parser("convert-ali", __doc__)
    parser.add_argument("--max-missing", type=real, default=0.1, help="share without alignment; default 0.1")
    for name in ("ali_dir", "model", "tree", "job_dir"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    parser.add_argument("job", type=positive)
    parser.add_argument("alignments")
    args = parser.parse_args(argv)
    data = JobData(args.job_dir)
    old, alignments = read_job_alignments(args.ali_dir, args.job, data.frames(), data.path, args.max_missing)
    converter = AlignmentConverter(old, read_transition_model(args.model), read_tree(args.tree))
    converted = converter.convert(list(alignments.values()))
    write_alignments(args.alignments, dict(zip(alignments, converted, strict=True)))
    log(f"convert-ali: {len(converted)} utterances")
