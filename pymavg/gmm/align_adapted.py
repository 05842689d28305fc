"""Alignment of speakers in two rounds: with the model for features as they are, then adapted by fMLLR."""

import numpy as np

from pymavg.data.transforms import transform
from pymavg.gmm.adapt import aligned, speaker_transform
from pymavg.gmm.align_job import Report


class AdaptedAligner:
    """Aligns the utterances of one speaker after another.

    Parameters
    ----------
    first, second : pymavg.gmm.align_job.Aligner
        Of final.alimdl and of final.mdl.
    judge, gmm : AmDiagGmm
        These models, of the same Gaussians.
    tid_pdf, tid_weight : arrays (num_tids + 1,)
        Pdf of each transition-id, and weight of its frames in fMLLR.
    options : pymavg.gmm.fmllr.FmllrOptions
    """

    def __init__(self, first, second, judge, gmm, tid_pdf, tid_weight, options):
        self.first, self.second, self.judge, self.gmm = first, second, judge, gmm
        self.tid_pdf, self.tid_weight, self.options = tid_pdf, tid_weight, options

    def align(self, speaker, utterances):
        """Align (utterance, features (T, D), graph or None) of a speaker.

        Returns
        -------
        (float64 (D, D + 1), list of (utterance, Alignment or None))
            The speaker's transform, the final alignments.
        """
        rough = [graph and self.first(graph, feats) for _, feats, graph in utterances]
        pieces = [
            aligned(feats, found.tids, self.tid_pdf, self.tid_weight)
            for (_, feats, _), found in zip(utterances, rough, strict=True)
            if found is not None
        ]
        w = speaker_transform(speaker, pieces, self.gmm, self.options, self.judge)
        return w, [(u, graph and self.second(graph, transform(x, w).astype(np.float32))) for u, x, graph in utterances]


def align_speakers(name, aligner, speakers, max_failed):
    """Align all speakers of a job.

    Parameters
    ----------
    name : str
        Of the tool, for the report.
    aligner : AdaptedAligner
    speakers : iterable of (speaker, list of (utterance, features, graph or None))
    max_failed : float
        Largest share of utterances that may fail.

    Returns
    -------
    (dict speaker -> transform, dict utterance -> transition-ids)
    """
    report, transforms, alignments = Report(name), {}, {}
    for speaker, utterances in speakers:
        transforms[speaker], found = aligner.align(speaker, utterances)
        for utterance, alignment in found:
            report.add(utterance, alignment)
            if alignment is not None:
                alignments[utterance] = alignment.tids
    report.close(max_failed)
    return transforms, alignments
