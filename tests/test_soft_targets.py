"""Posteriors and frame weights: files, their place on the device, and whole trainings as Kaldi's nnet1 did them."""

import re

import numpy as np
import pytest
from test_nnet_golden import assert_same_change, int_lists, logged, soft_targets
from toy_corpus import make

from pymavg.cli import main
from pymavg.data.labels import pdf_counts
from pymavg.data.posteriors import SoftTargets, read_posteriors
from pymavg.errors import PymavgError
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.tables import VectorWriter, read_int_vectors
from pymavg.nnet.network import Network

NNET1 = "--optimizer=sgd --randomize=false --drop-last=true --minibatch-size=64 --schedule=exponential --epochs=1"
COMMON = f"{NNET1} --lr-scaling=none --use-gpu=no --num-tgt=20 --learn-rate=0.008 --report-seconds=1e9".split()


@pytest.fixture
def nnet1(golden, tmp_path):
    """Return the function (start, options) -> (final network, epoch's lines of the log) of a pymavg train run."""
    data = tmp_path / "data"
    data.mkdir()
    feats = golden("nnet1/feats_cmvn.ark")
    keys = list(int_lists(golden("nnet1/ali.txt")))
    (data / "feats.scp").write_text("".join(f"{k} {feats}:{offset_of(feats, k)}\n" for k in keys))
    (data / "utt2spk").write_text("".join(f"{k} {k}\n" for k in keys))

    def run(capsys, *options, start="nnet1/nnet.init"):
        files = f"--nnet-init={golden(start)}", f"--feature-transform={golden('nnet1/feature_transform.nnet')}"
        words = [*COMMON, *files, *options, str(data), str(data), str(tmp_path), str(tmp_path), str(tmp_path / "exp")]
        status = main(["train", *words])
        said = capsys.readouterr().err
        assert status == 0, said
        return Network(read_nnet(tmp_path / "exp" / "final.nnet")), said

    return run


def offset_of(path, key):
    return path.read_bytes().index(f"{key} ".encode()) + len(key) + 1


def numbers(line):
    return [float(x) for x in re.findall(r"loss (\S+) \((\S+) %\)", line)[0]]


CASES = {
    "a_lr": ["--labels=POST"],
    "f_soft": ["--labels=SOFT"],
    "g_weights": ["--labels=POST", "--frame-weights=WEIGHTS"],
    "j_mse": ["--labels=POST", "--objective-function=mse"],
}


@pytest.mark.parametrize("name", CASES)
def test_training_from_files_is_kaldis(golden, nnet1, capsys, tmp_path, name):
    post = tmp_path / "post.ark"
    write_binary(post, {k: [[(pdf, 1.0)] for pdf in v] for k, v in int_lists(golden("nnet1/ali.txt")).items()})
    files = {"POST": f"ark:{post}", "SOFT": f"ark:{golden('nnet1/post_soft.txt')}"}
    files["WEIGHTS"] = f"ark:{golden('nnet1/weights.txt')}" if name == "g_weights" else ""
    options = [re.sub("[A-Z]+$", lambda m: files[m[0]], option) for option in CASES[name]]
    net, said = nnet1(capsys, *options)
    assert_same_change(net, golden("nnet1/nnet.init"), golden(f"nnet1/nnet_{name}.bin"))
    expected = logged(golden, name)
    loss, accuracy = numbers(next(line for line in said.splitlines() if line.startswith("epoch 1:")))
    assert loss == pytest.approx(expected[0], abs=6e-5)
    if expected[1] is not None:
        assert accuracy == pytest.approx(expected[1], abs=0.061)


@pytest.mark.parametrize(("name", "start"), [("cv_init", "nnet.init"), ("cv_epoch3_soft", "nnet_d_epoch3.bin")])
def test_cross_validation_from_files_is_kaldis(golden, nnet1, capsys, tmp_path, name, start):
    labels = golden("nnet1/post_soft.txt" if "soft" in name else "nnet1/post.txt")
    _, said = nnet1(capsys, f"--labels=ark:{labels}", start=f"nnet1/{start}")
    loss, accuracy = numbers(next(line for line in said.splitlines() if line.startswith("before training")))
    expected = logged(golden, name)
    assert loss == pytest.approx(expected[0], abs=6e-5)
    assert accuracy == pytest.approx(expected[1], abs=0.061)


def write_binary(path, archive):
    """Write posteriors as Kaldi does: all numbers with their size byte."""
    with open(path, "wb") as stream:
        for key, frames in archive.items():
            stream.write(f"{key} ".encode() + b"\0B")
            stream.write(sized("<i4", len(frames)))
            for frame in frames:
                stream.write(sized("<i4", len(frame)))
                for pdf, weight in frame:
                    stream.write(sized("<i4", pdf) + sized("<f4", weight))


def sized(kind, value):
    return b"\4" + np.array(value, kind).tobytes()


FRAMES = {"a": [[(2, 0.25), (0, 0.75)], [(1, 1.0)], []], "b": [[(3, 0.5)]]}


@pytest.mark.parametrize("binary", [True, False])
def test_posteriors_of_an_archive(tmp_path, binary):
    path = tmp_path / "post"
    if binary:
        write_binary(path, FRAMES)
    else:
        path.write_text("a [ 2 0.25 0 0.75 ] [ 1 1 ] [ ] \nb [ 3 0.5 ] \n")
    labels, weights = read_posteriors(f"ark:{path}")
    assert weights["a"].tolist() == [1, 1, 0] and weights["b"].tolist() == [0.5]
    dense = SoftTargets([labels["a"], labels["b"]], 4, np)[np.array([3, 0, 2])]
    np.testing.assert_array_equal(dense, [[0, 0, 0, 1], [0.75, 0, 0.25, 0], [0, 0, 0, 0]])
    np.testing.assert_allclose(pdf_counts(labels, 4, weights) - 0.5, [0.75, 1, 0.25, 0.5])


def test_one_class_a_frame_is_an_alignment(tmp_path):
    (tmp_path / "post").write_text("a [ 2 1 ] [ 1 0.5 ]\n")
    labels, weights = read_posteriors(f"ark:{tmp_path / 'post'}")
    assert labels["a"].dtype == np.int32 and labels["a"].tolist() == [2, 1]
    assert weights["a"].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a [ 1 -0.5 ]\n", "utterance a: classes and posteriors of at least 0"),
        ("a [ 1 nan ]\n", "utterance a: classes and posteriors of at least 0"),
        ("a [ 1 0.5 1 0.5 ]\n", "names a class twice"),
        ("a [ 1 ]\n", "posteriors '.* expected"),
        ("a [ 1 1 ]\na [ 1 1 ]\n", "utterance a comes twice"),
        ("a 1 2 3\n", "posteriors '.* expected"),
    ],
)
def test_bad_posteriors_are_named(tmp_path, text, told):
    (tmp_path / "post").write_text(text)
    with pytest.raises(PymavgError, match=told):
        read_posteriors(f"ark:{tmp_path / 'post'}")


def test_damaged_binary_posteriors_are_named(tmp_path):
    write_binary(tmp_path / "post", FRAMES)
    data = (tmp_path / "post").read_bytes()
    for cut in (len(data) - 1, len(data) - 20, 8):
        (tmp_path / "cut").write_bytes(data[:cut])
        with pytest.raises(PymavgError, match="cut"):
            read_posteriors(f"ark:{tmp_path / 'cut'}")


def test_weights_of_some_utterances_only(tmp_path, capsys):
    corpus = make(tmp_path)
    lengths = {u: len(a) for u, a in read_int_vectors(f"ark:{tmp_path / 'ali' / 'ali.1.gz'}")}
    with VectorWriter(tmp_path / "weights.ark") as writer:
        for utterance in sorted(lengths)[1:]:
            writer.write(utterance, (np.arange(lengths[utterance]) % 2).astype(np.float32))
    words = "--splice=1 --hid-layers=1 --hid-dim=12 --minibatch-size=16 --use-gpu=no --schedule=exponential --epochs=2"
    weights = f"--frame-weights=ark:{tmp_path / 'weights.ark'}"
    assert main(["train", *words.split(), "--max-missing=0.5", "--virtual-workers=2", weights, *corpus]) == 0
    told = capsys.readouterr().err
    assert "for 1 utterances (first: cv-000)" in told
    assert main(["train", *words.split(), "--restart=true", f"{weights}.none", *corpus]) == 1
    assert "no such file" in capsys.readouterr().err


def test_soft_targets_by_text(golden):
    """The two readers of the tests and the package agree."""
    path = golden("nnet1/post_soft.txt")
    labels, _ = read_posteriors(f"ark:{path}")
    for key, dense in soft_targets(path, 20).items():
        np.testing.assert_allclose(SoftTargets([labels[key]], 20, np)[np.arange(len(dense))], dense, atol=1e-7)
