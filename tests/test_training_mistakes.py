"""What a user may do wrong before and while a training is continued: refused in one line, with nothing changed."""

import shutil

import numpy as np
import pytest
from test_trainer import ask_to_stop_soon, fit
from toy_corpus import PDFS, make

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.graph.topology import make_topology
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.stream import KaldiWriter
from pymavg.kaldi.tables import MatrixWriter, read_matrices
from pymavg.kaldi.transitions import TransitionModel, write_transitions
from pymavg.training.checkpoint import Checkpoints
from pymavg.training.communicator import Local
from pymavg.training.launch import mpi_command


@pytest.fixture
def corpus(tmp_path):
    return make(tmp_path)


@pytest.fixture
def stopped(corpus, tmp_path, monkeypatch):
    """Return an experiment that was stopped within its first epoch."""
    ask_to_stop_soon(monkeypatch)
    with pytest.raises(PymavgError, match="stopped by a signal"):
        fit(corpus, tmp_path / "exp")
    monkeypatch.undo()
    return tmp_path / "exp"


def test_a_broken_start_leaves_no_transform_for_the_next(corpus, tmp_path):
    with pytest.raises(PymavgError, match="ran away"):
        fit(corpus, tmp_path / "exp", optimizer="sgd", learn_rate=1e6)
    fit(corpus, tmp_path / "exp", splice=2)
    assert read_nnet(tmp_path / "exp" / "final.feature_transform")[0].offsets.tolist() == [-2, -1, 0, 1, 2]


def test_a_refused_continuation_changes_nothing(corpus, stopped):
    before = {p: p.read_bytes() for p in stopped.iterdir() if p.is_file() and p.name != ".lock"}
    with pytest.raises(PymavgError, match="cmvn_opts was , now --norm-means=true"):
        fit(corpus, stopped, cmvn_opts="--norm-means=true")
    assert {p: p.read_bytes() for p in before} == before


def test_changes_that_do_not_fit_the_stored_model_are_refused(corpus, stopped):
    with pytest.raises(PymavgError, match=r"final.feature_transform splices -1 to 1 frames, --splice is 2.*--restart"):
        fit(corpus, stopped, splice=2, allow_change=True)
    with pytest.raises(PymavgError, match=r"checkpoint: its model has 234 parameters, .* has 386; .*--restart true"):
        fit(corpus, stopped, hid_dim=20, allow_change=True)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"../..\n"])
def test_a_damaged_pointer_to_the_checkpoint_is_named(tmp_path, content):
    (tmp_path / "current").write_bytes(content)
    with pytest.raises(PymavgError, match=r"current: the number of a checkpoint expected, found .*--restart true"):
        Checkpoints(tmp_path, Local()).current()


def test_alignments_of_another_tree_with_as_many_pdfs_are_refused(corpus, tmp_path):
    shutil.copytree(tmp_path / "ali", tmp_path / "other")
    pdfs = np.arange(PDFS)[::-1].reshape(3, 2)
    tuples = [(p + 1, s, pdfs[p, s], pdfs[p, s]) for p in range(3) for s in range(2)]
    with atomic_open(tmp_path / "other" / "final.mdl", "wb") as stream:
        model = TransitionModel(make_topology([1, 2, 3], [], 2), tuples)
        write_transitions(KaldiWriter(stream, binary=True), model)
    corpus[3] = str(tmp_path / "other")
    with pytest.raises(PymavgError, match=r"ali/final.mdl and .*other/final.mdl are of different trees.*6 pdfs"):
        fit(corpus, tmp_path / "exp")


def test_an_utterance_of_another_dimension_is_named(corpus, tmp_path):
    ark, scp = (tmp_path / "data" / "train" / name for name in ("feats.ark", "feats.scp"))
    feats = dict(read_matrices(f"scp:{scp}"))
    with MatrixWriter(ark, scp) as writer:
        for utterance, matrix in feats.items():
            writer.write(utterance, matrix[:, :3] if utterance == "train-004" else matrix)
    with pytest.raises(PymavgError, match=r"data/train: utterance train-004 has features of dimension 3, the first 4"):
        fit(corpus, tmp_path / "exp")


def test_a_minibatch_that_leaves_out_every_frame_is_no_divergence(corpus, tmp_path):
    with pytest.raises(PymavgError, match="cross-validation has no whole minibatch: .*--minibatch-size 5000"):
        fit(corpus, tmp_path / "a", drop_last=True, minibatch_size=5000)
    with pytest.raises(PymavgError, match="no worker has a whole minibatch .*--minibatch-size 150"):
        fit(corpus, tmp_path / "b", drop_last=True, minibatch_size=150, virtual_workers=12)


def test_a_launcher_that_is_not_there_is_named():
    with pytest.raises(PymavgError, match=r"--mpi-cmd 'nosuch -n': no program nosuch on PATH"):
        mpi_command(2, ["train"], "nosuch -n")
