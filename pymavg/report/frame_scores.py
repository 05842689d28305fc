"""Frame classification of a trained network, utterance by utterance: what paired comparisons of two networks need."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pymavg.data.labels import match_lengths, read_pdf_labels
from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.nnet.network import Network
from pymavg.training.frontend import frame_counts, open_frontend

HEADER = "utterance\tframes\tcorrect\tloss"


class FrameScore(NamedTuple):
    """Of one utterance: frames, those whose most probable pdf is the aligned one, sum of −log p(aligned pdf)."""

    frames: int
    correct: int
    loss: float


def score_frames(data, ali_dir, model_dir):
    """Return {utterance: FrameScore} of model_dir/final.nnet.

    Parameters
    ----------
    data, ali_dir, model_dir : str or Path
        The model directory is one that `pymavg train` made.

    Raises
    ------
    PymavgError
        When a file is missing, or the alignment's model has another number of pdfs than the network.
    """
    labels, num_pdfs = read_pdf_labels(ali_dir)
    network = Network(read_nnet(Path(model_dir) / "final.nnet"), np)
    if network.output_dim != num_pdfs:
        raise PymavgError(
            f"{model_dir}/final.nnet has {network.output_dim} outputs, {ali_dir}/final.mdl {num_pdfs} pdfs"
        )
    source, transform = open_frontend(Path(model_dir), data, np)
    lengths = match_lengths(frame_counts(data), labels, data)
    return {u: _score(network.forward(transform.apply(source.get(u)[:n])), labels[u][:n]) for u, n in lengths.items()}


def _score(outputs, pdfs):
    """Score the outputs (T, P) before the softmax against the pdfs (T,)."""
    outputs = outputs.astype(np.float64)
    top = outputs.max(axis=1)
    aligned = outputs[np.arange(len(pdfs)), pdfs]
    loss = np.log(np.exp(outputs - top[:, np.newaxis]).sum(axis=1)) + top - aligned
    return FrameScore(len(pdfs), int((outputs.argmax(axis=1) == pdfs).sum()), float(loss.sum()))


def write_frame_scores(path, scores):
    """Write {utterance: FrameScore} as a table."""
    with atomic_open(path) as stream:
        stream.write(f"{HEADER}\n")
        stream.writelines(f"{u}\t{s.frames}\t{s.correct}\t{s.loss:.4f}\n" for u, s in sorted(scores.items()))


def read_frame_scores(path):
    """Read what `write_frame_scores` wrote."""
    lines = read_lines(path)
    try:
        if lines[0] != HEADER:
            raise ValueError
        rows = [line.split("\t") for line in lines[1:]]
        return {u: FrameScore(int(frames), int(correct), float(loss)) for u, frames, correct, loss in rows}
    except (IndexError, ValueError):
        raise PymavgError(f"{path}: no table of frame scores; make it again with pymavg score-frames") from None
