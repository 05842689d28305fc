"""Audio files transcribed by Kaldi's own models (golden/gmm, golden/graph)."""

import json
import shutil

import numpy as np
import pytest
import soundfile

from pymavg.cli import main
from pymavg.data.pitch import PitchExtractor
from pymavg.decoding.transcribe import find_extractor, find_graph, pieces, without_digital_silence
from pymavg.errors import PymavgError

MFCC = "--use-energy=false\n--sample-frequency=8000\n--low-freq=20\n--high-freq=3700\n"
SPOKEN = ("seven", "three", "one")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("transcribe")


@pytest.fixture
def system(shared, directory):
    """exp with a monophone GMM of Kaldi's, its graph, and a conf file that tells the features."""
    gmm, fst, exp = shared("golden/gmm"), shared("golden/graph/fst"), directory / "exp" / "mono"
    if not exp.exists():
        (exp / "conf").mkdir(parents=True)
        for name in ("final.mdl", "tree", "cmvn_opts"):
            shutil.copy(gmm / "mono" / name, exp)
        (exp / "conf/mfcc.conf").write_text(MFCC)
        shutil.copytree(gmm / "lang/phones", exp / "graph/phones")
        for name in ("words.txt", "phones.txt"):
            shutil.copy(fst / name, exp / "graph")
        shutil.copy(fst / "HCLG_mono.fst", exp / "graph/HCLG.fst")
    return exp


@pytest.fixture
def speech(shared, directory):
    """Digits of one speaker, with half a second of low noise around each: (samples, rate)."""
    folder = shared("data/fsdd")
    rng = np.random.default_rng(0)
    parts = []
    for word in SPOKEN:
        samples, rate = soundfile.read(first_take(folder, "george", word))
        begin, end = times(folder, "george", word)
        parts += [rng.normal(size=rate // 2) * 1e-3, samples[int(begin * rate) : int(end * rate)]]
    return np.concatenate([*parts, rng.normal(size=rate // 2) * 1e-3]), rate


def segments(folder, speaker, word):
    text = dict(line.split(None, 1) for line in (folder / "text").read_text().splitlines())
    for line in (folder / "segments").read_text().splitlines():
        utterance, recording, begin, end = line.split()
        if utterance.startswith(speaker) and text[utterance] == word and utterance.endswith(("-10", "_10")):
            yield recording, float(begin), float(end)


def first_take(folder, speaker, word):
    recording = next(segments(folder, speaker, word))[0]
    return next(path for path in folder.rglob("*.flac") if path.stem == recording)


def times(folder, speaker, word):
    return next(segments(folder, speaker, word))[1:]


def test_words_times_and_confidences(system, speech, directory, capsys):
    soundfile.write(directory / "a.wav", *speech)
    soundfile.write(directory / "b.flac", *speech)
    assert main(["transcribe", str(system), str(directory / "a.wav"), str(directory / "b.flac")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["a"] * 3 + ["b"] * 3
    assert [line[4] for line in lines] == list(SPOKEN) * 2
    assert [float(x) for line in lines[:3] for x in line[2:4]] == [float(x) for line in lines[3:] for x in line[2:4]]
    starts = [float(line[2]) for line in lines[:3]]
    assert 0.3 < starts[0] < 0.7 and starts == sorted(starts)
    assert all(0.5 < float(line[5]) <= 1 for line in lines)


def test_channels_rates_and_forms(system, speech, directory, capsys):
    samples, rate = speech
    twice = np.repeat(samples, 2)  # 16 kHz, by repeating: resampled to what the model wants
    soundfile.write(directory / "two.wav", np.stack([twice, twice], axis=1), 2 * rate)
    assert main(["transcribe", "--form", "json", str(system), str(directory / "two.wav")]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["channel"], second["channel"]) == (1, 2)
    assert [w["word"] for w in first["words"]] == [w["word"] for w in second["words"]] == list(SPOKEN)


def test_words_between_exact_zeros_are_the_same(system, speech, directory, capsys):
    samples, rate = speech
    gap = np.zeros(round(0.3 * rate))
    soundfile.write(directory / "gated.wav", np.concatenate([gap, samples, gap]), rate)
    assert main(["transcribe", str(system), str(directory / "gated.wav")]) == 0
    told = capsys.readouterr()
    assert [line.split()[4] for line in told.out.splitlines()] == list(SPOKEN)
    assert "gated.wav: 14 % is digital silence, filled with noise from a quiet place" in told.err


def test_only_digital_silence_is_filled(capsys):
    rate = 8000
    samples = np.random.default_rng(0).normal(size=2 * rate).astype(np.float32)
    samples[: rate // 2] *= 0.01
    assert without_digital_silence(samples, rate, "x") is samples and capsys.readouterr().err == ""
    gated = samples.copy()
    gated[rate : rate + 1234] = 0.25  # whole parts of 80 samples are constant: 15 of them
    filled = without_digital_silence(gated, rate, "x")
    assert "x: 8 % is digital silence" in capsys.readouterr().err
    changed = np.flatnonzero(filled != gated)
    assert (changed[0], changed[-1]) == (rate, rate + 1199) and 0.008 < filled[rate : rate + 1200].std() < 0.012
    for nothing in (np.zeros(rate, np.float32), np.zeros(40, np.float32), samples[:5]):
        assert without_digital_silence(nothing, rate, "x") is nothing


def test_mistakes_are_told(system, directory, capsys, tmp_path):
    assert main(["transcribe", str(system), str(tmp_path / "none.wav")]) == 1
    assert "none.wav: no such file" in capsys.readouterr().err
    (tmp_path / "x.wav").write_bytes(b"RIFF")
    assert main(["transcribe", str(system), str(tmp_path / "x.wav")]) == 1
    assert "x.wav" in capsys.readouterr().err
    assert main(["transcribe", str(tmp_path), str(tmp_path / "x.wav")]) == 1
    assert "give --type" in capsys.readouterr().err


def test_pitch_is_appended_as_in_training(directory, speech, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/plp.conf").write_text("--sample-frequency=8000\n")
    (tmp_path / "conf/pitch.conf").write_text("--sample-frequency=8000\n")
    samples, rate = speech
    feats = {}
    for name in ("default", "process"):
        extractor = find_extractor(tmp_path)
        feats[name] = extractor.compute(np.float32(samples * 32768), rate, "u")
        (tmp_path / "conf/pitch_process.conf").write_text("--add-raw-log-pitch=true\n")
    assert feats["default"].shape[1] == 13 + 3 and feats["process"].shape[1] == 13 + 4
    alone = PitchExtractor(tmp_path / "conf/pitch.conf").compute(np.float32(samples * 32768))
    np.testing.assert_array_equal(feats["default"][:, 13:], alone[: len(feats["default"])])
    twice = extractor.compute(np.float32(np.repeat(samples, 2) * 32768), 2 * rate, "u")  # resampled
    assert abs(len(twice) - len(feats["default"])) <= 1


@pytest.mark.parametrize(("name", "said"), [("conf/fmllr.conf", "make_fmllr_feats.sh"), ("final.alimdl", "train_sat")])
def test_adapted_systems_are_refused(directory, capsys, tmp_path, name, said):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/mfcc.conf").write_text(MFCC)
    (tmp_path / name).touch()
    assert main(["transcribe", str(tmp_path), "a.wav"]) == 1
    message = capsys.readouterr().err
    assert said in message and "fMLLR" in message and message.count("\n") == 1


def test_the_graph_of_a_system_with_the_same_tree_is_found(system, tmp_path):
    for name in ("tri1", "dnn", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tree").write_text("another" if name == "other" else "one")
    for name in ("tri1", "other"):
        (tmp_path / name / "graph_tg").mkdir()
        (tmp_path / name / "graph_tg/HCLG.fst").touch()
    assert find_graph(tmp_path / "dnn") == tmp_path / "tri1/graph_tg"
    (tmp_path / "dnn/graph").mkdir()
    (tmp_path / "dnn/graph/HCLG.fst").touch()
    with pytest.raises(PymavgError, match="give --graph DIR"):
        find_graph(tmp_path / "dnn")


def test_long_recordings_are_cut_where_it_is_quiet():
    rate = 1000
    samples = np.random.default_rng(0).normal(size=100 * rate).astype(np.float32)
    quiet = [25, 47, 70]
    for second in quiet:
        samples[second * rate - 200 : second * rate + 200] = 0
    bounds = pieces(samples, rate)
    assert bounds[0][0] == 0 and bounds[-1][1] == len(samples)
    assert all(a[1] == b[0] for a, b in zip(bounds, bounds[1:], strict=False))
    assert all(b - a <= 30 * rate for a, b in bounds)
    assert [round(b / rate) for _, b in bounds[:3]] == quiet
