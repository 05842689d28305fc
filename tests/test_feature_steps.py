import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pymavg.cli import main
from pymavg.kaldi.tables import MatrixWriter, read_matrices, read_token_map

ROOT = Path(__file__).parent.parent
RATE = 8000


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Make a recipe directory with data/train of 2 speakers the current one; one utterance is too short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name in ("path.sh", "steps", "utils"):
        Path(name).symlink_to(ROOT / name)
    data = Path("data/train")
    data.mkdir(parents=True)
    Path("conf").mkdir()
    Path("conf/mfcc.conf").write_text("--sample-frequency=8000\n--use-energy=false\n")
    Path("conf/fbank.conf").write_text("--sample-frequency=8000\n--num-mel-bins=40\n")
    random = np.random.default_rng(0)
    for rec in "ab":
        soundfile.write(f"{rec}.wav", (random.normal(size=8 * RATE) * 1000).astype(np.int16), RATE)
    (data / "wav.scp").write_text("a a.wav\nb cat b.wav |\n")
    utts = [(f"{rec}-{i:02}", rec, 0.3 * i, 0.3 * i + 0.29) for rec in "ab" for i in range(20)]
    (data / "segments").write_text(
        "".join(f"{u} {r} {s:.2f} {e:.2f}\n" for u, r, s, e in [*utts, ("b-99", "b", 7, 7.015)])
    )
    (data / "utt2spk").write_text("".join(f"{u} {u[0]}\n" for u in [*(u for u, *_ in utts), "b-99"]))
    return data


def step(*words, status=0):
    done = subprocess.run(["bash", *words], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_features_and_statistics(recipe):
    said = step("steps/make_mfcc.sh", "--nj", "2", "--compress", "false", "data/train", "log", "mfcc")
    assert "kept 40 of 41; first left out: b-99" in said
    feats = dict(read_matrices(recipe / "feats.scp"))
    assert len(feats) == 40 and list(feats) == sorted(feats)
    lengths = {u: int(n) for u, n in read_token_map(recipe / "utt2num_frames").items()}
    assert lengths == {u: len(m) for u, m in feats.items()} and set(lengths.values()) == {27}
    assert read_token_map(recipe / "utt2dur")["a-00"] == "0.290"
    assert (recipe / "conf/mfcc.conf").read_text() == Path("conf/mfcc.conf").read_text()
    assert (
        "1 utterances are shorter than one frame and left out; first: b-99"
        in Path("log/make_mfcc_train.2.log").read_text()
    )
    assert "2 speakers" in step("steps/compute_cmvn_stats.sh", "data/train", "log", "mfcc")
    stats = dict(read_matrices(recipe / "cmvn.scp", np.float64))
    assert {s: m.shape for s, m in stats.items()} == {"a": (2, 14), "b": (2, 14)}
    whole = np.vstack([m for u, m in feats.items() if u[0] == "a"]).astype(np.float64)
    np.testing.assert_allclose(stats["a"][0], [*whole.sum(axis=0), len(whole)], rtol=1e-6)
    assert main(["check-feats", "data/train"]) == 0


def test_plp_with_pitch(recipe):
    for name in ("segments", "utt2spk"):
        (recipe / name).write_text("".join((recipe / name).read_text().splitlines(keepends=True)[:2]))
    Path("conf/plp.conf").write_text("--sample-frequency=8000\n--use-energy=false\n")
    said = step("steps/make_plp_pitch.sh", "--nj", "1", "data/train", status=1)
    assert "conf/pitch.conf: no such file" in said
    Path("conf/pitch.conf").write_text("--sample-frequency=8000\n")
    step("steps/make_plp_pitch.sh", "--nj", "1", "data/train")
    assert {m.shape for m in dict(read_matrices(recipe / "feats.scp")).values()} == {(27, 16)}
    assert (recipe / "conf/pitch.conf").exists() and (recipe / "conf/plp.conf").exists()


def test_nothing_partial_is_kept(recipe):
    said = step("steps/make_fbank.sh", "--nj", "2", "--max-loss", "0.01", "data/train", status=1)
    assert "1 of 41 utterances have no features (first: b-99), more than 1%" in said
    assert not (recipe / "feats.scp").exists()
    Path("b.wav").unlink()
    said = step("steps/make_fbank.sh", "--nj", "2", "data/train", status=1)
    assert "cat b.wav" in said
    assert not (recipe / "feats.scp").exists()


def test_more_jobs_than_utterances(recipe):
    for name in ("segments", "utt2spk"):
        (recipe / name).write_text("".join((recipe / name).read_text().splitlines(keepends=True)[:2]))
    said = step("steps/make_fbank.sh", "--nj", "9", "data/train")
    assert "2 utterances, so 2 jobs instead of 9" in said
    assert len(dict(read_matrices(recipe / "feats.scp"))) == 2


def test_a_last_line_without_newline_counts(recipe):
    for name in ("segments", "utt2spk"):
        (recipe / name).write_text((recipe / name).read_text().splitlines()[0])
    step("steps/make_fbank.sh", "--nj", "9", "data/train")
    assert len(dict(read_matrices(recipe / "feats.scp"))) == 1


def test_no_table_points_into_archives_of_a_failed_run(recipe):
    step("steps/make_fbank.sh", "--nj", "1", "data/train")
    step("steps/compute_cmvn_stats.sh", "data/train")
    step("steps/make_fbank.sh", "--nj", "0", "data/train", status=1)
    assert (recipe / "feats.scp").exists()  # refused before anything was touched
    Path("b.wav").unlink()
    step("steps/make_fbank.sh", "--nj", "2", "data/train", status=1)
    assert not (recipe / "feats.scp").exists() and not (recipe / "cmvn.scp").exists()
    assert (recipe / ".backup/feats.scp").exists()


def test_another_sampling_rate(recipe):
    Path("conf/fbank.conf").write_text("--sample-frequency=4000\n--high-freq=1900\n")
    said = step("steps/make_fbank.sh", "--nj", "1", "data/train", status=1)
    assert "a (a.wav): 8000 Hz, conf/fbank.conf says 4000; set --allow-downsample true or correct the conf" in said
    step("steps/make_fbank.sh", "--nj", "1", "--allow-downsample", "true", "data/train")
    assert len(dict(read_matrices(recipe / "feats.scp"))) == 40
    Path("conf/fbank.conf").write_text("--sample-frequency=16000\n")
    assert "set --allow-upsample true" in step("steps/make_fbank.sh", "--nj", "1", "data/train", status=1)
    step("steps/make_fbank.sh", "--nj", "1", "--allow-upsample", "true", "data/train")


@pytest.mark.parametrize("script", ["make_mfcc.sh", "make_fbank.sh", "make_plp_pitch.sh", "compute_cmvn_stats.sh"])
def test_usage(recipe, script):
    assert f"usage: steps/{script} [options] <data>" in step(f"steps/{script}", "--help")
    step(f"steps/{script}", status=1)
    step(f"steps/{script}", "data/none", status=1)
    assert "no option --nope" in step(f"steps/{script}", "--nope", "1", "data/train", status=1)


def test_check_feats(tmp_path, capsys):
    def check(name="feats.ark", **matrices):
        with MatrixWriter(tmp_path / name) as writer:
            for utt, matrix in matrices.items():
                writer.write(utt, np.array(matrix, np.float32))
        status = main(["check-feats", str(tmp_path / name)])
        return status, "".join(capsys.readouterr())

    status, said = check(u1=[[1, 2], [3, 2]], u2=[[5, 2]])
    assert (
        status == 0 and "2 utterances, 3 frames x 2, all finite" in said and "1 of 2 coefficients are the same" in said
    )
    status, said = check(u1=[[1, 2]], u2=[[np.nan, 2]], u3=[[1, 2, 3]], u4=np.zeros((0, 2)), u5=[[np.inf, 1]])
    assert status == 1
    assert "2 of 5 utterances hold NaN or infinity: u2, u5" in said
    assert "have another dimension than the first: u3" in said and "have no frames: u4" in said
    (tmp_path / "feats.scp").write_text(f"u1 {tmp_path}/feats.ark:3\n")
    (tmp_path / "utt2num_frames").write_text("u1 7\n")
    assert main(["check-feats", str(tmp_path)]) == 1
    assert "are not as long as utt2num_frames says: u1" in capsys.readouterr().err
    (tmp_path / "feats.ark").write_bytes((tmp_path / "feats.ark").read_bytes()[:20])
    assert main(["check-feats", f"scp:{tmp_path}/feats.scp"]) == 1
    assert "present; the file is cut" in capsys.readouterr().err
