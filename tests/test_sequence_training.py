"""Sequence training: derivatives and trained networks against Kaldi's (golden/smbr), averaging, resumption."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from toy_corpus import make

from pymavg.decoding.acoustic import NnetAcoustic, log_priors
from pymavg.decoding.archive import LatticeScp, LatticeWriter, read_lattices
from pymavg.decoding.lattice import Lattice
from pymavg.decoding.sequence_criteria import Criterion
from pymavg.decoding.sequence_options import SequenceOptions
from pymavg.decoding.sequence_trainer import train_sequence
from pymavg.errors import PymavgError
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import IntVectorWriter, MatrixWriter, read_int_vectors, read_matrices
from pymavg.kaldi.transitions import read_transition_model
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions
from pymavg.training.combination import AveragingOptions
from pymavg.training.launch import find_mpirun, mpi_command, mpi_environment
from pymavg.training.settings import TrainOptions
from pymavg.training.trainer import train

SILENCE = range(1, 11)


def alignment(path):
    rows = [line.split() for line in path.read_text().split("\n") if line]
    return {row[0]: np.array(row[1:], np.int32) for row in rows}


@pytest.fixture
def model(golden):
    return read_transition_model(golden("gmm/mono/final.mdl"))


@pytest.mark.parametrize("ali", ["ali", "ali_wrong"])
@pytest.mark.parametrize("kind", ["smbr_onesil", "smbr_plain", "mpfe_onesil", "mpfe_plain", "mmi"])
def test_derivatives_are_kaldis(golden, model, kind, ali):
    logged = golden("smbr/diffs.txt").read_text().split("== ")
    values = next(part.split("\n")[1:] for part in logged if part.startswith(f"diff_{kind}_{ali}\n"))
    values = {line.split()[0]: float(line.split()[3]) for line in values if line}
    name, _, silences = kind.partition("_")
    criterion = Criterion(model, name, 0.1, 1.0, SILENCE, silences == "onesil", drop_frames=False)
    lattices = dict(read_lattices(golden("smbr/denlat.ark")))
    loglikes = dict(read_matrices(f"ark:{golden('smbr/loglikes.ark')}"))
    references = alignment(golden(f"smbr/{ali}.txt"))
    for utterance, expected in read_matrices(f"ark:{golden(f'smbr/diff_{kind}_{ali}.ark')}"):
        arguments = loglikes[utterance], references[utterance]
        found = criterion.derive(lattices[utterance], *arguments)
        assert np.abs(found.derivative - expected).max() < 2e-6
        frames = len(expected)
        if name != "mmi":
            assert found.right / frames == pytest.approx(values[utterance], abs=2e-6)
            assert found.loss == pytest.approx(frames - found.right)
        else:
            spoken = loglikes[utterance][np.arange(frames), model.tid_pdf[references[utterance]]].sum(dtype=float)
            assert found.loss + 0.1 * spoken == pytest.approx(values[utterance] * frames, rel=1e-5)  # of the lattice
        raw = criterion.derive(lattices[utterance].expand(), *arguments)
        assert np.abs(raw.derivative - found.derivative).max() < 1e-6


@pytest.mark.parametrize("kind", ["smbr", "mpfe", "mmi"])
def test_derivatives_are_those_of_the_loss(golden, model, kind):
    """By difference quotients; Kaldi leaves the acoustic scale out of the derivative."""
    lattice = dict(read_lattices(golden("smbr/denlat.ark")))["theo-test-004"]
    loglikes = dict(read_matrices(f"ark:{golden('smbr/loglikes.ark')}"))["theo-test-004"].astype(float)
    reference = alignment(golden("smbr/ali_wrong.txt"))["theo-test-004"]
    criterion = Criterion(model, kind, 0.1, 1.0, SILENCE, drop_frames=False)
    found = criterion.derive(lattice, loglikes, reference).derivative
    for t, pdf in zip(*np.unravel_index(np.argsort(-np.abs(found), axis=None)[:3], found.shape), strict=True):
        sides = []
        for step in (1e-4, -1e-4):
            moved = loglikes.copy()
            moved[t, pdf] += step
            sides.append(criterion.derive(lattice, moved, reference).loss)
        assert (sides[0] - sides[1]) / 2e-4 == pytest.approx(0.1 * found[t, pdf], rel=1e-4)


@pytest.fixture
def setup(golden, tmp_path):
    """Write golden/smbr as the directories that sequence training takes; return (function ali name -> arguments)."""
    data, src, den = tmp_path / "data", tmp_path / "src", tmp_path / "den"
    for path in (data, src, tmp_path / "lang" / "phones"):
        path.mkdir(parents=True)
    utterances = dict(read_matrices(f"ark:{golden('smbr/feats.ark')}"))
    with MatrixWriter(data / "feats.ark", data / "feats.scp") as writer:
        for utterance, feats in utterances.items():
            writer.write(utterance, feats)
    (data / "utt2spk").write_text("".join(f"{u} {u}\n" for u in utterances))
    names = {"nnet.before": "final.nnet", "feature_transform.nnet": "final.feature_transform"}
    for name, target in {**names, "class.counts": "ali_train_pdf.counts"}.items():
        shutil.copy(golden(f"smbr/{name}"), src / target)
    shutil.copy(golden("gmm/mono/final.mdl"), src)
    with LatticeWriter(den / "lat.ark", den / "lat.scp") as writer:
        for utterance, lattice in read_lattices(golden("smbr/denlat.ark")):
            writer.write(utterance, lattice)
    shutil.copytree(golden("gmm/lang/phones.txt").parent, tmp_path / "lang", dirs_exist_ok=True)

    def arguments(ali):
        folder = tmp_path / ali
        with IntVectorWriter(folder / "ali.1.gz") as writer:
            for utterance, tids in alignment(golden(f"smbr/{ali}.txt")).items():
                writer.write(utterance, tids)
        shutil.copy(golden("gmm/mono/final.mdl"), folder)
        return data, tmp_path / "lang", src, folder, den

    return arguments


def fit(arguments, exp, averaging=None, l2=0.0, optimizer="sgd", **options):
    defaults = {"learn_rate": 5e-4, "num_iters": 1, "use_gpu": "no", "randomize": False, "report_seconds": 1e9}
    settings = SequenceOptions(**{**defaults, **options})
    optimizing = OptimizerOptions(optimizer=optimizer, l2_penalty=l2)
    train_sequence(settings, optimizing, averaging or AveragingOptions(), *arguments, exp)
    return Network(read_nnet(Path(exp, "final.nnet"))).theta


@pytest.mark.parametrize(
    ("name", "ali", "options"),
    [
        ("smbr", "ali", {}),
        ("smbr_plain", "ali", {"one_silence_class": False}),
        ("smbr_first", "ali", {}),
        ("wrong_mmi_first", "ali_wrong", {"criterion": "mmi", "drop_frames": False}),
        ("smbr_nosil", "ali", {}),
        ("smbr_l2", "ali", {"l2": 1e-4}),
        ("mpfe", "ali", {"criterion": "mpfe"}),
        ("mmi", "ali", {"criterion": "mmi"}),
        ("wrong_smbr", "ali_wrong", {}),
        ("wrong_mmi", "ali_wrong", {"criterion": "mmi", "drop_frames": False}),
        ("drop_smbr", "ali_drop", {}),
        ("drop_mmi", "ali_drop", {"criterion": "mmi", "drop_frames": False}),
        ("drop_mmi_drop", "ali_drop", {"criterion": "mmi"}),
    ],
)
def test_trained_networks_are_kaldis(golden, setup, tmp_path, name, ali, options):
    """Change of each parameter matrix to 1e-3 (Frobenius), objectives to the logged digits."""
    found = Network(read_nnet(golden("smbr/nnet.before")))
    before = [[np.array(a) for a in pair] for pair in found.views(found.theta)]
    expected = Network(read_nnet(golden(f"smbr/nnet.{name}")))
    arguments = setup(ali)
    if name.endswith("_first"):  # one update, on the first utterance
        for table in (arguments[0] / "feats.scp", arguments[0] / "utt2spk"):
            table.write_text(table.read_text().splitlines(keepends=True)[0])
    if name.endswith("_nosil"):
        (arguments[1] / "phones/silence.int").write_text("")
    found.theta[:] = fit(arguments, tmp_path / "exp", **options)
    pairs = zip(before, found.views(found.theta), expected.views(expected.theta), strict=True)
    for old, ours, kaldis in pairs:
        for o, a, b in zip(old, ours, kaldis, strict=True):
            rounding = 2 * np.linalg.norm(np.spacing(b)) if b.ndim == 1 else 0.0  # of two updates; biases move little
            assert np.linalg.norm(a - b) <= 1e-3 * np.linalg.norm(b - o) + rounding
    if name.endswith("_first"):
        return  # what Kaldi logged of it is the first line of the whole training's log
    log = golden("smbr/objectives.txt").read_text().split(f"== {name}\n")[1].split("== ")[0]
    overall = float(re.search(r"Overall.* is (\S+)", log)[1])
    (epoch,) = events(tmp_path / "exp")
    value = -epoch["train_loss"] if "mmi" in name else epoch["train_accuracy"] / 100
    assert value == pytest.approx(overall, abs=2e-5)


def events(exp):
    lines = [json.loads(line) for line in Path(exp, "log", "train_sequence.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == "epoch"]


@pytest.fixture
def toy(tmp_path):
    """Return the arguments of a training on lattices with a wrong arc beside each piece of the reference."""
    data, _, ali, _, exp = make(tmp_path, utterances=12)
    rng, model = np.random.default_rng(3), read_transition_model(Path(ali, "final.mdl"))
    references = dict(read_int_vectors(f"ark:{ali}/ali.1.gz"))
    with LatticeWriter(tmp_path / "den" / "lat.ark", tmp_path / "den" / "lat.scp") as writer:
        for utterance, tids in references.items():
            writer.write(utterance, two_ways(tids, model.num_tids, rng))
    (tmp_path / "lang" / "phones").mkdir(parents=True)
    (tmp_path / "lang" / "phones" / "silence.int").write_text("1\n")
    (tmp_path / "lang" / "words.txt").write_text("<eps> 0\na 1\nb 2\n")
    frames = {"splice": 1, "hid_layers": 1, "hid_dim": 12, "minibatch_size": 16, "schedule": "exponential", "epochs": 1}
    settings = TrainOptions(**frames, use_gpu="no", report_seconds=1e9)
    train(settings, OptimizerOptions(), AveragingOptions(), data, data, ali, ali, exp)
    return data, tmp_path / "lang", exp, ali, tmp_path / "den"


def two_ways(tids, num_tids, rng):
    """Return a compact lattice that has, for every ten frames of `tids`, a second way of other transition-ids."""
    pieces = [piece for at in range(0, len(tids), 10) for piece in (tids[at : at + 10],) * 2]
    ways = [rng.integers(1, num_tids + 1, len(p)) if i % 2 else p for i, p in enumerate(pieces)]
    offset = np.concatenate([[0], np.cumsum([len(way) for way in ways])])
    source, graph = np.arange(len(ways)) // 2, rng.random(len(ways))
    word, states = np.arange(len(ways)) % 2 + 1, len(ways) // 2 + 1
    return Lattice.from_arcs(states, source, source + 1, word, graph, 0 * graph, (offset, np.concatenate(ways)))


TOY = {"learn_rate": 2e-3, "num_iters": 2, "average_period": 2, "randomize": True}


@pytest.mark.parametrize("criterion", ["smbr", "mpfe", "mmi"])
def test_it_learns_on_several_workers(toy, tmp_path, criterion):
    fit(toy, tmp_path / "smbr", **{**TOY, "num_iters": 4}, criterion=criterion, virtual_workers=3)
    losses = [epoch["train_loss"] for epoch in events(tmp_path / "smbr")]
    assert losses[-1] < losses[0]
    for name in ("final.feature_transform", "ali_train_pdf.counts", "final.mdl", "cmvn_opts", "1.nnet", "4.nnet"):
        assert (tmp_path / "smbr" / name).exists()
    counts = open_reader(tmp_path / "smbr" / "prior_counts").vector()
    frames = sum(len(feats) for _, feats in read_matrices(f"scp:{toy[0]}/feats.scp"))
    assert counts.sum() == pytest.approx(frames + 0.5 * len(counts), rel=1e-3)
    assert NnetAcoustic(tmp_path / "smbr").offset == pytest.approx(log_priors(counts))


def test_one_worker_is_unaveraged_and_average_frames_count_frames(toy, tmp_path):
    alone = [fit(toy, tmp_path / str(p), **{**TOY, "average_period": p}) for p in (1, 10**6)]
    assert np.array_equal(*alone)
    one = {**TOY, "virtual_workers": 2, "average_frames": 1}
    each = {**TOY, "virtual_workers": 2, "average_period": 1}
    assert np.array_equal(fit(toy, tmp_path / "a", **one), fit(toy, tmp_path / "b", **each))


def test_two_ranks_are_two_virtual_workers(toy, tmp_path):
    pytest.importorskip("mpi4py")
    if find_mpirun() is None:
        pytest.skip("no mpirun")
    words = [f"--{name.replace('_', '-')}={str(value).lower()}" for name, value in TOY.items()]
    words = ["train-sequence", "--use-gpu=no", *words, *map(str, toy), str(tmp_path / "ranks")]
    environment = mpi_environment({**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    done = subprocess.run(mpi_command(2, words), capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    virtual = fit(toy, tmp_path / "virtual", **TOY, virtual_workers=2)
    assert Network(read_nnet(tmp_path / "ranks" / "final.nnet")).theta == pytest.approx(virtual, abs=1e-6)
    told = (tmp_path / "ranks" / "prior_counts", tmp_path / "virtual" / "prior_counts")
    assert open_reader(told[0]).vector() == pytest.approx(open_reader(told[1]).vector(), rel=1e-4)


@pytest.mark.parametrize("optimizer", ["sgd", "ngsgd"])
def test_resumed_at_every_average_ends_bit_equal(toy, tmp_path, monkeypatch, optimizer):
    options = {**TOY, "virtual_workers": 2, "optimizer": optimizer}
    whole = fit(toy, tmp_path / "whole", **options)
    for _ in range(100):
        left = iter([False] * 2)
        monkeypatch.setattr("pymavg.training.session.Signals.stop", lambda self, left=left: next(left, True))
        try:
            broken = fit(toy, tmp_path / "broken", **options)
            break
        except PymavgError as error:
            assert "the same command goes on from there" in str(error)
    assert np.array_equal(broken, whole)
    assert not (tmp_path / "broken" / "checkpoint").exists()


def test_divergence_stops_or_halves(toy, tmp_path, monkeypatch, capsys):
    with pytest.raises(PymavgError, match="ran away in epoch"):
        fit(toy, tmp_path / "stop", **{**TOY, "learn_rate": 1e6})
    assert not (tmp_path / "stop" / "final.nnet").exists()
    monkeypatch.setattr("pymavg.decoding.sequence_trainer.WORSE", -1.0)
    with pytest.raises(
        PymavgError, match=r"smbr loss 0\.\d+ before, 0\.\d+ now: loss or parameters ran away in epoch 2"
    ):
        fit(toy, tmp_path / "halve", **TOY, on_divergence="halve")
    assert "half the rate" in capsys.readouterr().err


def test_what_does_not_fit_is_refused(toy, tmp_path):
    data, lang, source, ali, den = toy
    with pytest.raises(PymavgError, match="learn_rate was 0.002, now 0.003"):
        fit(toy, tmp_path / "smbr", **TOY)
        fit(toy, tmp_path / "smbr", **{**TOY, "learn_rate": 3e-3})
    with pytest.raises(PymavgError, match=r"lat.scp: no such file; make it with steps/nnet/make_denlats.sh"):
        fit((data, lang, source, ali, tmp_path), tmp_path / "none", **TOY)
    with pytest.raises(PymavgError, match="is the directory of the network"):
        fit(toy, source, **TOY)
    with pytest.raises(PymavgError, match="--criterion mwe: expected smbr or mpfe or mmi"):
        fit(toy, tmp_path / "none", **TOY, criterion="mwe")
    with pytest.raises(PymavgError, match="no utterance of at most --max-frames 5"):
        fit(toy, tmp_path / "none", **TOY, max_frames=5)
    lines = (den / "lat.scp").read_text().splitlines(keepends=True)
    (den / "lat.scp").write_text("".join(lines[:6]))
    with pytest.raises(PymavgError, match=r"no lattice for 6 of 12 utterances \(first: train-006\)"):
        fit(toy, tmp_path / "none", **TOY)
    first, second = (line.split() for line in lines[:2])
    (den / "lat.scp").write_text("".join([f"{first[0]} {second[1]}\n", *lines[1:]]))
    with pytest.raises(PymavgError, match=r"train-000: a lattice of \d+ frames for \d+ frames"):
        fit(toy, tmp_path / "none", **TOY)


def test_lattices_are_read_at_random(toy):
    den = toy[-1]
    table, whole = LatticeScp(den / "lat.scp"), dict(read_lattices(den / "lat.ark"))
    assert list(table) == list(whole) and "nobody" not in table
    for utterance in reversed(list(whole)):
        assert np.array_equal(table[utterance].tids, whole[utterance].tids)
    (den / "lat.ark").write_bytes(b"")
    with pytest.raises(PymavgError, match="lat.ark: utterance cv-000: cannot be read"):
        LatticeScp(den / "lat.scp")["cv-000"]
    with pytest.raises(PymavgError, match="cannot point into a compressed archive"):
        LatticeWriter(den / "lat.gz", den / "lat.scp")
