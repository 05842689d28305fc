"""Decoding of log-likelihood matrices through a graph into lattices.

    decoder = Decoder(read_fst("graph/HCLG.fst"), transition_model.tid_pdf, DecoderOptions(beam=13))
    lattice = decoder.decode(loglikes, acoustic_scale=0.1, name="utterance")

Input labels of the graph are transition-ids; the matrix has one column for each pdf. Nothing is expanded: the pdf of
each arc is looked up once, when the decoder is made.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.decoding.lattice import Lattice
from pymavg.decoding.search import Graph, Pruning, search
from pymavg.errors import PymavgError


@dataclass
class DecoderOptions:
    """Bounds of the search, with Kaldi's names and defaults (decoder/lattice-faster-decoder.h).

    Attributes
    ----------
    beam : float
        Tokens worse than the best of their frame by more are not followed.
    lattice_beam : float
        Arcs on no path within this of the best one are left out of the lattice.
    max_active, min_active : int
        At most and at least so many tokens go on from each frame.
    beam_delta : float
        Added to the beam that max_active or min_active set.
    prune_interval : int
        Frames between two prunings of the history.
    """

    beam: float = 16.0
    lattice_beam: float = 10.0
    max_active: int = 2147483647
    min_active: int = 200
    beam_delta: float = 0.5
    prune_interval: int = 25

    def check(self):
        """Raise PymavgError unless every value makes sense; return self."""
        for name in ("beam", "lattice_beam", "max_active", "prune_interval"):
            if not getattr(self, name) > 0:
                found = getattr(self, name)
                raise PymavgError(f"--{name.replace('_', '-')}: must be above 0, got {found}")
        if not 0 <= self.min_active <= self.max_active:
            raise PymavgError(f"--min-active: must be in 0 .. max-active {self.max_active}, got {self.min_active}")
        return self


class Decoder:
    """A graph made ready for searching.

    Parameters
    ----------
    graph : pymavg.kaldi.fst.Fst
        HCLG with transition-ids as input labels and words as output labels.
    tid_pdf : ndarray int (num_tids + 1,)
        The pdf of each transition-id; entry 0 is not used.
    options : DecoderOptions

    Raises
    ------
    PymavgError
        When the graph has a label that the model has not.
    """

    def __init__(self, graph, tid_pdf, options=None):
        options = (options or DecoderOptions()).check()
        tid_pdf = np.asarray(tid_pdf)
        if graph.num_arcs and graph.ilabel.max() >= len(tid_pdf):
            raise PymavgError(
                f"graph: transition-id {graph.ilabel.max()}, but the model has {len(tid_pdf) - 1}; "
                "graph and model are of different systems: run utils/mkgraph.sh with this model"
            )
        order = np.lexsort((graph.ilabel == 0, graph.source))
        self.tid, self.word = graph.ilabel[order], graph.olabel[order]
        emitting = np.bincount(graph.source[graph.ilabel > 0], minlength=graph.num_states)
        pdf = np.where(self.tid > 0, tid_pdf[self.tid], 0)
        self.num_pdfs = 1 + int(pdf.max(initial=0))
        self.start = graph.start
        self.graph = Graph(
            graph.offset.astype(np.int64),
            graph.offset[:-1] + emitting,
            graph.target[order],
            graph.weight[order],
            pdf.astype(np.int32),
            graph.final.astype(np.float32),
        )
        self.pruning = Pruning(
            float(options.beam),
            float(options.lattice_beam),
            int(options.max_active),
            int(options.min_active),
            float(options.beam_delta),
            int(options.prune_interval),
        )

    def decode(self, loglikes, acoustic_scale, name="utterance"):
        """Search one utterance.

        Parameters
        ----------
        loglikes : ndarray (T, P) float32
            Acoustic log-likelihood of each frame and pdf.
        acoustic_scale : float
            Multiplies them in the search; the lattice holds unscaled costs.
        name : str
            For messages.

        Returns
        -------
        lattice : Lattice or None
            None when no path is left at the last frame. `lattice.reached_final` tells whether its paths end in final
            states of the graph; else they end wherever the search stood.

        Raises
        ------
        PymavgError
            When the matrix is empty, has too few columns, or is not finite.
        """
        loglikes = np.ascontiguousarray(loglikes, np.float32)
        self._check(loglikes, name)
        links, tokens, ends, final, reached = search(
            self.graph, self.start, loglikes, float(acoustic_scale), self.pruning
        )
        return self._lattice(links, tokens, ends, final, reached, loglikes, name) if len(final) else None

    def _check(self, loglikes, name):
        if loglikes.ndim != 2 or not len(loglikes):
            raise PymavgError(f"{name}: log-likelihoods of shape {loglikes.shape}: no frames")
        if loglikes.shape[1] < self.num_pdfs:
            raise PymavgError(
                f"{name}: {loglikes.shape[1]} columns of log-likelihoods, but the graph uses {self.num_pdfs} pdfs; "
                "model and graph are of different systems"
            )
        if not np.isfinite(loglikes).all():
            frame = int(np.argmin(np.isfinite(loglikes).all(axis=1)))
            raise PymavgError(f"{name}: frame {frame}: log-likelihood is not finite; look for NaN in the features")

    def _lattice(self, links, tokens, ends, final, reached, loglikes, name):
        used = ends[-1]
        source, target, arc = links.source[:used], links.target[:used], links.arc[:used]
        frame = np.repeat(np.arange(len(loglikes) + 1), np.diff(ends)) - 1
        tid = self.tid[arc]
        acoustic = np.where(tid > 0, -loglikes[frame, self.graph.pdf[arc]], np.float32(0))
        finals = np.flatnonzero(np.isfinite(final))
        end = int(tokens[-1])
        lattice = Lattice.from_arcs(
            end + 1,
            np.concatenate([source, tokens[-2] + finals]),
            np.concatenate([target, np.full(len(finals), end)]),
            np.concatenate([self.word[arc], np.zeros(len(finals), np.int32)]),
            np.concatenate([self.graph.weight[arc], final[finals]]),
            np.concatenate([acoustic, np.zeros(len(finals))]),
            np.concatenate([tid, np.zeros(len(finals), np.int32)]),
            name,
        )
        lattice.reached_final = bool(reached)
        return lattice


def decode(graph, loglikes, tid_pdf, acoustic_scale, options=None):
    """Decode one utterance with a graph used only once: see Decoder."""
    return Decoder(graph, tid_pdf, options).decode(loglikes, acoustic_scale)
