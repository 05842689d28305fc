"""Data directories: cases 1 to 7 of a hostile world."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pymavg.data.combine import combine, copy
from pymavg.data.datadir import DataDir, write_tables
from pymavg.data.fix import fix
from pymavg.data.split import choose, contiguous_parts, divide, split, subset
from pymavg.data.validate import validate
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixWriter

UTILS = Path(__file__).parents[1] / "utils"
BARE = {"need_feats": False, "need_wav": False}


def write(path, **files):
    """Write files of a data directory from their lines; `_scp` in a name stands for `.scp`."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("_scp", ".scp")).write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture
def small(tmp_path):
    """Three speakers, two recordings of two channels, seven utterances."""
    utts = ["sw1-A_1", "sw1-A_2", "sw1-A_3", "sw1-B_1", "sw1-B_2", "sw2-A_1", "sw2-A_2"]
    return write(
        tmp_path / "small",
        utt2spk="".join(f"{u} {u[:5]}\n" for u in utts),
        spk2utt="sw1-A sw1-A_1 sw1-A_2 sw1-A_3\nsw1-B sw1-B_1 sw1-B_2\nsw2-A sw2-A_1 sw2-A_2\n",
        text="".join(f"{u} hello number {i}\n" for i, u in enumerate(utts)),
        segments="".join(f"{u} {u[:5]} {i}.0 {i}.5\n" for i, u in enumerate(utts)),
        wav_scp="sw1-A a.wav\nsw1-B b.wav\nsw2-A c.wav\n",
        reco2file_and_channel="sw1-A sw1 A\nsw1-B sw1 B\nsw2-A sw2 A\n",
        reco2dur="sw1-A 3.0\nsw1-B 5.0\nsw2-A 7.0\n",
    )


def error_of(call, *arguments, **options):
    with pytest.raises(PymavgError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def run(script, *arguments, **options):
    """Run a script of utils/; its exit status is left to the caller."""
    return subprocess.run([UTILS / script, *map(str, arguments)], capture_output=True, text=True, **options)


def content(path):
    return {file.name: file.read_bytes() for file in path.iterdir() if file.is_file() and file.name[0] != "."}


def test_what_is_no_number_is_named(small):
    (small / "reco2dur").write_text("sw1-A 3.0\nsw1-B oops\nsw2-A 7.0\n")
    expected = f"{small}/reco2dur:2: 'sw1-B oops': a number expected, found 'oops'"
    assert expected in error_of(validate, small, need_feats=False)
    assert expected in error_of(fix, small)


def test_a_byte_order_mark_is_named_and_removed(small):
    for name in ("text", "utt2spk"):
        (small / name).write_text("\ufeff" + (small / name).read_text(), encoding="utf-8")
    told = error_of(validate, small, need_feats=False)
    assert all(f"{small}/{name}:1: begins with U+FEFF" in told for name in ("text", "utt2spk"))
    fix(small, fix_text=True)
    validate(small, need_feats=False)


def test_text_in_another_encoding_is_named_with_its_line(small):
    (small / "text").write_bytes((small / "text").read_bytes().replace(b"number 2", b"caf\xe9"))
    assert f"{small}/text:3: not UTF-8 text (byte 0xe9)" in error_of(validate, small, need_feats=False)


def test_reads_all_tables(small):
    data = DataDir(small)
    assert len(data.utts) == 7
    assert data.spk2utt["sw1-B"] == ["sw1-B_1", "sw1-B_2"]
    assert data.text["sw1-A_2"] == "hello number 1"
    assert (data.segments["sw2-A_1"].start, data.segments["sw2-A_1"].end) == (5.0, 5.5)
    assert data.conversation("sw1-B_2") == "sw1"
    assert data.reco2dur == {"sw1-A": 3.0, "sw1-B": 5.0, "sw2-A": 7.0}


def test_valid_directory_passes(small, capsys):
    validate(small, need_feats=False)
    assert capsys.readouterr().err == ""


# --- 1: sort order


def test_wrong_order_is_named_and_mended(tmp_path):
    data = write(
        tmp_path / "train",
        utt2spk="sw02001_A_1 sw02001_A\nsw02001-A_2 sw02001-A\nsw02001-B_1 sw02001-B\n",
        text="sw02001_A_1 x\nsw02001-A_2 x\nsw02001-B_1 x\n",
    )
    message = error_of(validate, data, **BARE)
    told = "'sw02001-A_2' must come before 'sw02001_A_1' (line 1) in C order; run utils/fix_data_dir.sh"
    assert f"{data}/utt2spk:2: {told} {data}" in message
    env = dict(os.environ, LC_ALL="en_US.UTF-8", LANG="de_DE.UTF-8")
    assert run("fix_data_dir.sh", data, env=env).returncode == 0
    lines = (data / "utt2spk").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["sw02001-A_2", "sw02001-B_1", "sw02001_A_1"]
    validate(data, **BARE)


def test_fixing_twice_changes_nothing_not_even_the_times(small):
    fix(small)
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in small.iterdir() if file.is_file()}
    fix(small)
    assert before == {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in small.iterdir() if file.is_file()}


# --- 2: columns, empty lines, keys that come twice


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("utt2spk", "utt1 spk1\nutt2 spk1 extra\n", "utt2spk:2: 'utt2 spk1 extra': 3 columns found, 2 expected"),
        ("wav.scp", "utt1 a.wav\n\nutt2 b.wav\n", "wav.scp:2: the line is empty"),
        ("wav.scp", "utt1 a.wav\nutt2\n", "wav.scp:2: 'utt2': 1 columns found, 2 or more expected"),
        ("text", "utt1 x\nutt1 y\nutt2 z\n", "text:2: 'utt1 y': the key 'utt1' is on line 1 already as 'utt1 x'"),
        ("segments", "utt1 utt1 0\nutt2 utt2 0 1\n", "segments:1: 'utt1 utt1 0': 3 columns found, 4 or more expected"),
    ],
)
def test_malformed_lines_are_quoted(tmp_path, name, text, expected):
    data = write(tmp_path, utt2spk="utt1 spk1\nutt2 spk1\n", spk2utt="spk1 utt1 utt2\n", text="utt1 a\nutt2 b\n")
    write(tmp_path, **{"wav_scp": "utt1 a.wav\nutt2 b.wav\n"})
    (tmp_path / name).write_text(text)
    assert f"{data}/{expected}" in error_of(validate, data, need_feats=False)


def test_what_only_the_user_can_mend_leaves_all_as_it_was(small):
    (small / "utt2spk").write_text((small / "utt2spk").read_text().replace("sw1-A_2 sw1-A", "sw1-A_2 sw1-A x"))
    before = content(small)
    assert "utt2spk:2: 'sw1-A_2 sw1-A x': 3 columns found" in error_of(fix, small)
    assert content(small) == before


def test_the_command_fails_on_a_wrong_column(small):
    (small / "utt2spk").write_text("utt1 spk1\nutt2 spk1 extra\n")
    done = run("validate_data_dir.sh", "--no-feats", small)
    assert done.returncode == 1
    assert "utt2spk:2: 'utt2 spk1 extra'" in done.stderr


# --- 3: bad characters


@pytest.fixture
def dirty(tmp_path):
    utts = [f"utt{i:02d}" for i in range(1, 101)]
    text = [f"{utt} a word" for utt in utts]
    text[4] += "\r"
    text[8] = "utt09 no\u00a0break"
    text[10] = "utt11"
    return write(
        tmp_path / "dirty",
        utt2spk="".join(f"{utt} utt\n" for utt in sorted(utts)),
        spk2utt=f"utt {' '.join(sorted(utts))}\n",
        text="\n".join(sorted(text)) + "\n",
    )


def test_bad_characters_are_named_with_utterance_and_code_point(dirty):
    message = error_of(validate, dirty, **BARE)
    assert f"{dirty}/text:5: utt05: U+000D (CR) in the text; run utils/fix_data_dir.sh --fix-text {dirty}" in message
    assert f"{dirty}/text:9: utt09: U+00A0 (NO-BREAK SPACE)" in message
    assert "utt11: has no words" in message


def test_the_remedy_printed_works(dirty):
    assert run("fix_data_dir.sh", "--fix-text", dirty).returncode == 0
    validate(dirty, **BARE)
    text = DataDir(dirty).text
    assert text["utt05"] == "a word"
    assert text["utt09"] == "no break"
    assert "utt11" not in text
    assert len(text) == 99


def test_a_test_set_keeps_utterances_without_words(dirty):
    fix(dirty, fix_text=True, keep_empty_text=True)
    assert DataDir(dirty).text["utt11"] == ""
    validate(dirty, allow_empty_text=True, **BARE)


def test_joiners_of_indic_scripts_are_no_bad_characters(tmp_path):
    data = write(tmp_path, utt2spk="u s\n", spk2utt="s u\n", text="u ਪੰਜਾਬੀ\u200d ab\u200cc\n")
    validate(data, **BARE)


# --- 4: filter to nothing


def test_recordings_that_do_not_match_are_told_with_counts(small):
    (small / "segments").write_text((small / "segments").read_text().replace(" sw", " s"))
    before = content(small)
    message = error_of(fix, small)
    assert "no recording of segments (7 lines) is in wav.scp (3 lines); first of each: s1-A / sw1-A" in message
    assert content(small) == before


def test_a_large_loss_is_refused_unless_allowed(small):
    (small / "text").write_text("\n".join((small / "text").read_text().splitlines()[:6]) + "\n")
    before = content(small)
    message = error_of(fix, small)
    assert "would keep 6 of 7 utterances; first dropped: sw2-A_2" in message
    assert "--max-loss allows 0.05" in message
    assert content(small) == before
    fix(small, max_loss=0.2)
    assert DataDir(small).utts == [f"sw1-A_{i}" for i in (1, 2, 3)] + ["sw1-B_1", "sw1-B_2", "sw2-A_1"]
    assert (small / ".backup/utt2spk").read_bytes() == before["utt2spk"]
    validate(small, need_feats=False)


def test_a_full_disk_leaves_the_originals(small, monkeypatch):
    before = content(small)
    writer = Path.write_text

    def full(path, text, **options):
        if path.name.startswith(".text"):
            writer(path, text[:5], **options)
            raise OSError(28, "No space left on device")
        return writer(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    tables = {"utt2spk": {"a": "b"}, "text": {"a": "some words"}}
    assert "No space left on device" in error_of(write_tables, small, tables)
    assert content(small) == before
    assert not list(small.glob("*.tmp")) and not list(small.glob(".*.tmp"))


# --- 5: stale side files


def test_stale_side_files_are_named_and_remade(small, tmp_path):
    write(small, utt2dur="sw1-A_1 9.0\n", utt2num_frames="old 7\n", feats_scp="")
    rng = np.random.default_rng(0)
    with MatrixWriter(tmp_path / "f.ark", small / "feats.scp") as writer:
        for index, utt in enumerate(DataDir(small).utts):
            writer.write(utt, rng.standard_normal((10 + index, 3)).astype(np.float32))
    message = error_of(validate, small)
    assert "utt2dur: is not of the same set as utt2spk: 6 of 7 lacking (first: sw1-A_2)" in message
    assert "utt2num_frames: is not of the same set as utt2spk" in message
    fix(small)
    validate(small)
    data = DataDir(small)
    assert data.utt2num_frames["sw2-A_2"] == 16
    assert data.utt2dur == dict.fromkeys(data.utts, 0.5)


def test_durations_that_contradict_segments_are_remade(small):
    write(small, utt2dur="".join(f"{utt} 0.9\n" for utt in DataDir(small).utts))
    fix(small)
    assert set(DataDir(small).utt2dur.values()) == {0.5}


def test_split_is_remade_when_its_parent_changes(small, capsys):
    parts = split(small, 2)
    stamp = parts[0].stat().st_mtime_ns
    assert split(small, 2) == parts
    assert parts[0].stat().st_mtime_ns == stamp  # fresh: left as it is
    write(small, text=(small / "text").read_text().replace("hello", "goodbye"))
    validate(small, need_feats=False)
    assert "older than" in capsys.readouterr().err
    split(small, 2)
    assert DataDir(parts[0]).text["sw1-A_1"].startswith("goodbye")


def test_fix_removes_stale_splits(small):
    split(small, 2)
    write(small, text=(small / "text").read_text().replace("hello", "goodbye"))
    fix(small)
    assert not (small / "split2").exists()


# --- 6: more jobs than can be


def test_no_more_parts_than_speakers(small, capsys):
    parts = split(small, 8)
    assert [part.name for part in parts] == ["1", "2", "3"]
    assert parts[0].parent.name == "split3"
    assert "has 3 speakers: 3 jobs instead of 8" in capsys.readouterr().err
    assert sum((DataDir(part).utts for part in parts), []) == DataDir(small).utts
    for part in parts:
        validate(part, need_feats=False)


def test_split_by_utterance(small):
    done = run("split_data.sh", "--per-utt", small, "5", check=True)
    assert done.stdout == "5\n"
    assert sum(len(DataDir(small / "split5utt" / str(j)).utts) for j in range(1, 6)) == 7


@pytest.mark.parametrize("sizes", [[1] * 10, [50, 1, 1, 1], [1, 1, 1, 50], [1, 50, 1, 50, 1], [3, 3, 4, 2, 5, 1]])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_parts_are_contiguous_whole_and_never_empty(sizes, count):
    groups = [[f"{speaker}-{utt}" for utt in range(size)] for speaker, size in enumerate(sizes)]
    parts = contiguous_parts(groups, count)
    assert all(parts)
    assert sum(parts, []) == sum(groups, [])
    if max(sizes) * count <= sum(sizes):
        assert max(map(len, parts)) - min(map(len, parts)) <= max(sizes)


# --- 7: segments out of range


def test_segment_ends(small):
    segments = (small / "segments").read_text().splitlines()
    segments[2] = "sw1-A_3 sw1-A 2.0 3.2"  # the recording lasts 3.0 s
    segments[4] = "sw1-B_2 sw1-B 4.0 -1"
    write(small, segments="\n".join(segments) + "\n")
    validate(small, need_feats=False)
    fix(small)
    data = DataDir(small)
    assert data.segments["sw1-A_3"].end == 3.0
    assert data.segments["sw1-B_2"].end is None


@pytest.mark.parametrize("line", ["sw1-A_3 sw1-A 2.0 2.0", "sw1-A_3 sw1-A 2.0 1.0", "sw1-A_3 sw1-A -2.0 1.0"])
def test_segments_that_end_before_they_start_are_errors(small, line):
    segments = (small / "segments").read_text().splitlines()
    segments[2] = line
    write(small, segments="\n".join(segments) + "\n")
    for call in (validate, fix):
        assert f"{small}/segments:3: '{line}'" in error_of(
            call, small, **({"need_feats": False} if call is validate else {})
        )


def test_segments_far_beyond_the_end_are_named(small):
    write(small, segments=(small / "segments").read_text().replace("sw1-A 2.0 2.5", "sw1-A 2.0 3.6"))
    found = "segments:3: sw1-A_3: 2 to 3.6 s, but sw1-A lasts 3 s"
    assert found in error_of(validate, small, need_feats=False)
    fix(small, max_loss=0.2)
    assert "sw1-A_3" not in DataDir(small).utts


# --- subsets, unions, copies


def test_subsets(small, tmp_path):
    data = DataDir(small)
    assert choose(data, "first", 2) == ["sw1-A_1", "sw1-A_2"]
    assert choose(data, "last", 2) == ["sw2-A_1", "sw2-A_2"]
    assert len(choose(data, "spread", 3)) == 3
    assert len(choose(data, "per-spk", 1)) == 3
    chosen = choose(data, "speakers", 4)
    assert len(chosen) >= 4 and {data.utt2spk[u] for u in chosen} < set(data.spk2utt)
    assert "has 7 utterances, 9 wanted" in error_of(choose, data, "first", 9)
    write(small, utt2num_frames="".join(f"{utt} {90 - i}\n" for i, utt in enumerate(data.utts)))
    assert choose(DataDir(small), "shortest", 2) == ["sw2-A_2", "sw2-A_1"]
    subset(small, choose(data, "shortest", 1), tmp_path / "one")
    validate(tmp_path / "one", need_feats=False)
    assert set(DataDir(tmp_path / "one").wav) == {"sw2-A"}


def test_subset_by_lists_through_the_script(small, tmp_path):
    (tmp_path / "spk").write_text("sw1-B\nsw9-Z\n")
    done = run("subset_data_dir.sh", "--spk-list", tmp_path / "spk", small, tmp_path / "b")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 speakers have no utterances; first: sw9-Z" in done.stderr
    assert DataDir(tmp_path / "b").utts == ["sw1-B_1", "sw1-B_2"]
    (tmp_path / "utt").write_text("nobody\n")
    done = run("subset_data_dir.sh", "--utt-list", tmp_path / "utt", small, tmp_path / "c")
    assert done.returncode == 1
    assert "no utterance is left" in done.stderr and not (tmp_path / "c").exists()
    done = run("subset_data_dir.sh", small, "x", tmp_path / "c")
    assert done.returncode == 1 and "<num-utts> needs a whole number, got 'x'" in done.stderr


def make_many(path, num_conversations, sides="AB", per_side=5):
    recordings = [f"sw{c:03d}-{side}" for c in range(num_conversations) for side in sides]
    utts = [f"{reco}_{i}" for reco in recordings for i in range(per_side)]
    return write(
        path,
        utt2spk="".join(f"{u} {u[:-2]}\n" for u in utts),
        spk2utt="".join(f"{r} {' '.join(f'{r}_{i}' for i in range(per_side))}\n" for r in recordings),
        text="".join(f"{u} word\n" for u in utts),
        segments="".join(f"{u} {u[:-2]} {u[-1]}.0 {u[-1]}.5\n" for u in utts),
        wav_scp="".join(f"{r} {r}.wav\n" for r in recordings),
        reco2file_and_channel="".join(f"{r} {r[:-2]} {r[-1]}\n" for r in recordings),
    )


def test_cv_by_conversation(tmp_path, capsys):
    many = make_many(tmp_path / "many", 20)
    divide(many, tmp_path / "tr", tmp_path / "cv", 10, "conversation")
    train, cv = DataDir(tmp_path / "tr"), DataDir(tmp_path / "cv")
    assert len(cv.utts) == 20 and len(train.utts) == 180
    assert not {train.conversation(u) for u in train.utts} & {cv.conversation(u) for u in cv.utts}
    assert "instead" not in capsys.readouterr().err
    divide(many, tmp_path / "tr2", tmp_path / "cv2", 10, "conversation")
    assert DataDir(tmp_path / "cv2").utts == cv.utts  # the same seed, the same draw


def test_cv_by_speaker_falls_back_to_utterances_and_says_so(tmp_path, capsys):
    few = make_many(tmp_path / "few", 2, per_side=9)
    divide(few, tmp_path / "tr", tmp_path / "cv", 10, "speaker")
    told = capsys.readouterr().err
    assert "has 4 speakers, too few for a CV set of 10 %: divided by utterance instead" in told
    assert "of its speakers are in" in told
    assert len(DataDir(tmp_path / "cv").utts) == 4
    assert len(DataDir(tmp_path / "tr").utts) == 32


def test_combine(small, tmp_path):
    subset(small, ["sw1-A_1", "sw2-A_2"], tmp_path / "a")
    subset(small, ["sw1-B_1", "sw2-A_2"], tmp_path / "b")
    combine(tmp_path / "ab", [tmp_path / "a", tmp_path / "b"])
    validate(tmp_path / "ab", need_feats=False)
    assert DataDir(tmp_path / "ab").utts == ["sw1-A_1", "sw1-B_1", "sw2-A_2"]
    write(tmp_path / "b", text="sw1-B_1 x\nsw2-A_2 other words\n")
    message = error_of(combine, tmp_path / "bad", [tmp_path / "a", tmp_path / "b"])
    assert "text: sw2-A_2 is 'hello number 6' in" in message
    assert not (tmp_path / "bad").exists()


def test_combine_of_sources_that_share_a_speaker(small, tmp_path, capsys):
    for name, utt in ("a", "sw1-A_1"), ("b", "sw1-A_3"):
        subset(small, [utt, "sw2-A_2"], tmp_path / name)
        write(tmp_path / name, cmvn_scp=f"sw1-A {name}.ark:6\nsw2-A {name}.ark:60\n")
    combine(tmp_path / "ab", [tmp_path / "a", tmp_path / "b"])
    assert DataDir(tmp_path / "ab").spk2utt["sw1-A"] == ["sw1-A_1", "sw1-A_3"]
    assert not (tmp_path / "ab/cmvn.scp").exists()  # statistics of neither part hold for the whole
    assert "without cmvn.scp, as sources share speakers" in "".join(capsys.readouterr())


def test_combine_gives_segments_to_whole_recordings(small, tmp_path):
    whole = write(tmp_path / "whole", utt2spk="zz zz\n", spk2utt="zz zz\n", wav_scp="zz z.wav\n", text="zz hi\n")
    combine(tmp_path / "all", [small, whole])
    data = DataDir(tmp_path / "all")
    assert (data.segments["zz"].recording, data.segments["zz"].start, data.segments["zz"].end) == ("zz", 0.0, None)
    validate(tmp_path / "all", need_feats=False)


def test_copy_with_prefixes_still_leads_to_the_recordings(small, tmp_path):
    (small / "segments").unlink()
    data = write(
        small, utt2spk="sw1-A s1\nsw1-B s2\n", text="sw1-A x\nsw1-B y\n", wav_scp="sw1-A a\nsw1-B b\n", stm="x\n"
    )
    for name in ("reco2dur", "reco2file_and_channel"):
        (small / name).unlink()
    fix(data)
    copy(data, tmp_path / "copy", utt_prefix="n-", spk_prefix="n-")
    copied = DataDir(tmp_path / "copy")
    assert copied.utt2spk == {"n-sw1-A": "n-s1", "n-sw1-B": "n-s2"}
    assert copied.segments["n-sw1-A"].recording == "sw1-A"
    assert (tmp_path / "copy/stm").exists()
    validate(tmp_path / "copy", need_feats=False)


def test_maps_are_inverted_by_scripts(tmp_path):
    (tmp_path / "utt2spk").write_text("u1 a\nu2 b\nu3 a\n")
    forward = run("utt2spk_to_spk2utt.pl", tmp_path / "utt2spk")
    assert forward.stdout == "a u1 u3\nb u2\n"
    back = run("spk2utt_to_utt2spk.pl", input=forward.stdout)
    assert back.stdout == "u1 a\nu2 b\nu3 a\n"


def test_real_data_directory(shared, tmp_path):
    shutil.copytree(shared("data/fsdd"), tmp_path / "fsdd", ignore=shutil.ignore_patterns("flac"))
    data = tmp_path / "fsdd"
    for file in data.iterdir():
        file.chmod(0o644)
    write(
        data, wav_scp="".join(f"{r} {r}.flac\n" for r in sorted({s.recording for s in DataDir(data).segments.values()}))
    )
    fix(data)
    validate(data, need_feats=False)
    parts = split(data, 4)
    assert sum(len(DataDir(part).utts) for part in parts) == len(DataDir(data).utts)
