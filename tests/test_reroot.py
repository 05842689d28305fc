"""Kaldi directories that were moved, and features stored as a GMM sees them."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.data.pipeline import FeaturePipeline
from pymavg.errors import PymavgError
from pymavg.kaldi.rspecifier import reroot
from pymavg.kaldi.tables import MatrixScp, MatrixWriter

ROOT = Path(__file__).parents[1]


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """Make a data directory whose archives lie elsewhere now: (data directory, new root, matrices)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new/s5/mfcc").mkdir(parents=True)
    matrices = {f"a-{i}": np.full((9 + i, 2), i, np.float32) for i in range(3)}
    with MatrixWriter(tmp_path / "new/s5/mfcc/raw.ark", tmp_path / "feats.scp") as writer:
        for key, matrix in matrices.items():
            writer.write(key, matrix)
    data = tmp_path / "data"
    data.mkdir()
    lines = (tmp_path / "feats.scp").read_text().splitlines()
    first, second, third = (line.replace(f"{tmp_path}/new/s5/", "") for line in lines)
    second = second.replace(" mfcc", " /home/gone/egs/s5/mfcc")
    (data / "feats.scp").write_text(f"{first}\n{second}\n{third}[0:4]\n")
    (data / "utt2spk").write_text("".join(f"{key} a\n" for key in matrices))
    (data / "wav.scp").write_text("a-0 wav/0.wav\na-1 sph2pipe -f wav 1.sph |\na-2 /gone/2.wav\n")
    return data, tmp_path / "new/s5", matrices


def test_where_a_file_lies_now(moved):
    _, root, _ = moved
    assert reroot("mfcc/raw.ark", root) == f"{root}/mfcc/raw.ark"
    assert reroot("/home/gone/egs/s5/mfcc/raw.ark", root) == f"{root}/mfcc/raw.ark"
    assert reroot("/gone/raw.ark", root) == "/gone/raw.ark"
    assert reroot(f"{root}/mfcc/raw.ark", "/elsewhere") == f"{root}/mfcc/raw.ark"


def test_a_copy_has_paths_that_hold_from_anywhere(moved, capsys):
    data, root, matrices = moved
    with pytest.raises(PymavgError, match="copy_data_dir.sh --root DIR"):
        MatrixScp(data / "feats.scp")["a-0"]
    assert main(["copy-data-dir", "--root", str(root), str(data), "copy"]) == 0
    found = dict(MatrixScp("copy/feats.scp"))
    for key, rows in (("a-0", 9), ("a-1", 10), ("a-2", 5)):
        np.testing.assert_array_equal(found[key], matrices[key][:rows])
    assert "1 lines are commands" in capsys.readouterr().err
    assert Path("copy/wav.scp").read_text().startswith(f"a-0 {root}/wav/0.wav\na-1 sph2pipe")
    assert main(["copy-data-dir", "--root", "/tmp", str(data), "other"]) == 1
    assert "mfcc/raw.ark is not there under /tmp; give another --root" in capsys.readouterr().err


def test_stored_features_are_those_of_the_pipeline(shared, tmp_path):
    """steps/nnet/make_fmllr_feats.sh on a SAT system of Kaldi's, in Kaldi's argument order."""
    gmm = shared("golden/gmm")
    system = tmp_path / "tri3"
    system.mkdir()
    for name in ("final.mdl", "final.mat", "cmvn_opts", "splice_opts"):
        (system / name).symlink_to(gmm / "tri3" / name)
    (system / "trans.1").symlink_to(gmm / "tri3/trans_ali")
    command = [ROOT / "steps/nnet/make_fmllr_feats.sh", "--nj", "1", "--root", gmm, "--transform-dir", system]
    command += [tmp_path / "target", gmm / "data/train", system, tmp_path / "log", tmp_path / "fmllr"]
    done = subprocess.run(list(map(str, command)), cwd=ROOT / "egs/swbd", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    raw = [*command[:1], "--raw-transform-dir", system, *command[1:]]
    refused = subprocess.run(list(map(str, raw)), cwd=ROOT / "egs/swbd", capture_output=True, text=True)
    assert refused.returncode == 1 and "--raw-transform-dir is not supported" in refused.stderr
    found = MatrixScp(tmp_path / "target/feats.scp")
    wanted = FeaturePipeline(gmm / "data/train", system, system, root=str(gmm))
    assert list(found) == wanted.utts
    for utterance in wanted.utts[:5]:
        np.testing.assert_allclose(found[utterance], wanted.get(utterance), rtol=1e-6)
    assert not (tmp_path / "target/cmvn.scp").exists()
    assert (tmp_path / "target/text").read_bytes() == (gmm / "data/train/text").read_bytes()
