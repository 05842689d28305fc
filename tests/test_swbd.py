"""Data preparation for Switchboard and Hub5 in every layout of the disks."""

import pytest

from pymavg.data import hub5, swbd
from pymavg.data.ldc import check_count, check_whole, find_sphere
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.tools import swbd_dict

TRANS = """sw{n}{s}-ms98-a-0001 0.000000 0.977625 [silence]
sw{n}{s}-ms98-a-0002 0.977625 11.561375 hi [laughter-um] yeah_1
sw{n}{s}-ms98-a-0003 11.561375 14.670875 the IBM -[ma]chine
"""
DICT = "# comment\n\nhi hh ay\num ah m\nyeah y ae\nyeah_1 y eh\nthe dh ax\nibm ay b iy eh m\n-[ma]chine sh iy n\n"


def swbd_corpus(root, numbers=(2001, 2005), suffix=".sph", transcripts="transcriptions", disks=True):
    for i, n in enumerate(numbers):
        audio = root / (f"swb1_d{i + 1}/data" if disks else "") / f"sw0{n}{suffix}"
        audio.parent.mkdir(parents=True, exist_ok=True)
        audio.write_bytes(b"")
        folder = root / transcripts / "swb_ms98_transcriptions" / str(n)[:2] / str(n)
        folder.mkdir(parents=True)
        for s in "AB":
            (folder / f"sw{n}{s}-ms98-a-trans.text").write_text(TRANS.format(n=n, s=s))
            (folder / f"sw{n}{s}-ms98-a-word.text").write_text("")
    (root / transcripts / "swb_ms98_transcriptions" / "sw-ms98-dict.text").write_text(DICT)
    return root


@pytest.mark.parametrize("layout", [{}, {"suffix": ".SPH"}, {"disks": False}, {"transcripts": "."}])
def test_training_data_of_every_layout(tmp_path, layout):
    out = tmp_path / "data"
    swbd.prepare_training(swbd_corpus(tmp_path / "LDC97S62", **layout), out)
    assert read_lines(out / "text")[:2] == [
        "sw02001-A_000098-001156 hi um yeah",
        "sw02001-A_001156-001467 the i._b._m. -chine",
    ]
    assert read_lines(out / "segments")[0] == "sw02001-A_000098-001156 sw02001-A 0.98 11.56"
    assert read_lines(out / "utt2spk")[0] == "sw02001-A_000098-001156 sw02001-A"
    assert read_lines(out / "reco2file_and_channel")[1] == "sw02001-B sw02001 B"
    name, pipe = read_lines(out / "wav.scp")[3].split(None, 1)
    assert name == "sw02005-B"
    assert pipe.startswith("sph2pipe -f wav -p -c 2 /") and pipe.endswith(f"sw02005{layout.get('suffix', '.sph')} |")


def test_speakers_come_from_conv_tab(tmp_path):
    corpus = swbd_corpus(tmp_path / "swbd")
    (corpus / "docs").mkdir()
    (corpus / "docs" / "conv.tab").write_text('2001, 1, 1020, 1044, 0, "X"\n2005, 1, 1044, 1008, 0, "Y"\n')
    swbd.prepare_training(corpus, tmp_path / "data")
    assert [line.split()[0] for line in read_lines(tmp_path / "data" / "spk2utt")] == ["sw1008", "sw1020", "sw1044"]
    first = "sw1008-02005-B_000098-001156"
    assert read_lines(tmp_path / "data" / "segments")[0] == f"{first} sw02005-B 0.98 11.56"
    (corpus / "docs").rename(tmp_path / "elsewhere")
    swbd.prepare_training(corpus, tmp_path / "sides")
    assert len(read_lines(tmp_path / "sides" / "spk2utt")) == 4
    swbd.prepare_training(corpus, tmp_path / "again", docs=tmp_path / "elsewhere")
    assert read_lines(tmp_path / "again" / "text") == read_lines(tmp_path / "data" / "text")
    (tmp_path / "elsewhere").rename(corpus / "docs")
    (corpus / "docs" / "conv.tab").write_text("2001 1020\n")
    with pytest.raises(PymavgError, match=r"conv.tab:1: '2001 1020' is not: conversation"):
        swbd.prepare_training(corpus, tmp_path / "data")


def test_missing_disks_stop_unless_allowed(tmp_path):
    corpus = swbd_corpus(tmp_path / "swbd")
    (corpus / "swb1_d2/data/sw02005.sph").unlink()
    with pytest.raises(PymavgError, match=r"found 1 of 2 .sph .*sw02005.*disk is missing.*--allow-partial true"):
        swbd.prepare_training(corpus, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    swbd.prepare_training(corpus, tmp_path / "data", allow_partial=True)
    assert len(read_lines(tmp_path / "data" / "wav.scp")) == 2
    (corpus / "swb1_d1/data/sw02001.sph").unlink()
    with pytest.raises(PymavgError, match="found 0 of 2"):
        swbd.prepare_training(corpus, tmp_path / "data", allow_partial=True)


def test_missing_transcripts_and_broken_lines_are_told(tmp_path):
    with pytest.raises(PymavgError, match=r"no swb_ms98_transcriptions.*openslr.*--transcripts DIR"):
        swbd.prepare_training(tmp_path, tmp_path / "data")
    corpus = swbd_corpus(tmp_path / "swbd")
    broken = next(corpus.glob("*/*/20/2001/*A*trans.text"))
    broken.write_text("sw2001A-ms98-a-0001 zero 1.0 hi\n")
    with pytest.raises(PymavgError, match=r"trans.text:1: 'sw2001A.*is not: name, start, end, words"):
        swbd.prepare_training(corpus, tmp_path / "data")
    for line in ("sw2001A-ms98-a-0001 nan 1.0 hi", "sw2001A-ms98-a-0001 0.0 inf hi", "sw2001A-ms98-a-0001 0.0"):
        broken.write_text(line + "\n")
        with pytest.raises(PymavgError, match="trans.text:1: .* is not: name, start, end, words"):
            swbd.prepare_training(corpus, tmp_path / "data")
    for name in ("x", "sw2999A-ms98-a-0001", "sw2001B-ms98-a-0001"):
        broken.write_text(f"{name} 0.0 1.0 hi\n")
        with pytest.raises(PymavgError, match=r"trans.text:1: .* is not of this side; .*begins with sw2001A expected"):
            swbd.prepare_training(corpus, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_an_utterance_that_ends_before_it_begins_is_left_out(tmp_path, capsys):
    corpus = swbd_corpus(tmp_path / "swbd")
    transcript = next(corpus.glob("*/*/20/2001/*A*trans.text"))
    transcript.write_text("sw2001A-ms98-a-0001 9.0 4.0 hi\nsw2001A-ms98-a-0002 1.0 2.0 hi\n")
    swbd.prepare_training(corpus, tmp_path / "data")
    assert "trans.text:1: 'sw2001A-ms98-a-0001 9.0 4.0 hi' ends before it begins" in capsys.readouterr().err
    assert read_lines(tmp_path / "data" / "text")[0] == "sw02001-A_000100-000200 hi"


@pytest.mark.parametrize("count, fits", [(2435, True), (2438, True), (0, False), (1200, False)])
def test_number_of_recordings(tmp_path, count, fits):
    for i in range(count):
        (tmp_path / f"sw{i:05d}.{'SPH' if i % 2 else 'sph'}").touch()
    assert len(find_sphere(tmp_path)) == count
    if fits:
        check_count(tmp_path, (2435, 2438))
    else:
        with pytest.raises(PymavgError, match=f"found {count} of 2435 or 2438 .sph under"):
            check_count(tmp_path, (2435, 2438))
    if count == 1200:
        check_count(tmp_path, (2435, 2438), allow_partial=True)


def test_links_to_nothing_and_folders_are_no_recordings(tmp_path, capsys):
    (tmp_path / "sw02001.sph").touch()
    (tmp_path / "sw02002.SPH").symlink_to("/mnt/cdrom/sw02002.SPH")
    (tmp_path / "sw02003.sph").mkdir()
    assert list(find_sphere(tmp_path)) == ["sw02001"]
    assert "sw02002.SPH: links to /mnt/cdrom/sw02002.SPH, which is not there" in capsys.readouterr().err


SPHERE = (
    b"NIST_1A\n   1024\nsample_count -i 100\nchannel_count -i 2\nsample_n_bytes -i 1\nsample_coding -s4 %s\nend_head\n"
)


@pytest.mark.parametrize(
    "coding, size, fault",
    [
        (b"ulaw", 1224, None),
        (b"ulaw", 1223, "200 bytes of audio expected from byte 1024 on, 199 present; the file is cut"),
        (b"ulaw,embedded-shorten-v2.00", 1100, "install sph2pipe"),
        (b"ulaw", 0, "sw02001.sph: is empty"),
        (b"ulaw", 10, "the file is damaged"),
    ],
)
def test_recordings_are_whole(tmp_path, monkeypatch, coding, size, fault):
    monkeypatch.setenv("PATH", str(tmp_path))  # no sph2pipe
    for name in ("sw02001.sph", "sw02002.sph"):
        (tmp_path / name).write_bytes((SPHERE % coding).ljust(1300, b"\xff")[:size])
    if fault is None:
        check_whole(find_sphere(tmp_path))
        return
    with pytest.raises(PymavgError, match=rf"{fault}.*\(and 1 more of 2\)"):
        check_whole(find_sphere(tmp_path))
    (tmp_path / "sph2pipe").touch(mode=0o755)  # reads what is compressed
    if b"shorten" in coding:
        check_whole(find_sphere(tmp_path))


def test_dictionary_has_kaldis_form(tmp_path):
    swbd_dict.main([str(swbd_corpus(tmp_path / "swbd")), str(tmp_path / "dict")])
    lexicon = read_lines(tmp_path / "dict" / "lexicon.txt")
    assert lexicon == sorted(lexicon)
    assert {"!sil sil", "<unk> spn", "[laughter] lau", "yeah y ae", "yeah y eh", "i._b._m. ay b iy eh m"} <= set(
        lexicon
    )
    assert {"w. d ah b ax l y uw", "-chine sh iy n"} <= set(lexicon)
    assert not any(line.startswith("ibm ") for line in lexicon)
    assert read_lines(tmp_path / "dict" / "silence_phones.txt") == ["sil", "spn", "nsn", "lau"]
    assert read_lines(tmp_path / "dict" / "optional_silence.txt") == ["sil"]
    assert read_lines(tmp_path / "dict" / "extra_questions.txt") == []
    assert "sil" not in read_lines(tmp_path / "dict" / "nonsilence_phones.txt")


PEM = """;; comment
en_4156 A unknown_speaker 1.00 2.00
en_4156 A unknown_speaker 2.10 3.00
en_4156 B unknown_speaker 3.5 4.35
"""
STM = """;; LABEL "en" "CallHome" ""
en_4156 A en_4156_A 1.00 2.00 <O,en,F,en-F> (%HESITATION) WELL
en_4156 A en_4156_A 2.10 3.00 <O,en,F,en-F> IGNORE_TIME_SEGMENT_IN_SCORING
en_4156 B en_4156_B 3.5 4.35 <O,en,M,en-M> ((YES)
"""


def hub5_corpus(root, tree="", speech="hub5e_00/english"):
    audio, reference = root / "S09" / speech, root / "T43" / tree / "reference"
    audio.mkdir(parents=True)
    reference.mkdir(parents=True)
    (audio / "en_4156.SPH").touch()
    (audio / hub5.PEM).write_text(PEM)
    (reference / hub5.STM).write_text(STM)
    (reference / hub5.GLM).write_bytes(b"UH => %HESITATION\n\xe9")
    return root / "S09", root / "T43"


@pytest.mark.parametrize("tree, speech", [("", "english"), ("2000_hub5_eng_eval_tr", "hub5e_00/english"), ("", "")])
def test_evaluation_data_of_every_layout(tmp_path, tree, speech):
    out = tmp_path / "data"
    hub5.prepare(*hub5_corpus(tmp_path, tree, speech), out)
    # 0.1 s is added at each end, but no more than half of the gap of 0.1 s; 4.35 is cut as Kaldi's awk cuts it
    assert read_lines(out / "segments") == [
        "en_4156-A_000100-000200 en_4156-A 0.90 2.05",
        "en_4156-B_000350-000434 en_4156-B 3.40 4.45",
    ]
    assert read_lines(out / "text") == ["en_4156-A_000100-000200 well", "en_4156-B_000350-000434 yes"]
    assert read_lines(out / "stm")[3].endswith("<O,en,M,en-M> (YES)")
    assert (out / "glm").read_bytes() == b"UH => %HESITATION\n\xe9"


def test_evaluation_faults_are_told(tmp_path):
    speech, transcripts = hub5_corpus(tmp_path)
    with pytest.raises(PymavgError, match=r"no hub5e00.english.000405.stm .*LDC2002T43"):
        hub5.prepare(speech, tmp_path / "S09", tmp_path / "data")
    stm = transcripts / "reference" / hub5.STM
    stm.write_text(STM.replace("3.5 4.35", "3.6 4.35"))
    with pytest.raises(PymavgError, match=r"not have the same segments \(2 differ.*en_4156-B_000350-000434"):
        hub5.prepare(speech, transcripts, tmp_path / "data")
    (transcripts / "reference" / hub5.GLM).unlink()
    with pytest.raises(PymavgError, match=f"no {hub5.GLM}"):
        hub5.prepare(speech, transcripts, tmp_path / "data")
    assert not (tmp_path / "data").exists()
