"""Spectrograms: Kaldi's values, and the definition where no value of Kaldi's is at hand."""

import numpy as np
import pytest
from test_features import extractor, noise  # noqa: F401

from pymavg.data.audio import WavScp
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import read_matrices


def test_spectrogram_is_kaldis(golden, tmp_path):
    ((utterance, wanted),) = read_matrices(golden("feats/spectrogram.ark"))
    (tmp_path / "wav.scp").write_text(f"{utterance} {golden(f'feats/wav/{utterance}.wav')}\n")
    computed = extractor(tmp_path, "spectrogram")
    found = computed.compute(*WavScp(tmp_path / "wav.scp")[utterance], utterance)
    assert found.dtype == np.float32 and found.shape == wanted.shape == (358, computed.dim) == (358, 129)
    assert np.abs(found[:, 0] - wanted[:, 0]).max() < 1e-5  # the energy
    power, expected = np.exp(found[:, 1:].astype(np.float64)), np.exp(wanted[:, 1:].astype(np.float64))
    assert (np.abs(power - expected) / expected.max(axis=1, keepdims=True)).max() < 1e-5
    difference = np.abs(found - wanted)
    assert difference.mean() < 1e-5
    assert difference.max() < 4e-3  # in weak bins beside strong ones, where Kaldi's transform is single precision


def definition(samples, window, points, energy):
    """Return one frame's spectrum: what the DFT's sum says."""
    x = samples - samples.mean()
    emphasised = (x - 0.97 * np.append(x[0], x[:-1])) * window
    k, n = np.arange(points // 2 + 1)[:, None], np.arange(len(x))
    power = np.abs((emphasised * np.exp(-2j * np.pi * k * n / points)).sum(axis=1)) ** 2
    power[0] = np.square({"raw": x, "windowed": emphasised}[energy]).sum()
    return np.log(power)


@pytest.mark.parametrize(
    ("lines", "points", "energy"),
    [
        ((), 256, "raw"),
        (("--raw-energy=false", "--window-type=hamming"), 256, "windowed"),
        (("--round-to-power-of-two=false",), 200, "raw"),
    ],
)
def test_spectrum_by_definition(tmp_path, noise, lines, points, energy):  # noqa: F811
    found = extractor(tmp_path, "spectrogram", *lines).compute(noise, 8000, "u")
    cosine = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 199)
    window = 0.08 + 0.92 * cosine if energy == "windowed" else cosine**0.85
    assert found.shape == (98, points // 2 + 1)
    for t in (0, 97):
        expected = definition(noise[80 * t : 80 * t + 200].astype(np.float64), window, points, energy)
        np.testing.assert_allclose(found[t], expected, atol=2e-5)


def test_options_of_spectrograms(tmp_path, noise):  # noqa: F811
    floored = extractor(tmp_path, "spectrogram", "--energy-floor=1e12").compute(noise, 8000, "u")
    np.testing.assert_allclose(floored[:, 0], 12 * np.log(10), rtol=1e-6)
    assert extractor(tmp_path, "spectrogram", "--snip-edges=false").compute(noise, 8000, "u").shape == (100, 129)
    assert extractor(tmp_path, "spectrogram").compute(noise[:199], 8000, "u").shape == (0, 129)
    with pytest.raises(PymavgError, match="spectrogram.conf:3: option --num-mel-bins is unknown or not supported"):
        extractor(tmp_path, "spectrogram", "--num-mel-bins=23")
    with pytest.raises(PymavgError, match="--window-type povey"):
        extractor(tmp_path, "spectrogram", "--window-type=kaiser")
