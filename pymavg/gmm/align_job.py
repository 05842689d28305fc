"""Alignment of all utterances of a job: the loop around the search, and its report."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.align import Alignment, align
from pymavg.gmm.equal_align import align_equal
from pymavg.gmm.likelihood import GmmScorer
from pymavg.gmm.silence import is_silence
from pymavg.options import log


class Report:
    """Counts what became of the utterances and judges it at the end."""

    def __init__(self, name):
        self.name, self.failed, self.done, self.retried, self.frames, self.score = name, [], 0, 0, 0, 0.0

    def add(self, utterance, alignment):
        """Take note of the Alignment of an utterance, or of None."""
        if alignment is None:
            self.failed.append(utterance)
            return
        self.done += 1
        self.retried += alignment.retried
        self.frames += len(alignment.tids)
        self.score += alignment.score

    def close(self, max_failed):
        """Log the result; raise PymavgError when more than the share `max_failed` failed."""
        total = self.done + len(self.failed)
        text = f"{self.name}: {self.done} of {total} utterances aligned, {self.retried} with the wider beam"
        if self.failed:
            shown = ", ".join(self.failed[:5])
            text += f" ({len(self.failed) / total:.1%} without; first: {shown})"
        if not self.done or len(self.failed) > max_failed * total:
            raise PymavgError(f"{text}; look at their transcripts, widen --retry-beam, or allow it by --max-failed")
        log(f"{text}; score per frame {self.score / self.frames:.4f}")


class Aligner:
    """Aligns utterances with one model.

    Parameters
    ----------
    transitions : TransitionModel
    gmm : AmDiagGmm
    options : AlignOptions
    """

    def __init__(self, transitions, gmm, options):
        if options.boost_silence != 1.0:
            silence = np.unique(transitions.tid_pdf[is_silence(transitions, options.silence_phones)])
            gmm = gmm.scaled_weights(silence, options.boost_silence)
        self._scorer, self._tid_pdf, self._options = GmmScorer(gmm), transitions.tid_pdf, options
        self._column = np.zeros(gmm.num_pdfs, np.int32)

    def __call__(self, graph, feats, utterance=None):
        """Return the Alignment of features (T, D), or None; the graph has transition probabilities."""
        pdfs = np.unique(self._tid_pdf[graph.ilabel[graph.ilabel > 0]])
        self._column[pdfs] = np.arange(len(pdfs))
        o, likes = self._options, self._scorer.loglikes(feats, pdfs)
        return align(graph, likes, self._column[self._tid_pdf], o.acoustic_scale, o.beam, o.retry_beam)


def equal_aligner(graph, feats, utterance):
    """Return an Alignment of score 0 that shares the frames equally among the states of a random path, or None."""
    tids = align_equal(graph, len(feats), utterance)
    return None if tids is None else Alignment(tids, 0.0, False)


def align_all(name, aligner, utterances, max_failed):
    """Align (utterance, features, graph or None), one by one; return the dict utterance -> transition-ids.

    The aligner, an `Aligner` or `equal_aligner`, takes graph, features and utterance and returns an Alignment or None.
    """
    report, alignments = Report(name), {}
    for utterance, feats, graph in utterances:
        found = aligner(graph, feats, utterance) if graph else None
        report.add(utterance, found)
        if found is not None:
            alignments[utterance] = found.tids
    report.close(max_failed)
    return alignments
