"""Training graphs of a list of utterances, from their transcripts."""

from pymavg.errors import PymavgError
from pymavg.graph.training_graph import TrainingGraphCompiler
from pymavg.kaldi.tables import read_token_map
from pymavg.options import warn

MAX_MISSING = 0.05  # share of utterances that may lack a transcript


def compile_graphs(lang, tree, model, text, utts):
    """Yield the graph of each utterance without transition probabilities; None where it has no words to align.

    Parameters
    ----------
    lang : pymavg.graph.lang.Lang
    tree : ContextDependency
    model : TransitionModel
    text : str or Path
        Transcripts; words outside words.txt become the unknown word of `lang`.
    utts : list of str

    Raises
    ------
    PymavgError
        When more than 5 % of the utterances have no transcript.
    """
    transcripts = read_token_map(text)
    missing = [utterance for utterance in utts if utterance not in transcripts]
    if missing:
        found = f"{text}: {len(missing)} of {len(utts)} utterances have no transcript; first: {missing[0]}"
        if len(missing) > MAX_MISSING * len(utts):
            raise PymavgError(f"{found}; run utils/fix_data_dir.sh")
        warn(found)
    compiler = TrainingGraphCompiler(lang.lexicon_fst, tree, model, lang.disambig)
    words = (lang.words.ids(transcripts.get(u, "").split(), unknown=lang.oov) for u in utts)
    for utterance, graph in zip(utts, compiler.compile(words), strict=True):
        if graph is None:
            warn(f"{text}: utterance {utterance}: no graph; a word of it is not in {lang.path}/L.fst")
        yield None if utterance not in transcripts else graph
