"""Decoding of a speaker in two passes with fMLLR between them, as Kaldi's steps/decode_fmllr.sh does it.

1. Lattices of a first pass without adaptation, made with final.alimdl, give a first transform; final.alimdl says which
   Gaussian a frame belongs to, final.mdl where that Gaussian lies.
2. The adapted features are searched with final.mdl. From these lattices comes a second transform on top.
3. The same lattices get the likelihoods of the finally adapted features, and are determinised.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.data.transforms import transform
from pymavg.decoding.determinize import determinize
from pymavg.decoding.frame_posteriors import frame_posteriors
from pymavg.decoding.paths import prune
from pymavg.gmm.adapt import Evidence, speaker_transform

POSTERIOR_BEAM = 4.0  # paths worse than the best by more say nothing about the speaker


@dataclass
class AdaptedDecoder:
    """What decoding speakers needs.

    Attributes
    ----------
    decoder : Decoder
    acoustic : GmmAcoustic
        Of final.mdl.
    judge : AmDiagGmm
        Of final.alimdl.
    tid_weight : float64 (num_tids + 1,)
        Of frames in fMLLR, by transition-id.
    acoustic_scale, lattice_beam : float
    fmllr : pymavg.gmm.fmllr.FmllrOptions
    """

    decoder: object
    acoustic: object
    judge: object
    tid_weight: np.ndarray
    acoustic_scale: float
    lattice_beam: float
    fmllr: object

    def decode(self, speaker, feats, first_pass):
        """Decode a speaker.

        Parameters
        ----------
        speaker : str
        feats : dict utterance -> float32 (T, D)
            Without fMLLR.
        first_pass : dict utterance -> Lattice
            Utterances may be missing.

        Returns
        -------
        (float64 (D, D + 1), dict utterance -> Lattice or None)
            The final transform; compact lattices, None where the search found no path.
        """
        gmm = self.acoustic.gmm
        known = [(feats[u], lattice) for u, lattice in first_pass.items()]
        w = speaker_transform(f"{speaker}, first pass", self._evidence(known), gmm, self.fmllr, self.judge)
        adapted = {u: transform(x, w).astype(np.float32) for u, x in feats.items()}
        raw = {u: self.decoder.decode(self.acoustic.loglikes(x), self.acoustic_scale, u) for u, x in adapted.items()}
        known = [(adapted[u], lattice) for u, lattice in raw.items() if lattice]
        w = speaker_transform(speaker, self._evidence(known), gmm, self.fmllr, before=w)
        return w, {u: lattice and self._final(u, lattice, feats[u], w) for u, lattice in raw.items()}

    def _evidence(self, known):
        tid_pdf = self.acoustic.transitions.tid_pdf
        pieces = []
        for feats, lattice in known:
            lattice = prune(lattice, lattice.costs(acoustic_scale=self.acoustic_scale), POSTERIOR_BEAM)
            cost = lattice.costs(acoustic_scale=self.acoustic_scale)
            pieces.append(Evidence(feats, *frame_posteriors(lattice, cost, tid_pdf, self.tid_weight)))
        return pieces

    def _final(self, utterance, lattice, feats, w):
        lattice = rescored(lattice, self.acoustic, transform(feats, w).astype(np.float32))
        return determinize(lattice, self.acoustic_scale, self.lattice_beam, utterance, margin=0.0)


def rescored(lattice, acoustic, feats):
    """Return a raw lattice with the acoustic costs of other features (T, D) (Kaldi's gmm-rescore-lattice)."""
    tid = lattice.tid
    emitting = np.flatnonzero(tid)
    pdfs, column = np.unique(acoustic.transitions.tid_pdf[tid[emitting]], return_inverse=True)
    loglikes = acoustic.loglikes(feats, pdfs)
    lattice.acoustic_cost = np.zeros(lattice.num_arcs)
    lattice.acoustic_cost[emitting] = -loglikes[lattice.times[lattice.source[emitting]], column]
    return lattice
