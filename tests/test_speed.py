"""Speed perturbation: commands as Kaldi writes them, read without sox; times and names of the copies."""

from fractions import Fraction

import numpy as np
import pytest
import soundfile

from pymavg.cli import main
from pymavg.data.audio import Utterances, WavScp, resample
from pymavg.data.datadir import DataDir
from pymavg.data.speed import parse_speed, split_speed
from pymavg.errors import PymavgError

RATE = 8000


@pytest.fixture
def data(tmp_path):
    """A data directory with one recording of two channels, a tone of 500 Hz on each, and two utterances."""
    tone = np.sin(2 * np.pi * 500 * np.arange(2 * RATE) / RATE)
    soundfile.write(tmp_path / "a.wav", np.stack([0.5 * tone, 0.25 * tone], axis=1), RATE, subtype="PCM_16")
    source = tmp_path / "train"
    source.mkdir()
    tables = {
        "wav.scp": f"r-A sph2pipe -f wav -p -c 1 {tmp_path}/a.wav |\nr-B sph2pipe -f wav -p -c 2 {tmp_path}/a.wav |\n",
        "segments": "s1-a r-A 0.9 1.8\ns2-b r-B 0 -1\n",
        "utt2spk": "s1-a s1\ns2-b s2\n",
        "spk2utt": "s1 s1-a\ns2 s2-b\n",
        "text": "s1-a one\ns2-b two\n",
        "utt2dur": "s1-a 0.9\ns2-b 2.0\n",
        "feats.scp": "s1-a x.ark:5\ns2-b x.ark:9\n",
        "reco2file_and_channel": "r-A r A\nr-B r B\n",
    }
    for name, text in tables.items():
        (source / name).write_text(text)
    return source


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a.wav", ("a.wav", None)),
        ("cat a.wav | sox -t wav - -t wav - speed 0.9 |", ("a.wav", Fraction(9, 10))),
        ("sph2pipe -c 1 a.sph | sox -t wav - -t wav - speed 1.1 |", ("sph2pipe -c 1 a.sph |", Fraction(11, 10))),
        ("sox a.wav -t wav - speed 1.1 gain 2 |", ("sox a.wav -t wav - speed 1.1 gain 2 |", None)),
    ],
)
def test_split_speed(text, expected):
    assert split_speed(text) == expected


@pytest.mark.parametrize("text", ["0", "-1", "9", "fast", "nan", "1/0"])
def test_a_speed_out_of_range_is_refused(text):
    with pytest.raises(PymavgError, match="expected, such as 0.9"):
        parse_speed(text)


def test_tempo_and_pitch_change_together():
    tone = np.sin(2 * np.pi * 500 * np.arange(RATE) / RATE).astype(np.float32)
    slow = resample(tone, 9, 10)
    assert slow.dtype == np.float32 and len(slow) == -(-RATE * 10 // 9)
    expected = np.sin(2 * np.pi * 450 * np.arange(len(slow)) / RATE)
    np.testing.assert_allclose(slow[200:-200], expected[200:-200], atol=2e-3)


def test_a_copy_has_new_names_and_times_and_no_features(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")  # neither sph2pipe nor sox
    assert main(["perturb-data-dir-speed", "0.9", str(data), str(tmp_path / "slow")]) == 0
    slow = DataDir(tmp_path / "slow")
    assert slow.utt2spk == {"sp0.9-s1-a": "sp0.9-s1", "sp0.9-s2-b": "sp0.9-s2"}
    assert slow.table("segments") == {"sp0.9-s1-a": "sp0.9-r-A 1.0000 2.0000", "sp0.9-s2-b": "sp0.9-r-B 0.0000 -1"}
    assert slow.table("utt2dur") == {"sp0.9-s1-a": "1.0000", "sp0.9-s2-b": "2.2222"}
    assert slow.conversation("sp0.9-s1-a") == "r"
    assert not slow.has("feats.scp")
    whole, rate = Utterances(slow.path).read("sp0.9-s2-b")
    assert rate == RATE and len(whole) == -(-2 * RATE * 10 // 9)
    assert np.abs(whole[200:-200]).max() == pytest.approx(0.25 * 32768, rel=0.01)
    part, _ = Utterances(slow.path).read("sp0.9-s1-a")
    assert len(part) == RATE
    assert np.abs(part).max() == pytest.approx(0.5 * 32768, rel=0.01)


def test_three_ways(data, tmp_path):
    target = tmp_path / "sp"
    assert main(["perturb-data-dir-speed-3way", str(data), str(target)]) == 0
    assert DataDir(target).utts == ["s1-a", "s2-b", "sp0.9-s1-a", "sp0.9-s2-b", "sp1.1-s1-a", "sp1.1-s2-b"]
    before = (target / "wav.scp").stat().st_mtime_ns
    assert main(["perturb-data-dir-speed-3way", str(data), str(target)]) == 0
    assert (target / "wav.scp").stat().st_mtime_ns == before
    wavs = WavScp(target / "wav.scp")
    assert len(wavs["sp1.1-r-A"][0]) < len(wavs["r-A"][0]) < len(wavs["sp0.9-r-A"][0])


def test_features_alone_cannot_be_perturbed(data, tmp_path, capsys):
    (data / "wav.scp").unlink()
    assert main(["perturb-data-dir-speed", "0.9", str(data), str(tmp_path / "x")]) == 1
    assert "has no wav.scp" in capsys.readouterr().err
