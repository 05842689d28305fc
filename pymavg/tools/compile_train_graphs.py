"""Compile the graph of each transcript for alignment, without transition probabilities.

usage: pymavg compile-train-graphs <tree> <model> <lang-dir> <text> <fsts-archive>
e.g.:  pymavg compile-train-graphs exp/mono/tree exp/mono/0.mdl data/lang data/train/split4/1/text exp/mono/fsts.1.gz

<text> holds words; those outside words.txt become the unknown word of <lang-dir>.
"""

from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.graph.training_graph import TrainingGraphCompiler
from pymavg.kaldi.fst import FstWriter
from pymavg.kaldi.tables import read_token_map
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.options import Parser, log, warn


def main(argv):
    """Run the tool."""
    parser = Parser("compile-train-graphs", __doc__)
    parser.add_argument("tree")
    parser.add_argument("model")
    parser.add_argument("lang_dir", metavar="lang-dir")
    parser.add_argument("text", help="utterance and words, one a line")
    parser.add_argument("fsts_archive", metavar="fsts-archive", help="plain or .gz")
    args = parser.parse_args(argv)
    lang, text = Lang(args.lang_dir), read_token_map(args.text)
    compiler = TrainingGraphCompiler(
        lang.lexicon_fst, read_tree(args.tree), read_transition_model(args.model), lang.disambig
    )
    graphs = compiler.compile(lang.words.ids(words.split(), unknown=lang.oov) for words in text.values())
    done = 0
    with FstWriter(args.fsts_archive) as writer:
        for utterance, graph in zip(text, graphs, strict=True):
            if graph is None:
                warn(f"{args.text}: utterance {utterance}: no graph, one of its words is not in the lexicon")
                continue
            writer.write(utterance, graph)
            done += 1
        if done == 0:
            raise PymavgError(
                f"{args.text}: none of {len(text)} utterances has a graph; does it belong to {lang.path}?"
            )
    log(f"compile-train-graphs: {done} of {len(text)} utterances")
