"""Align a job's data with a GMM, adapted to each speaker by fMLLR.

usage: pymavg gmm-align-fmllr [options] <lang> <data> <model-dir> <alignments> <transforms>
 e.g.: pymavg gmm-align-fmllr data/lang data/train/split4/1 exp/tri4 exp/tri4_ali/ali.1.gz exp/tri4_ali/trans.1

<model-dir> holds final.mdl, tree, the options of the features and, after SAT, final.alimdl. A speaker's utterances are
aligned with final.alimdl (or final.mdl), fMLLR is estimated, and they are aligned again with final.mdl.
"""

from pathlib import Path

from pymavg.data.pipeline import FeaturePipeline
from pymavg.gmm.align_adapted import AdaptedAligner, align_speakers
from pymavg.gmm.align_job import Aligner
from pymavg.gmm.align_options import AlignOptions
from pymavg.gmm.alignments import write_alignments
from pymavg.gmm.fmllr import FmllrOptions
from pymavg.gmm.graphs import compile_graphs
from pymavg.gmm.silence import tid_weights
from pymavg.graph.hcl import add_transition_probs
from pymavg.graph.lang import Lang
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.tables import MatrixWriter
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser, real


def main(argv):
    """Run the tool."""
    parser = Parser("gmm-align-fmllr", __doc__)
    parser.add_options_of(AlignOptions(max_failed=0.2))
    parser.add_options_of(FmllrOptions())
    parser.add_argument("--silence-weight", type=real, default=0.0, help="of frames in silence; default 0")
    for name in ("lang", "data", "model_dir", "alignments", "transforms"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    options, fmllr = AlignOptions.from_arguments(args), FmllrOptions.from_arguments(args)
    folder = Path(args.model_dir)
    transitions, gmm = read_model(folder / "final.mdl")
    judge = read_model(folder / "final.alimdl")[1] if (folder / "final.alimdl").exists() else gmm
    weights = tid_weights(transitions, args.silence_phones, args.silence_weight)
    aligners = Aligner(transitions, judge, options), Aligner(transitions, gmm, options)
    aligner = AdaptedAligner(*aligners, judge, gmm, transitions.tid_pdf, weights, fmllr)
    transforms, alignments = align_speakers(
        "gmm-align-fmllr", aligner, _speakers(args, transitions, folder), options.max_failed
    )
    with MatrixWriter(args.transforms) as writer:
        for speaker, w in transforms.items():
            writer.write(speaker, w)
    write_alignments(args.alignments, alignments)


def _speakers(args, transitions, folder):
    """Yield (speaker, list of (utterance, features, graph or None))."""
    pipeline = FeaturePipeline(args.data, folder)
    groups, tree = pipeline.by_speaker(), read_tree(folder / "tree")
    utts = [utterance for group in groups.values() for utterance in group]
    graphs = compile_graphs(Lang(args.lang), tree, transitions, Path(args.data, "text"), utts)
    for speaker, group in groups.items():
        bare = [(u, pipeline.get(u), next(graphs)) for u in group]
        yield speaker, [(u, x, graph and add_transition_probs(graph, transitions)) for u, x, graph in bare]
