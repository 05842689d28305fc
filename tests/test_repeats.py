"""Utterances that repeat a transcription too often are left out, the same ones as by Kaldi's script."""

import shutil
import subprocess

import pytest

from pymavg.cli import main
from pymavg.data.datadir import DataDir
from pymavg.data.split import without_repeats

KALDI = """
BEGIN { p = 0 }
{ line[NR] = $1; $1 = ""; words[NR] = $0; n[$0]++ }
END { for (i = 1; i <= NR; i++) {
        if (n[words[i]] < m) keep = 1
        else { p = (p + 103349) % 71147; keep = p / 71147 < m / n[words[i]] }
        if (keep) print line[i] } }"""


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train"
    path.mkdir()
    said = ["uh-huh" if i % 2 else "yeah" if i % 3 else f"sentence {i}" for i in range(600)]
    (path / "text").write_text("".join(f"a-{i:04d} {words}\n" for i, words in enumerate(said)))
    (path / "utt2spk").write_text("".join(f"a-{i:04d} a\n" for i in range(600)))
    (path / "wav.scp").write_text("".join(f"a-{i:04d} a{i}.wav\n" for i in range(600)))
    return path


@pytest.mark.parametrize("most", [50, 200, 300, 1000])
def test_the_same_ones_as_kaldis(data, most):
    kept = without_repeats(data, most)
    awk = shutil.which("awk")
    wanted = subprocess.run([awk, "-v", f"m={most}", KALDI, data / "text"], capture_output=True, text=True, check=True)
    assert kept == wanted.stdout.split()
    text = DataDir(data).text
    repeats = [text[utt] for utt in kept].count("uh-huh")
    assert abs(repeats - min(300, most)) < 40
    assert sum(text[utt].startswith("sentence") for utt in kept) == 100  # the others all stay


def test_the_tool(data, tmp_path, capsys):
    assert main(["remove-dup-utts", "10", str(data), str(tmp_path / "nodup")]) == 0
    kept = DataDir(tmp_path / "nodup")
    assert 100 < len(kept.utts) < 140 and set(kept.wav) == set(kept.utts) == set(kept.text)
    assert main(["remove-dup-utts", "0", str(data), str(tmp_path / "none")]) == 1
    assert "<max-count> needs a whole number of at least 1, got '0'" in capsys.readouterr().err
    (data / "text").unlink()
    assert main(["remove-dup-utts", "10", str(data), str(tmp_path / "none")]) == 1
    assert "text: no such file; the transcriptions tell" in capsys.readouterr().err
