import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_corpus import make

from pymavg.cli import main
from pymavg.errors import PymavgError
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.nnet.network import Network
from pymavg.nnet.optimizer import OptimizerOptions
from pymavg.training.combination import AveragingOptions
from pymavg.training.settings import TrainOptions
from pymavg.training.trainer import train

SMALL = {
    "splice": 1,
    "hid_layers": 1,
    "hid_dim": 12,
    "minibatch_size": 16,
    "use_gpu": "no",
    "average_period": 3,
    "schedule": "exponential",
    "epochs": 3,
    "final_factor": 0.3,
    "learn_rate": 0.02,
    "report_seconds": 1e9,
}


@pytest.fixture
def corpus(tmp_path):
    return make(tmp_path)


def fit(corpus, exp, averaging=None, optimizer="ngsgd", **options):
    """Train; return the flat parameters of the final model."""
    settings = TrainOptions(**{**SMALL, **options})
    optimizing = OptimizerOptions(optimizer=optimizer, rank_in=5, rank_out=3)
    train(settings, optimizing, averaging or AveragingOptions(), *corpus[:4], exp)
    return Network(read_nnet(Path(exp, "final.nnet"))).theta


def events(exp, kind, log="train"):
    lines = [json.loads(line) for line in Path(exp, "log", f"{log}.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == kind]


def test_it_learns_and_leaves_what_decoding_needs(corpus, tmp_path):
    fit(corpus, tmp_path / "exp", epochs=5)
    epochs, (run,) = events(tmp_path / "exp", "epoch"), events(tmp_path / "exp", "run")
    assert run["config"]["learn_rate"] > 0 and run["commit"] and run["machine"] and run["parameters"] > 0
    assert epochs[0]["frames"] > 0 and epochs[0]["elapsed"] > 0 and not run["continued"]
    assert len(epochs) == 5
    assert epochs[-1]["cv_loss"] < epochs[0]["cv_loss"] < np.log(6)
    assert epochs[-1]["cv_accuracy"] > 55
    for name in ("final.nnet", "final.feature_transform", "ali_train_pdf.counts", "final.mdl", "cmvn_opts"):
        assert (tmp_path / "exp" / name).exists()
    assert len(list((tmp_path / "exp" / "nnet").iterdir())) == 5
    assert not (tmp_path / "exp" / "checkpoint").exists()
    transform = read_nnet(tmp_path / "exp" / "final.feature_transform")
    assert [type(c).__name__ for c in transform] == ["Splice", "AddShift", "Rescale"]


def test_one_worker_is_the_unaveraged_optimiser_bit_for_bit(corpus, tmp_path):
    averaged = fit(corpus, tmp_path / "a", average_period=1)
    unaveraged = fit(corpus, tmp_path / "b", average_period=10**6)
    assert np.array_equal(averaged, unaveraged)


def test_same_seed_same_model_other_seed_other_model(corpus, tmp_path):
    seeds = {"a": 1, "b": 1, "c": 2}
    models = [fit(corpus, tmp_path / name, seed=seed, virtual_workers=2) for name, seed in seeds.items()]
    assert np.array_equal(models[0], models[1])
    assert not np.array_equal(models[0], models[2])


@pytest.mark.parametrize(
    ("virtual_workers", "averaging", "optimizer"),
    [
        (1, {}, "ngsgd"),
        (2, {"block_momentum": 0.5, "block_nesterov": True, "ema_decay": 0.9}, "ngsgd"),
        (3, {"overlap": True}, "sgd"),
        (3, {"reduce_type": "ring"}, "sgd"),
    ],
)
def test_resumed_at_every_average_ends_bit_equal(corpus, tmp_path, monkeypatch, virtual_workers, averaging, optimizer):
    options = {"virtual_workers": virtual_workers, "epochs": 2, "optimizer": optimizer, "average_period": 5}
    whole = fit(corpus, tmp_path / "whole", AveragingOptions(**averaging), **options)
    for _ in range(100):
        ask_to_stop_soon(monkeypatch)
        try:
            broken = fit(corpus, tmp_path / "broken", AveragingOptions(**averaging), **options)
            break
        except PymavgError as error:
            assert "the same command goes on from there" in str(error)
    assert np.array_equal(broken, whole)


def ask_to_stop_soon(monkeypatch):
    """Let the signal to stop come after the third comparison of notes."""
    left = iter([False] * 3)
    monkeypatch.setattr("pymavg.training.session.Signals.stop", lambda self: next(left, True))


def test_kill_9_and_again_ends_bit_equal(corpus, tmp_path):
    whole = fit(corpus, tmp_path / "whole", epochs=8, virtual_workers=2)
    options = {**SMALL, "epochs": 8, "virtual_workers": 2}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    words += ["--rank-in=5", "--rank-out=3", "--checkpoint-minutes=0.0001"]
    command = [sys.executable, "-m", "pymavg.cli", "train", *words, *corpus[:4], str(tmp_path / "exp")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "exp" / "checkpoint" / "current").exists():
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "exp" / "final.nnet").exists()
    assert np.array_equal(fit(corpus, tmp_path / "exp", epochs=8, virtual_workers=2), whole)


def test_finished_is_finished_and_other_options_are_refused(corpus, tmp_path, capsys):
    fit(corpus, tmp_path / "exp")
    first = (tmp_path / "exp" / "final.nnet").read_bytes()
    fit(corpus, tmp_path / "exp", report_seconds=5.0)
    assert "already trained" in capsys.readouterr().err
    with pytest.raises(PymavgError, match="learn_rate was 0.02, now 0.03"):
        fit(corpus, tmp_path / "exp", learn_rate=0.03)
    with pytest.raises(PymavgError, match="workers was 1, now 2"):
        fit(corpus, tmp_path / "exp", virtual_workers=2)
    fit(corpus, tmp_path / "exp", learn_rate=0.03, restart=True)
    assert (tmp_path / "exp" / "final.nnet").read_bytes() != first


def test_a_broken_run_goes_on_with_more_workers_when_allowed(corpus, tmp_path, monkeypatch):
    ask_to_stop_soon(monkeypatch)
    with pytest.raises(PymavgError, match="stopped by a signal"):
        fit(corpus, tmp_path / "exp")
    monkeypatch.undo()
    with pytest.raises(PymavgError, match="workers was 1, now 2"):
        fit(corpus, tmp_path / "exp", virtual_workers=2)
    fit(corpus, tmp_path / "exp", virtual_workers=2, allow_change=True)
    assert len(events(tmp_path / "exp", "epoch")) == 3


def test_divergence_names_the_place_and_keeps_the_last_good_model(corpus, tmp_path, capsys):
    with pytest.raises(PymavgError, match=r"rank 0 .*epoch 1 at learning rate 1e\+06.*lower --learn-rate"):
        fit(corpus, tmp_path / "exp", optimizer="sgd", learn_rate=1e6)
    assert "worker 0: minibatch" in capsys.readouterr().err
    assert np.isfinite(Network(read_nnet(tmp_path / "exp" / "nnet" / "last_good.nnet")).theta).all()
    assert not (tmp_path / "exp" / "final.nnet").exists()


def test_divergence_can_go_back_and_halve(corpus, tmp_path, capsys):
    fit(corpus, tmp_path / "exp", optimizer="sgd", learn_rate=8.0, on_divergence="halve")
    assert "half the rate" in capsys.readouterr().err
    assert events(tmp_path / "exp", "epoch")[0]["learn_rate"] < 8.0


def test_moving_average_as_final_model(corpus, tmp_path):
    averaging = AveragingOptions(ema_decay=0.8)
    last = fit(corpus, tmp_path / "a", averaging, virtual_workers=2)
    smooth = fit(corpus, tmp_path / "b", averaging, virtual_workers=2, final_model="ema")
    assert 0 < np.abs(last - smooth).max() < 1.0
    with pytest.raises(PymavgError, match="--final-model ema needs --ema-decay"):
        fit(corpus, tmp_path / "c", final_model="ema")


def test_pretrained_layers_go_below_the_softmax(corpus, tmp_path, capsys):
    words = ["--nn-depth=2", "--hid-dim=8", "--minibatch-size=16", "--splice=1", "--use-gpu=no", "--virtual-workers=2"]
    assert main(["pretrain-dbn", *words, corpus[0], str(tmp_path / "dbn")]) == 0
    errors = {}
    for record in events(tmp_path / "dbn", "epoch", "pretrain_dbn"):
        errors.setdefault(record["layer"], []).append(record["error"])
    assert len(errors[1]) == 2 and errors[1][1] < errors[1][0] < 1.5
    assert main(["pretrain-dbn", *words, corpus[0], str(tmp_path / "dbn")]) == 0
    assert "2 layers already trained" in capsys.readouterr().err
    fit(corpus, tmp_path / "exp", dbn=str(tmp_path / "dbn" / "2.dbn"), hid_layers=-1)
    final = read_nnet(tmp_path / "exp" / "final.nnet")
    assert [type(c).__name__ for c in final] == ["Affine", "Sigmoid", "Affine", "Sigmoid", "Affine", "Softmax"]
    transforms = [(tmp_path / d / "final.feature_transform").read_bytes() for d in ("dbn", "exp")]
    assert transforms[0] == transforms[1]
    with pytest.raises(PymavgError, match="3.dbn: no such file"):
        fit(corpus, tmp_path / "none", dbn=str(tmp_path / "dbn" / "3.dbn"))


def test_pretraining_resumed_at_any_average_ends_bit_equal(corpus, tmp_path, monkeypatch):
    words = ["--nn-depth=2", "--hid-dim=6", "--minibatch-size=16", "--splice=1", "--use-gpu=no", "--average-period=9"]
    assert main(["pretrain-dbn", *words, corpus[0], str(tmp_path / "whole")]) == 0
    status = 1
    while status:
        ask_to_stop_soon(monkeypatch)
        status = main(["pretrain-dbn", *words, corpus[0], str(tmp_path / "broken")])
    for name in ("1.dbn", "2.dbn", "2.rbm"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "broken" / "checkpoint").exists()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_streamed_shard_trains_too(corpus, tmp_path, dtype):
    fit(corpus, tmp_path / "exp", memory_budget=10_000 / 2**30, shard_dtype=dtype)
    assert events(tmp_path / "exp", "epoch")[-1]["cv_accuracy"] > 55


def test_explain_tells_the_plan_and_warns(corpus, tmp_path, capsys):
    fit(corpus, tmp_path / "exp", explain=True, virtual_workers=2, average_period=10)
    told = capsys.readouterr().err
    for part in ("per worker", "averages", "memory of a worker", "expected time", "try --average-period"):
        assert part in told


def test_command_line_mistakes_are_one_line(corpus, capsys):
    assert main(["train", "--schedule", "never", *corpus]) == 1
    assert main(["train", "--learn-rate", "nan", *corpus]) == 1
    assert main(["train", "--lern-rate", "1", *corpus]) == 1
    assert main(["train", "--momentum", "0.9", *corpus]) == 1
    told = capsys.readouterr().err.splitlines()
    assert "expected newbob or exponential" in told[0]
    assert any("needs a number, got 'nan'" in line for line in told)
    assert any("did you mean --learn-rate" in line for line in told)
    assert any("--momentum goes with --optimizer sgd only" in line for line in told)
