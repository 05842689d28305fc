import time

import numpy as np
import pytest
from scipy.linalg import toeplitz

from pymavg.data.audio import WavScp
from pymavg.data.features import FeatureExtractor
from pymavg.data.plp import cepstrum, durbin, inverse_dft
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import read_matrices

GOLDEN = {
    "mfcc": ("mfcc", "--low-freq=20", "--high-freq=3700", "--use-energy=false"),
    "mfcc_default": ("mfcc",),
    "mfcc_hires": (
        "mfcc",
        "--num-mel-bins=40",
        "--num-ceps=40",
        "--use-energy=false",
        "--low-freq=40",
        "--high-freq=-200",
    ),
    "mfcc_nosnip": ("mfcc", "--snip-edges=false", "--use-energy=false"),
    "mfcc_htk": ("mfcc", "--use-energy=false", "--window-type=hamming", "--htk-compat=true"),
    "plp": ("plp",),
    "fbank40": ("fbank", "--num-mel-bins=40"),
    "fbank40_energy": (
        "fbank",
        "--num-mel-bins=40",
        "--use-energy=true",
        "--low-freq=64",
        "--high-freq=3800",
        "--window-type=hamming",
    ),
}
UTTERANCES = [f"{speaker}-test-00{i}" for speaker in ("george", "jackson", "theo") for i in (0, 1)]


def extractor(tmp_path, kind, *lines):
    conf = tmp_path / f"{kind}.conf"
    conf.write_text("".join(f"{line}\n" for line in ("--sample-frequency=8000  # telephone", "", *lines)))
    return FeatureExtractor(kind, conf)


@pytest.mark.parametrize("utterance", UTTERANCES)
@pytest.mark.parametrize("name", GOLDEN)
def test_features_are_kaldis(golden, tmp_path, name, utterance):
    wav = golden(f"feats/wav/{utterance}.wav")
    wanted = dict(read_matrices(golden(f"feats/{name}.ark")))[utterance]
    (tmp_path / "wav.scp").write_text(f"{utterance} {wav}\n")
    computed = extractor(tmp_path, *GOLDEN[name])
    found = computed.compute(*WavScp(tmp_path / "wav.scp")[utterance], utterance)
    assert found.dtype == np.float32 and found.shape == wanted.shape == (len(wanted), computed.dim)
    difference = np.abs(found - wanted)
    assert difference.max() < 2e-3
    assert difference.mean() < 1e-4


@pytest.fixture
def noise():
    return (np.random.default_rng(0).normal(size=8000) * 1000).astype(np.float32)


def test_defaults_are_kaldis(noise):
    mfcc = FeatureExtractor("mfcc")
    assert (mfcc.rate, mfcc.dim, mfcc.frame_shift) == (16000, 13, 0.01)
    assert FeatureExtractor("fbank").dim == 23
    assert mfcc.compute(noise, 16000, "u").shape == (48, 13)


def test_options_of_the_program(tmp_path, noise):
    plain = extractor(tmp_path, "fbank").compute(noise, 8000, "u")
    centred = extractor(tmp_path, "fbank", "--subtract-mean=true").compute(noise, 8000, "u")
    np.testing.assert_allclose(centred, plain - plain.mean(axis=0), atol=1e-5)
    assert extractor(tmp_path, "fbank", "--min-duration=1.5").compute(noise, 8000, "u").shape == (0, 23)
    linear = extractor(tmp_path, "fbank", "--use-log-fbank=false").compute(noise, 8000, "u")
    np.testing.assert_allclose(np.log(linear), plain, rtol=1e-4)


def test_dither_depends_on_the_utterance_alone(tmp_path, noise):
    dithered = extractor(tmp_path, "mfcc", "--dither=1")
    first = dithered.compute(noise, 8000, "u1")
    np.testing.assert_array_equal(first, dithered.compute(noise, 8000, "u1"))
    assert np.abs(first - dithered.compute(noise, 8000, "u2")).max() > 0
    assert np.abs(first - extractor(tmp_path, "mfcc").compute(noise, 8000, "u1")).max() < 1


def test_sample_rate(tmp_path, noise):
    refusing = extractor(tmp_path, "fbank")
    message = r"rec1 \(x.wav\): 16000 Hz, .*fbank.conf says 8000; set --allow-downsample true or correct the conf"
    with pytest.raises(PymavgError, match=message):
        refusing.compute(noise, 16000, "rec1 (x.wav)")
    with pytest.raises(PymavgError, match="--allow-upsample"):
        refusing.compute(noise, 4000, "rec1")
    assert extractor(tmp_path, "fbank", "--allow-downsample=true").compute(noise, 16000, "u").shape == (48, 23)
    assert extractor(tmp_path, "fbank", "--allow-upsample=true").compute(noise, 4000, "u").shape == (198, 23)


@pytest.mark.parametrize("samples", [0, 120, 199])
def test_too_short_gives_no_frames(tmp_path, samples):
    assert extractor(tmp_path, "mfcc").compute(np.ones(samples, np.float32), 8000, "u").shape == (0, 13)


def test_silence_is_finite(tmp_path):
    for kind in ("mfcc", "fbank", "plp", "spectrogram"):
        assert np.isfinite(extractor(tmp_path, kind).compute(np.zeros(8000, np.float32), 8000, "u")).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--num-mel-bin=23",
            r"mfcc.conf:3: option --num-mel-bin is unknown or not supported; did you mean num-mel-bins\?",
        ),
        ("--vtln-map=ark:x", "mfcc.conf:3: option --vtln-map"),
        ("--use-power=true", "option --use-power"),  # of fbank
        ("--num-ceps=many", "mfcc.conf:3: --num-ceps needs a whole number, got 'many'"),
        ("--use-energy=yes", "needs true or false"),
        ("--num-ceps", "'--name=value' expected, found '--num-ceps'"),
        ("num-ceps=13", "'--name=value' expected"),
        ("--num-ceps=24", "--num-ceps from 1 to --num-mel-bins"),
        ("--window-type=kaiser", "--window-type povey"),
        ("--high-freq=5000", "--high-freq <= 4000"),
        ("--low-freq=3999.5\n--high-freq=100", "--low-freq < --high-freq"),
        ("--frame-shift=0", "--frame-shift"),
        ("--frame-length=-1", "--frame-length"),
        ("--num-mel-bins=0", "--num-mel-bins from 3"),
    ],
)
def test_bad_configurations(tmp_path, line, message):
    with pytest.raises(PymavgError, match=message):
        extractor(tmp_path, "mfcc", line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--num-ceps=14", "--num-ceps from 1 to --lpc-order \\+ 1"),
        ("--lpc-order=24", "--lpc-order from 1 to --num-mel-bins"),
        ("--lpc-order=0", "--lpc-order from 1"),
        ("--lpc-oder=12", "did you mean lpc-order"),
    ],
)
def test_bad_configurations_of_plp(tmp_path, line, message):
    with pytest.raises(PymavgError, match=message):
        extractor(tmp_path, "plp", line)


def test_plp_options(tmp_path, noise):
    plain = extractor(tmp_path, "plp").compute(noise, 8000, "u")
    assert plain.shape == (98, 13)
    last = extractor(tmp_path, "plp", "--htk-compat=true").compute(noise, 8000, "u")
    np.testing.assert_array_equal(last, np.roll(plain, -1, axis=1))  # the energy comes last
    zeroth = extractor(tmp_path, "plp", "--use-energy=false").compute(noise, 8000, "u")
    np.testing.assert_array_equal(zeroth[:, 1:], plain[:, 1:])
    assert np.abs(zeroth[:, 0] - plain[:, 0]).min() > 1
    less = extractor(tmp_path, "plp", "--num-ceps=5", "--cepstral-scale=0.5", "--cepstral-lifter=0")
    assert less.compute(noise, 8000, "u").shape == (98, 5)


def test_durbin_solves_the_normal_equations():
    random = np.random.default_rng(0)
    power = np.exp(random.normal(size=(4, 25)))
    r = power @ inverse_dft(12, 25).T
    a, energy = durbin(r)
    for t in range(4):
        np.testing.assert_allclose(toeplitz(r[t, :12]) @ a[t], -r[t, 1:], rtol=1e-9)
        np.testing.assert_allclose(energy[t], r[t, 0] + a[t] @ r[t, 1:], rtol=1e-9)
    c = cepstrum(a)
    spectrum = 1 / np.abs(np.fft.rfft(np.concatenate([np.ones((4, 1)), a], axis=1), 4096)) ** 2
    np.testing.assert_allclose(np.fft.irfft(np.log(spectrum))[:, 1:13], c, atol=1e-8)


def test_other_kinds():
    with pytest.raises(PymavgError, match="mfcc or fbank or plp or spectrogram expected"):
        FeatureExtractor("plp2")


def test_speed(tmp_path, noise):
    samples = np.tile(noise, 10)
    for kind in ("mfcc", "fbank", "plp"):
        computed = extractor(tmp_path, kind, "--num-mel-bins=40")
        best = min(timed(lambda e=computed: e.compute(samples, 8000, "u")) for _ in range(5))
        assert 10 / best > 150  # times real time; 600 to 1000 on an idle machine


def timed(call):
    start = time.process_time()
    call()
    return time.process_time() - start
