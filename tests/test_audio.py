import io
import stat
import struct

import numpy as np
import pytest
import soundfile

from pymavg.data.audio import Utterances, WavScp, resample
from pymavg.data.commands import stand_in
from pymavg.data.containers import decode
from pymavg.data.segments import read_segments
from pymavg.errors import PymavgError

RATE = 8000


@pytest.fixture
def samples():
    return (np.random.default_rng(0).normal(size=2 * RATE) * 3000).astype(np.int16)


@pytest.fixture
def here(tmp_path, monkeypatch, samples):
    """Make a directory with audio files the current one, with an empty PATH but for the system's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    stereo = np.stack([samples, -samples], axis=1)
    soundfile.write("a.wav", samples, RATE, subtype="PCM_16")
    soundfile.write("a.flac", samples, RATE)
    soundfile.write("a.sph", samples, RATE, format="NIST", subtype="PCM_16")
    soundfile.write("two.sph", stereo, RATE, format="NIST", subtype="ULAW")
    soundfile.write("two.wav", stereo, RATE, subtype="PCM_16")
    soundfile.write("float.wav", samples / np.float32(32768), RATE, subtype="FLOAT")
    soundfile.write("ext.wav", samples, RATE, format="WAVEX", subtype="PCM_16")
    return tmp_path


def recording(text, **options):
    with open("wav.scp", "w") as stream:
        stream.write(f"rec {text}\n")
    return WavScp("wav.scp", **options)["rec"]


@pytest.mark.parametrize(
    "text",
    [
        "a.wav",
        "a.flac",
        "a.sph",
        "ext.wav",
        "float.wav",
        "cat a.wav |",
        "flac -c -d -s a.flac |",
        "sph2pipe -f wav a.sph |",
    ],
)
def test_every_form(here, samples, text):
    found, rate = recording(text)
    assert rate == RATE and found.dtype == np.float32
    np.testing.assert_array_equal(found, samples)


def test_channels(here, samples):
    mulaw = soundfile.read("two.sph", dtype="int16")[0]
    for channel in (0, 1):
        for text in (
            f"sph2pipe -f wav -p -c {channel + 1} two.sph |",
            f"/x/sph2pipe -c {channel + 1} -f wav two.sph |",
        ):
            np.testing.assert_array_equal(recording(text)[0], mulaw[:, channel])
        np.testing.assert_array_equal(recording("two.sph", channel=channel)[0], mulaw[:, channel])
    np.testing.assert_array_equal(recording("two.wav", channel=1)[0], -samples)
    with pytest.raises(PymavgError, match=r"wav.scp:1: rec: has 2 channels; choose one: 'sph2pipe"):
        recording("two.sph")
    with pytest.raises(PymavgError, match="channel 2 "):
        recording("two.wav", channel=2)


def test_an_installed_sph2pipe_is_run(here, monkeypatch):
    program = here / "sph2pipe"
    program.write_text("#!/bin/sh\ncat a.wav\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    assert stand_in("sph2pipe -f wav -p -c 1 nothing.sph") is None
    assert len(recording("sph2pipe -f wav -p -c 1 nothing.sph |")[0]) == 2 * RATE


def test_commands_that_stand_for_a_file(here):
    assert stand_in("sph2pipe -f wav -p -c 2 'a b.sph'") == ("a b.sph", 1)
    assert stand_in("flac -cds a.flac") == ("a.flac", None)
    assert stand_in("sox a.wav -t wav -") is None
    assert stand_in("sph2pipe -f wav a.sph | sox -") is None
    for command in ("sph2pipe -f raw a.sph", "sph2pipe -t 0:1 -f wav a.sph", "sph2pipe -c 3 a.sph", "flac -d a b"):
        with pytest.raises(PymavgError, match="is not installed"):
            stand_in(command)


def test_wav_files_in_an_archive(here, samples):
    data = (here / "a.wav").read_bytes()
    (here / "wav.ark").write_bytes(b"x " + data + b"y " + data)
    np.testing.assert_array_equal(recording(f"wav.ark:{len(data) + 4}")[0], samples)
    np.testing.assert_array_equal(recording("wav.ark:2")[0], samples)


@pytest.mark.parametrize("size", [0, 0x7FFFFFFF, 0x7FFFFFFF - 36, 0xFFFFFFFF])
def test_sizes_written_into_a_pipe(here, samples, size):
    data = bytearray((here / "a.wav").read_bytes())
    data[40:44] = struct.pack("<I", size)
    (here / "pipe.wav").write_bytes(data)
    np.testing.assert_array_equal(recording("cat pipe.wav |")[0], samples)


@pytest.mark.parametrize("name", ["a.wav", "a.sph", "two.sph", "ext.wav", "a.flac"])
def test_a_cut_file_is_refused(here, name):
    data = (here / name).read_bytes()
    (here / "cut").write_bytes(data[: len(data) - 1000])
    with pytest.raises(PymavgError, match=r"wav.scp:1: rec: cut: "):
        recording("cut")
    (here / "cut").write_bytes(data[:30])
    with pytest.raises(PymavgError, match=r"wav.scp:1: rec: cut: "):
        recording("cut")


def test_what_cannot_be_read_is_named(here):
    header = b"NIST_1A\n   1024\nsample_count -i 99\nsample_coding -s26 pcm,embedded-shorten-v2.00\nend_head\n"
    (here / "s.sph").write_bytes(header.ljust(1024) + bytes(200))
    for text, message in (
        ("s.sph", "embedded-shorten-v2.00' compression is not supported; .*sph2pipe"),
        ("none.wav", "none.wav: no such file"),
        ("cat none.wav |", "cat none.wav.* status 1"),
        ("true |", "is empty"),
        ("wav.scp", "not an audio file"),
    ):
        with pytest.raises(PymavgError, match=r"wav.scp:1: rec: .*" + message):
            recording(text)
    soundfile.write("empty.wav", np.zeros(0, np.int16), RATE)
    with pytest.raises(PymavgError, match="no samples"):
        recording("empty.wav")
    with pytest.raises(PymavgError, match="has no recording 'other'"):
        WavScp("wav.scp").read("other")


def test_real_sphere_files(shared):
    for path in sorted(shared("data/interop/sphere").rglob("*.sph")):
        data = path.read_bytes()
        fields = dict(line.split(b" ")[::2] for line in data[16:1024].split(b"\n") if line.count(b" ") == 2)
        samples, rate = decode(data, str(path))
        wanted, _ = soundfile.read(path, dtype="int16", always_2d=True)
        np.testing.assert_array_equal(samples, wanted)
        samples = samples[:, 0]
        assert rate == int(fields[b"sample_rate"])
        order = ">i2" if fields[b"sample_byte_format"] == b"10" else "<i2"
        raw = np.frombuffer(data[1024 : 1024 + 2 * len(samples)], order)
        assert len(samples) == int(fields[b"sample_count"])
        np.testing.assert_array_equal(samples, raw)


def segments(*lines):
    with open("segments", "w") as stream:
        stream.write("\n".join(lines) + "\n")
    return Utterances(".")


def test_segments(here, samples, capsys):
    recording("a.wav")
    source = segments("u1 rec 0.5 1.25", "u2 rec 1 -1", "u3 rec 1.5 2.4")
    assert source.ids == ["u1", "u2", "u3"]
    np.testing.assert_array_equal(source.read("u1")[0], samples[4000:10000])
    np.testing.assert_array_equal(source.read("u2")[0], samples[8000:])
    np.testing.assert_array_equal(source.read("u3")[0], samples[12000:])
    source.report()
    assert "1 segments reached" in capsys.readouterr().err
    for line, message in (
        ("u1 rec 1.0 2.6", "segments:1: u1 is 1.0 to 2.6 s, its recording rec lasts 2.00 s"),
        ("u1 rec 2.0 -1", "u1 is 2.0 to 2.0 s"),
        ("u1 other 0 1", "no recording 'other'"),
    ):
        with pytest.raises(PymavgError, match=message):
            segments(line).read("u1")


def test_channel_of_a_segment(here, samples):
    (here / "wav.scp").write_text("rec two.wav\n")
    np.testing.assert_array_equal(segments("u1 rec 0 1 1").read("u1")[0], -samples[:8000])


@pytest.mark.parametrize(
    "line", ["u rec 1 1", "u rec 2 1", "u rec -1 1", "u rec 1", "u rec a b", "u rec 0 1 0 0", "", "u rec nan 1"]
)
def test_bad_segments(tmp_path, line):
    (tmp_path / "segments").write_text(f"ok rec 0 1\n{line}\n")
    with pytest.raises(PymavgError, match="segments:2: "):
        read_segments(tmp_path / "segments")


def test_segments_twice(tmp_path):
    (tmp_path / "segments").write_text("u rec 0 1\nu rec 1 2\n")
    with pytest.raises(PymavgError, match=r"segments:2: utterance u was at .*segments:1 already"):
        read_segments(tmp_path / "segments")


def test_resampling_keeps_a_tone():
    t = np.arange(16000) / 16000
    tone = (1000 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)
    out = resample(tone, 16000, 8000)
    wanted = 1000 * np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    assert out.dtype == np.float32 and len(out) == 8000
    assert np.abs(out - wanted)[100:-100].max() < 5
    high = (1000 * np.sin(2 * np.pi * 6000 * t)).astype(np.float32)
    assert np.abs(resample(high, 16000, 8000))[100:-100].max() < 20  # no alias


def test_float_file_in_memory():
    stream = io.BytesIO()
    soundfile.write(stream, np.array([0.5, np.nan]), RATE, format="WAV", subtype="FLOAT")
    with pytest.raises(PymavgError, match="not finite"):
        decode(stream.getvalue(), "x.wav")
