"""Forced alignment of a data directory with a neural network."""

from dataclasses import dataclass

from pymavg.errors import PymavgError
from pymavg.gmm.align import align
from pymavg.gmm.align_job import Report
from pymavg.graph.hcl import add_transition_probs
from pymavg.graph.training_graph import TrainingGraphCompiler
from pymavg.kaldi.tables import IntVectorWriter
from pymavg.kaldi.tree import read_tree


@dataclass
class ForcedOptions:
    """Options of alignment, with Kaldi's names; `max_failed` is the largest share of utterances that may fail."""

    acoustic_scale: float = 0.1
    beam: float = 10.0
    retry_beam: float = 40.0
    max_failed: float = 0.1


def align_job(features, text, utterances, acoustic, lang, tree, path, options):
    """Align utterances and write their transition-ids.

    Parameters
    ----------
    features : FeaturePipeline
    text : dict utterance -> words in one string
    utterances : list of str
        This job's share.
    acoustic : acoustic.NnetAcoustic
    lang : pymavg.graph.lang.Lang
    tree : str or Path
        The decision tree of the model.
    path : str or Path
        Archive to write, ali.JOB.gz.
    options : ForcedOptions

    Raises
    ------
    PymavgError
        When an utterance has no transcript, or more fail than the options allow.
    """
    absent = [u for u in utterances if u not in text]
    if absent:
        raise PymavgError(
            f"{len(absent)} utterances have no transcript (first: {absent[0]}); run utils/fix_data_dir.sh"
        )
    model = acoustic.transitions
    compiler = TrainingGraphCompiler(lang.lexicon_fst, read_tree(tree), model, lang.disambig)
    graphs = compiler.compile(lang.words.ids(text[u].split(), unknown=lang.oov) for u in utterances)
    report = Report(str(path))
    with IntVectorWriter(path) as writer:
        for utterance, graph in zip(utterances, graphs, strict=True):
            found = None
            if graph is not None:
                likes, costs = acoustic.loglikes(features.get(utterance)), add_transition_probs(graph, model)
                scale, beams = options.acoustic_scale, (options.beam, options.retry_beam)
                found = align(costs, likes, model.tid_pdf, scale, *beams)
            report.add(utterance, found)
            if found is not None:
                writer.write(utterance, found.tids)
        report.close(options.max_failed)
