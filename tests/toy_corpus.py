"""A corpus small enough to train on within a second: three phones, four-dimensional features around their means."""

import numpy as np

from pymavg.files import atomic_open
from pymavg.graph.topology import make_topology
from pymavg.kaldi.stream import KaldiWriter
from pymavg.kaldi.tables import IntVectorWriter, MatrixWriter
from pymavg.kaldi.transitions import TransitionModel, write_transitions

PDFS, DIM = 6, 4


def make(directory, utterances=24, seed=1, lengths=(20, 60)):
    """Write data/train, data/cv, ali; return their paths and the experiment's as strings."""
    rng = np.random.default_rng(seed)
    model = _write_model(directory / "ali")
    means = rng.normal(size=(PDFS, DIM)) * 1.5
    with IntVectorWriter(directory / "ali" / "ali.1.gz") as alignments:
        for name, count in (("train", utterances), ("cv", max(4, utterances // 4))):
            _write_data(directory / "data" / name, name, count, means, model, alignments, lengths, rng)
    return [str(directory / p) for p in ("data/train", "data/cv", "ali", "ali", "exp")]


def _write_model(directory):
    tuples = [
        (phone, state, 2 * (phone - 1) + state, 2 * (phone - 1) + state) for phone in (1, 2, 3) for state in (0, 1)
    ]
    model = TransitionModel(make_topology([1, 2, 3], [], 2), tuples)
    with atomic_open(directory / "final.mdl", "wb") as stream:
        write_transitions(KaldiWriter(stream, binary=True), model)
    return model


def _write_data(path, name, count, means, model, alignments, lengths, rng):
    path.mkdir(parents=True)
    utts = [f"{name}-{i:03d}" for i in range(count)]
    with MatrixWriter(path / "feats.ark", path / "feats.scp") as writer:
        for utt in utts:
            tids = rng.integers(1, model.num_tids + 1, rng.integers(*lengths)).astype(np.int32)
            pdfs = model.tid_pdf[tids]
            writer.write(utt, (means[pdfs] + rng.normal(size=(len(tids), DIM))).astype(np.float32))
            alignments.write(utt, tids)
    (path / "utt2spk").write_text("".join(f"{utt} {utt}\n" for utt in utts))
