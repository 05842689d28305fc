"""The digits of golden/gmm as the GMM tests need them: features, alignments, graphs."""

import functools
import tempfile

from pymavg.data.pipeline import FeaturePipeline
from pymavg.graph.lang import Lang
from pymavg.kaldi.tables import read_int_vectors


@functools.cache
def features(data):
    """Return the dict utterance -> features with CMVN and deltas of a data directory of golden/gmm."""
    with tempfile.TemporaryDirectory() as empty:
        return dict(FeaturePipeline(data, empty, root=str(data.parents[1]), gmm=True))


@functools.cache
def features_of(data, model):
    """Return the dict utterance -> features as a model directory of golden/gmm wants them (LDA and MLLT, too)."""
    if not (model / "final.mat").exists():
        return features(data)
    return dict(FeaturePipeline(data, model, root=str(data.parents[1])))


@functools.cache
def alignments(path):
    """Return the dict utterance -> transition-ids of an archive."""
    return dict(read_int_vectors(f"ark:{path}"))


def text_alignments(path):
    """Return the dict utterance -> list of ids of a text archive."""
    return {line.split()[0]: [int(word) for word in line.split()[1:]] for line in path.read_text().splitlines()}


def transcripts(data, lang):
    """Return the dict utterance -> word ids."""
    lines = (line.split() for line in (data / "text").read_text().splitlines())
    return {utt: lang.words.ids(words) for utt, *words in lines}


def lang_of(golden):
    """Return the Lang of golden/gmm."""
    return Lang(golden("gmm/lang"))
