"""Alignments to start from, before there is a model: the frames shared equally among the states of a random path."""

import numpy as np

from pymavg.gmm.c_random import c_random, choice, name_seed

TRIES = 10


def align_equal(graph, num_frames, name):
    """Take a random path through the graph and share the frames among its states (EqualAlign, Kaldi's fstext).

    Parameters
    ----------
    graph : pymavg.kaldi.fst.Fst
        Input labels are transition-ids; states repeat by self-loops.
    num_frames : int
    name : str
        The utterance; it seeds the choice of the path as in Kaldi's align-equal-compiled.

    Returns
    -------
    int32 (num_frames,), or None when every path tried is longer than the utterance or has no self-loop to fill it.
    """
    offset, ilabel, target = graph.offset.tolist(), graph.ilabel.tolist(), graph.target.tolist()
    draws = c_random(name_seed(name))
    for _ in range(TRIES):
        states, labels = _random_path(graph.start, offset, ilabel, target, np.isfinite(graph.final), draws)
        extra = num_frames - sum(label > 0 for label in labels)
        if extra >= 0:
            break
    else:
        return None
    loops = [
        next((ilabel[a] for a in range(offset[s], offset[s + 1]) if target[a] == s and ilabel[a]), 0) for s in states
    ]
    num_loops = sum(loop > 0 for loop in loops)
    if num_loops == 0:
        return np.array([label for label in labels if label], np.int32) if extra == 0 else None
    share, more = divmod(extra, num_loops)
    tids = []
    for loop, label in zip(loops, [*labels, 0], strict=True):
        if loop:
            tids += [loop] * (share + (more > 0))
            more -= 1
        if label:
            tids.append(label)
    return np.array(tids, np.int32)


def _random_path(start, offset, ilabel, target, is_final, draws):
    """Return (states, labels of the arcs between them) of a path to a final state without self-loops."""
    states, labels = [start], []
    while True:
        state = states[-1]
        first, last = offset[state], offset[state + 1]
        arc = first + choice(draws, last - first + bool(is_final[state]))
        if arc == last:
            return states, labels
        if target[arc] != state:
            states.append(target[arc])
            labels.append(ilabel[arc])
