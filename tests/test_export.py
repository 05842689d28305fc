"""Networks for other programs: what onnxruntime computes, and what the tensors mean, against ours."""

import json
import shutil

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.data.labels import write_counts
from pymavg.decoding.acoustic import NnetAcoustic
from pymavg.kaldi.nnet1 import Rescale, Splice, write_nnet
from pymavg.kaldi.tables import read_matrices
from pymavg.nnet.initialise import init_network

PDFS = 67


@pytest.fixture(params=["sigmoid", "tanh", "relu"])
def exp(request, golden, tmp_path):
    """A directory as training leaves it, with a network of random numbers."""
    write_nnet(tmp_path / "final.nnet", init_network([143, 30, 20, PDFS], 3, request.param))
    shutil.copy(golden("nnet1/feature_transform.nnet"), tmp_path / "final.feature_transform")
    counts = np.random.default_rng(0).uniform(1, 500, PDFS)
    counts[3] = 0  # below the floor: never recognised
    write_counts(tmp_path / "ali_train_pdf.counts", counts)
    shutil.copy(golden("gmm/mono/trans_model.txt"), tmp_path / "final.mdl")
    (tmp_path / "delta_opts").write_text("--delta-order=2\n")
    return tmp_path


@pytest.fixture
def feats(golden):
    return dict(read_matrices(golden("nnet1/feats3.ark")))


def close(found, wanted):
    likely = np.abs(wanted) < 1e6  # all but classes that are never recognised
    np.testing.assert_allclose(found[likely], wanted[likely], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[~likely], wanted[~likely], rtol=1e-5)


def test_onnxruntime_computes_what_we_do(exp, feats):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'pymavg[export]'")
    pytest.importorskip("onnx", reason="needs onnx: pip install 'pymavg[export]'")
    assert main(["export", str(exp), str(exp / "out.onnx")]) == 0
    session = runtime.InferenceSession(exp / "out.onnx", providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["delta_opts"] == "--delta-order=2"
    acoustic = NnetAcoustic(exp)
    for matrix in (*feats.values(), next(iter(feats.values()))[:1]):
        wanted = acoustic.loglikes(matrix)
        loglikes, posteriors = session.run(["loglikes", "posteriors"], {"feats": matrix})
        close(loglikes, wanted)
        np.testing.assert_allclose(posteriors.sum(axis=1), 1, rtol=1e-5)
        logits = np.array(acoustic.network.forward(acoustic.transform.apply(matrix)))
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        np.testing.assert_allclose(posteriors, exponents / exponents.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_the_tensors_are_enough(exp, feats):
    """The recipe of docs/from-kaldi.md, in NumPy."""
    library = pytest.importorskip("safetensors", reason="needs safetensors: pip install 'pymavg[export]'")
    assert main(["export", str(exp), str(exp / "out.safetensors")]) == 0
    with library.safe_open(exp / "out.safetensors", "np") as file:
        t, told = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    functions = {
        "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
        "tanh": np.tanh,
        "relu": lambda y: np.maximum(y, 0),
        "softmax": lambda y: y,
    }
    for matrix in feats.values():
        rows = np.clip(np.arange(len(matrix))[:, None] + t["offsets"], 0, len(matrix) - 1)
        y = matrix[rows].reshape(len(matrix), -1) * t["scale"] + t["shift"]
        for k, name in enumerate(json.loads(told["activations"])):
            y = functions[name](y @ t[f"layer.{k}.weight"].T + t[f"layer.{k}.bias"])
        close(y - t["log_priors"], NnetAcoustic(exp).loglikes(matrix))


def test_a_scale_of_one_number_and_no_context(exp, feats):
    pytest.importorskip("safetensors", reason="needs safetensors: pip install 'pymavg[export]'")
    write_nnet(exp / "final.nnet", init_network([13, PDFS], 1))
    write_nnet(
        exp / "final.feature_transform", [Splice(np.zeros(1, np.int32), 13), Rescale(np.full(13, 2, np.float32))]
    )
    assert main(["export", str(exp), str(exp / "out.safetensors")]) == 0


def test_mistakes_are_told(exp, capsys):
    assert main(["export", str(exp), "out.pt"]) == 1
    assert "ends in .onnx or .safetensors expected" in capsys.readouterr().err
    assert main(["export", str(exp / "none"), "out.onnx"]) == 1
    assert "final.mdl: no such file" in capsys.readouterr().err


def test_a_higher_prior_floor_excludes_rare_classes(exp, feats):
    matrix = next(iter(feats.values()))
    usual, floored = NnetAcoustic(exp), NnetAcoustic(exp, prior_floor=0.01)
    rare = np.exp(np.minimum(usual.offset, 0)) < 0.01
    rare[3] = True  # without a frame, it is excluded by the usual floor, too
    assert 0 < rare.sum() < PDFS
    assert (floored.loglikes(matrix)[:, rare] < -1e18).all()
    np.testing.assert_array_equal(floored.offset[~rare], usual.offset[~rare])
