"""Decoding one job's share of a data directory into a lattice archive."""

import time
from pathlib import Path

from pymavg.decoding.archive import LatticeWriter
from pymavg.decoding.decoder import Decoder
from pymavg.decoding.determinize import determinize
from pymavg.decoding.paths import best_path
from pymavg.errors import PymavgError
from pymavg.options import log, warn

REPORT_EVERY = 50  # utterances
FRAMES_PER_SECOND = 100


class Tally:
    """What a job has done so far."""

    def __init__(self, total):
        self.total, self.done, self.failed, self.partial = total, 0, 0, 0
        self.frames, self.score, self.start = 0, 0.0, time.time()

    @property
    def real_time_factor(self):
        """Time taken, as a multiple of the speech's length."""
        return (time.time() - self.start) * FRAMES_PER_SECOND / max(1, self.frames)

    def report(self):
        """Log one line."""
        rate = f"{self.real_time_factor:.3f} x real time"
        log(f"{self.done + self.failed} of {self.total} utterances, {self.frames} frames, {rate}")


def decode_job(features, utts, acoustic, graph, words, options, path, acoustic_scale, allow_partial=True, compact=True):
    """Decode utterances and write lattices.

    Parameters
    ----------
    features : FeaturePipeline
    utts : list of str
    acoustic : GmmAcoustic or NnetAcoustic
    graph : Fst
    words : SymbolTable
    options : DecoderOptions
    path : str or Path
        Archive to write: lat.JOB.gz, or lat.JOB.ark with lat.JOB.scp beside it.
    acoustic_scale : float
    allow_partial : bool
        Keep the result of a search that stopped in no final state of the graph.
    compact : bool
        Determinise lattices: one path for each word sequence.

    Raises
    ------
    PymavgError
        When not one utterance could be decoded.
    """
    decoder = Decoder(graph, acoustic.transitions.tid_pdf, options)

    def found():
        for utterance in utts:
            loglikes = acoustic.loglikes(features.get(utterance))
            lattice = decoder.decode(loglikes, acoustic_scale, utterance)
            if compact and _wanted(lattice, allow_partial):
                lattice = determinize(lattice, acoustic_scale, options.lattice_beam, utterance, margin=0.0)
            yield utterance, len(loglikes), lattice

    write_lattices(found(), len(utts), words, path, acoustic_scale, allow_partial)


def write_lattices(found, total, words, path, acoustic_scale, allow_partial=True):
    """Write lattices as they are found, and tell how it goes.

    Parameters
    ----------
    found : iterable of (utterance, frames, Lattice or None)
    total : int
        How many there will be.
    words, path, acoustic_scale, allow_partial
        As for `decode_job`, whose error this raises, too.
    """
    tally = Tally(total)
    scp = Path(path).with_suffix(".scp") if Path(path).suffix == ".ark" else None
    with LatticeWriter(path, scp) as writer:
        for utterance, frames, lattice in found:
            if not _wanted(lattice, allow_partial):
                tally.failed += 1
                warn(f"{utterance}: no path to a final state over {frames} frames; a larger --beam may find one")
                continue
            writer.write(utterance, lattice)
            _tell(utterance, lattice, words, acoustic_scale, tally)
            if (tally.done + tally.failed) % REPORT_EVERY == 0:
                tally.report()
        if total and not tally.done:
            raise PymavgError(f"{path}: none of {total} utterances could be decoded; see the lines above")
    tally.report()
    log(f"Done {tally.done} utterances ({tally.partial} partial), failed for {tally.failed}")
    log(f"Overall log-likelihood per frame is {tally.score / max(1, tally.frames):.5f} over {tally.frames} frames")


def _wanted(lattice, allow_partial):
    return lattice is not None and (lattice.reached_final or allow_partial)


def _tell(utterance, lattice, words, acoustic_scale, tally):
    """Log the best path of one utterance and add it to the tally."""
    best = best_path(lattice, lattice.costs(acoustic_scale=acoustic_scale))
    score, frames = -(best.graph_cost + acoustic_scale * best.acoustic_cost), len(best.tids)
    tally.done, tally.partial = tally.done + 1, tally.partial + (not lattice.reached_final)
    tally.frames, tally.score = tally.frames + frames, tally.score + score
    log(f"{utterance} {' '.join(words.symbols(best.words.tolist(), utterance))}")
    partial = "" if lattice.reached_final else " (partial: no final state reached)"
    log(f"Log-like per frame for utterance {utterance} is {score / frames:.5f} over {frames} frames.{partial}")
