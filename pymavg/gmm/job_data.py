"""What one job needs in every pass of a training: features and graphs of its utterances, made once, mapped into memory.

A directory holds `utts` (lines `utterance frames`), `feats.f32` (all frames one after another, float32) and, once they
are compiled, `graphs.npz` (the graphs of all utterances in one set of arrays, without transition probabilities).
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open, read_lines
from pymavg.gmm.arrays import load_arrays, save_arrays
from pymavg.options import warn

FIELDS = ("final", "offset", "ilabel", "weight", "target")


def write_features(path, pipeline):
    """Write the features of a job.

    Parameters
    ----------
    path : str or Path
        Directory.
    pipeline : iterable of (utterance, float32 array (T, D))
    """
    lines = []
    with atomic_open(Path(path, "feats.f32"), "wb") as stream:
        for utterance, features in pipeline:
            if len(features):
                stream.write(features.tobytes())
                lines.append(f"{utterance} {len(features)}\n")
            else:
                warn(f"utterance {utterance} has no frames and is left out")
    if not lines:
        raise PymavgError(f"{path}: no utterance with features; look at the data directory")
    with atomic_open(Path(path, "utts")) as stream:
        stream.writelines(lines)


def write_graphs(path, graphs):
    """Write the graphs of a job.

    Parameters
    ----------
    path : str or Path
        Directory.
    graphs : iterable of (Fst or None)
        In the order of the utterances; None where there is none.
    """
    from pymavg.kaldi.fst import Fst

    empty = Fst.from_arcs(-1, [], [], [], [], [], [])
    graphs = [graph or empty for graph in graphs]
    arrays = {name: np.concatenate([getattr(graph, name) for graph in graphs]) for name in FIELDS}
    sizes = {"starts": [g.start for g in graphs], "states": [g.num_states for g in graphs]}
    save_arrays(Path(path, "graphs.npz"), **arrays, **sizes, arcs=[g.num_arcs for g in graphs])


class JobData:
    """Reads what `write_features` and `write_graphs` wrote.

    Attributes
    ----------
    utts : list of str
    frame_offset : int64 (U + 1,)
        First frame of each utterance.
    plain : float32 (frames in all, D), mapped from disk
        As they were written.
    feats : float32 (frames in all, K)
        The same, or what the transforms make of them.

    Parameters
    ----------
    path : str or Path
    transforms : pymavg.data.speaker_transforms.Transforms, optional
    """

    def __init__(self, path, transforms=None):
        self.path = Path(path)
        pairs = [line.split() for line in read_lines(self.path / "utts")]
        self.utts = [utterance for utterance, _ in pairs]
        self.frame_offset = np.concatenate([[0], np.cumsum([int(frames) for _, frames in pairs])])
        numbers = (self.path / "feats.f32").stat().st_size // 4
        total = int(self.frame_offset[-1])
        if numbers % total:
            raise PymavgError(f"{self.path}: features and utterances differ in length; remove it and start again")
        self.plain = np.memmap(self.path / "feats.f32", np.float32, "r", shape=(total, numbers // total))
        self.feats, self.transforms = self.plain, transforms
        if transforms:
            self.feats = np.concatenate([transforms(utterance, x) for utterance, x in self.items()], dtype=np.float32)

    def frames(self):
        """Return the dict utterance -> number of frames."""
        return dict(zip(self.utts, np.diff(self.frame_offset).tolist(), strict=True))

    def items(self):
        """Yield (utterance, features (T, D))."""
        for utterance, (first, last) in zip(self.utts, pairwise(self.frame_offset), strict=True):
            yield utterance, self.feats[first:last]

    def rows(self, utts):
        """Return the frames of some utterances: row numbers in `feats`, one utterance after another."""
        position = {utterance: i for i, utterance in enumerate(self.utts)}
        offset = self.frame_offset
        return np.concatenate([np.arange(offset[position[u]], offset[position[u] + 1]) for u in utts])

    def graphs(self, model):
        """Yield the graph of each utterance with the model's transition probabilities, or None where there is none.

        Parameters
        ----------
        model : TransitionModel
        """
        from pymavg.graph.hcl import add_transition_probs  # here: a pass that only accumulates starts faster without
        from pymavg.kaldi.fst import Fst

        names = (*FIELDS, "starts", "states", "arcs")
        parts = dict(zip(names, load_arrays(self.path / "graphs.npz", names, "graphs"), strict=True))
        if len(parts["ilabel"]) and parts["ilabel"].max() > model.num_tids:
            raise PymavgError(f"{self.path}: the graphs were compiled with another model; remove it and start again")
        fields = {name: parts[name] for name in FIELDS}
        joint = add_transition_probs(Fst(start=0, olabel=parts["ilabel"], **fields), model)
        state, arc = 0, 0
        for number, sizes in enumerate(zip(parts["starts"], parts["states"], parts["arcs"], strict=True)):
            start, states, arcs = map(int, sizes)
            part = (slice(state, state + states), slice(arc, arc + arcs), number)
            yield _part(joint, start, *part) if states else None
            state, arc = state + states, arc + arcs


def _part(joint, start, states, arcs, number):
    """Return one graph out of the joint arrays; each graph before it has one more offset than states."""
    offset = joint.offset[states.start + number : states.stop + number + 1]
    columns = (joint.ilabel, joint.olabel, joint.weight, joint.target)
    return type(joint)(start, joint.final[states], offset, *(column[arcs] for column in columns))
