"""Pitch features: Kaldi's values, conf files, and pasting to other features."""

import numpy as np
import pytest

from pymavg.data.audio import WavScp
from pymavg.data.features import FeatureExtractor
from pymavg.data.pitch import PitchExtractor, WithPitch
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import read_matrices

UTTERANCES = [f"{speaker}-test-00{i}" for speaker in ("george", "jackson", "theo") for i in (0, 1)]


def conf(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def extractor(tmp_path, *process, first=()):
    extraction = conf(tmp_path, "pitch.conf", "--sample-frequency=8000", *first)
    return PitchExtractor(extraction, conf(tmp_path, "process.conf", *process))


@pytest.mark.parametrize("utterance", UTTERANCES)
@pytest.mark.parametrize("name, lines", [("pitch", ()), ("pitch_rawlog", ("--add-raw-log-pitch=true",))])
def test_pitch_is_kaldis(golden, tmp_path, name, lines, utterance):
    (tmp_path / "wav.scp").write_text(f"{utterance} {golden(f'feats/wav/{utterance}.wav')}\n")
    samples, _ = WavScp(tmp_path / "wav.scp")[utterance]
    wanted = dict(read_matrices(golden(f"feats/{name}.ark")))[utterance]
    found = extractor(tmp_path, "--delta-pitch-noise-stddev=0", *lines).compute(samples)
    assert found.shape == wanted.shape and found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-3)  # the worst is 3e-5


@pytest.mark.parametrize("utterance", UTTERANCES)
def test_pitch_and_correlation_before_processing_are_kaldis(golden, tmp_path, utterance):
    """They can be had back from the raw log pitch, and from the measure of voicing f = 2 ((1.0001 - n)^0.15 - 1)."""
    (tmp_path / "wav.scp").write_text(f"{utterance} {golden(f'feats/wav/{utterance}.wav')}\n")
    samples, _ = WavScp(tmp_path / "wav.scp")[utterance]
    correlation, pitch = dict(read_matrices(golden("feats/pitch_raw.ark")))[utterance].T
    only = ("--add-raw-log-pitch=true", "--add-normalized-log-pitch=false", "--add-delta-pitch=false")
    voicing, log_pitch = extractor(tmp_path, *only).compute(samples).T.astype(np.float64)
    np.testing.assert_allclose(1.0001 - (voicing / 2 + 1) ** (1 / 0.15), np.minimum(correlation, 1), atol=1e-5)
    np.testing.assert_allclose(np.exp(log_pitch), pitch, rtol=1e-5)


@pytest.fixture
def noise():
    return (np.random.default_rng(0).normal(size=8000) * 1000).astype(np.float32)


def test_pasted_behind_plp(tmp_path, noise):
    base = FeatureExtractor("plp", conf(tmp_path, "plp.conf", "--sample-frequency=8000", "--allow-downsample=true"))
    pitch = extractor(tmp_path)
    both = WithPitch(base, pitch)
    assert (both.dim, both.rate) == (16, 8000)
    found = both.compute(noise, 8000, "u")
    np.testing.assert_array_equal(found, np.hstack([base.compute(noise, 8000, "u"), pitch.compute(noise)]))
    assert both.compute(noise[:100], 8000, "u").shape == (0, 16)
    assert both.compute(np.zeros(8000, np.float32), 8000, "u").shape == (98, 16)
    assert both.compute(np.repeat(noise, 2), 16000, "u").shape == (98, 16)  # resampled once for both
    longer = extractor(tmp_path, first=("--frame-shift=5",))
    with pytest.raises(PymavgError, match=r"u: 98 frames of .*plp.conf and 19\d of pitch; give both the same"):
        WithPitch(base, longer).compute(noise, 8000, "u")
    with pytest.raises(PymavgError, match="says --sample-frequency 8000, the conf of pitch 16000"):
        WithPitch(base, PitchExtractor())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--min-f0=500", r"pitch.conf: 1 <= --min-f0 < --max-f0"),
        ("--sample-frequency=2000", "--resample-frequency of at most"),
        ("--resample-frequency=1500", "--lowpass-cutoff below half"),
        ("--delta-pitch=1e-9", "--delta-pitch from 0.0001"),
        ("--frame-shift=0.01", "--frame-shift from 1"),
        ("--nccf-ballast=-1", "--nccf-ballast"),
        ("--max-f=300", r"pitch.conf:2: option --max-f is unknown .*did you mean max-f0"),
        ("--snip-edges=no", "pitch.conf:2: --snip-edges needs true or false"),
    ],
)
def test_bad_configurations(tmp_path, line, message):
    with pytest.raises(PymavgError, match=message):
        extractor(tmp_path, first=(line,))


@pytest.mark.parametrize(
    "lines, message",
    [
        (["--delta-window=0"], "process.conf: --delta-window above 0"),
        (["--delay=-1"], "process.conf: no negative"),
        ([f"--add-{n}=false" for n in ("pov-feature", "normalized-log-pitch", "delta-pitch")], "one of --add-pov"),
    ],
)
def test_bad_processing(tmp_path, lines, message):
    with pytest.raises(PymavgError, match=message):
        extractor(tmp_path, *lines)
