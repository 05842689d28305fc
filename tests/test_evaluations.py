"""Hub5'01 and RT-03: their layouts, times, sides and scoring files."""

import pytest

from pymavg.data import hub5
from pymavg.data.ldc import find_sphere
from pymavg.decoding.reference import read_stm
from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.tools import hub5_data

PEM_01 = "sw4653 A unknown_speaker 191.278009 194.555553\nsw4653 B unknown_speaker 0.5 1.0\n"
STM_01 = """;; LABEL "P0" "Swbd1" "Switchboard-1"
sw4653 A sw4653_A 191.278009 194.56 <O,M,P0,P0-M> YEAH WHO ELSE MONKEYS
sw4653 B sw4653_B 0.50 1.00 <O,F,P0,P0-F> {IT'S / IT IS} <B_ASIDE> MINE
"""
STM_RT = """;; LABEL "fsh" "Fisher" ""
fsh_60262 1 fsh_60262_1 0.00 1.50 <o,fsh,f> IGNORE_TIME_SEGMENT_IN_SCORING
fsh_60262 1 inter_segment_gap 1.50 2.00 <o,,unknown>
fsh_60262 1 fsh_60262_1 2.00 3.25 <o,fsh,f> ((uh) i see
fsh_60262 2 fsh_60262_2 2.00 3.00 <o,fsh,f>
"""


def eval2001(root, glm=True):
    folders = {"speech": root / "english", "pem": root / "doc/pems", "stm": root / "data/transcr"}
    for folder in folders.values():
        folder.mkdir(parents=True)
    (folders["speech"] / "sw4653.sph").touch()
    (folders["pem"] / "hub5e_01.pem").write_text(PEM_01)
    (folders["stm"] / "hub5e01.english.20010402.stm").write_text(STM_01)
    if glm:
        (folders["stm"] / "en20010117_hub5.glm").write_text("UH => %HESITATION\n")
    return root


@pytest.mark.parametrize("below", ["", "hub5e_01"])
def test_hub5_01(tmp_path, below):
    eval2001(tmp_path / "LDC2002S13" / below)
    out = tmp_path / "eval2001"
    speech = str(tmp_path / "LDC2002S13")
    hub5_data.main(["--evaluation", "eval2001", speech, speech, str(out)])
    assert read_lines(out / "segments") == [  # times of pem and stm agree when rounded
        "sw4653-A_019128-019456 sw4653-A 191.28 194.56",
        "sw4653-B_000050-000100 sw4653-B 0.50 1.00",
    ]
    assert read_lines(out / "text")[1] == "sw4653-B_000050-000100 it's mine"
    assert read_lines(out / "glm") == ["UH => %HESITATION"]
    assert read_stm(out / "stm").parts == {"sw4653": "swbd1"}


def test_hub5_01_without_its_rules_of_scoring(tmp_path):
    speech = eval2001(tmp_path / "S13", glm=False)
    with pytest.raises(PymavgError, match=r"no en\*hub5.glm .*--glm FILE \(en20000405_hub5.glm of LDC2002T43"):
        hub5.prepare(speech, speech, tmp_path / "out", which="eval2001")
    with pytest.raises(PymavgError, match="--glm .*nowhere: no such file"):
        hub5.prepare(speech, speech, tmp_path / "out", which="eval2001", glm=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()
    (tmp_path / "glm").write_text("* rules\n")
    hub5.prepare(speech, speech, tmp_path / "out", which="eval2001", glm=tmp_path / "glm")
    assert read_lines(tmp_path / "out" / "glm") == ["* rules"]


def rt03(root):
    audio, stm = root / "data/audio/eval03/english/cts", root / "data/references/eval03/english/cts"
    for folder in (audio, stm, root / "data/audio/eval03/mandarin/cts", root / "data/trans_rules"):
        folder.mkdir(parents=True)
    (audio / "fsh_60262.sph").touch()
    (root / "data/audio/eval03/mandarin/cts/ma_0001.sph").touch()
    (stm / "en03.stm").write_text(STM_RT)
    (root / "data/trans_rules/en20030506.glm").write_text("* rules\n")
    return root


def test_rt03(tmp_path):
    corpus, out = rt03(tmp_path / "LDC2007S10"), tmp_path / "rt03"
    hub5.prepare(corpus, corpus, out, which="rt03")
    assert read_lines(out / "segments") == [
        "fsh_60262-A_000200-000325 fsh_60262-A 2.00 3.25",
        "fsh_60262-B_000200-000300 fsh_60262-B 2.00 3.00",
    ]
    assert read_lines(out / "text") == ["fsh_60262-A_000200-000325 uh i see", "fsh_60262-B_000200-000300"]
    assert len(read_lines(out / "wav.scp")) == 2
    stm = read_stm(out / "stm")
    assert stm.channels == {("fsh_60262", "A"), ("fsh_60262", "B")} and stm.parts == {"fsh_60262": "fsh"}
    assert not any("inter_segment_gap" in line or "((" in line for line in read_lines(out / "stm"))
    (corpus / "data/audio/eval03/english/cts/fsh_60262.sph").unlink()
    with pytest.raises(PymavgError, match=r"found 0 of 1 .sph under .*english/cts \(no fsh_60262.sph\)"):
        hub5.prepare(corpus, corpus, out, which="rt03")


def test_broken_lines_are_told(tmp_path):
    corpus = rt03(tmp_path / "S10")
    stm = corpus / "data/references/eval03/english/cts/en03.stm"
    stm.write_text("fsh_60262 1 fsh_60262_1 zero 1.5 <o,fsh,f> hi\n")
    with pytest.raises(PymavgError, match=r"en03.stm:1: 'fsh_60262 A .*is not: file, side, speaker"):
        hub5.prepare(corpus, corpus, tmp_path / "out", which="rt03")
    with pytest.raises(PymavgError, match="no audio/eval03/english/cts in it or below; expected .*LDC2007S10"):
        hub5.prepare(tmp_path / "none", corpus, tmp_path / "out", which="rt03")


def test_disks_behind_links_are_found_once(tmp_path):
    disk = tmp_path / "mnt" / "disk1"
    disk.mkdir(parents=True)
    (disk / "sw02001.SPH").touch()
    corpus = tmp_path / "LDC97S62"
    corpus.mkdir()
    (corpus / "d1").symlink_to(disk)
    (corpus / "again").symlink_to(disk)
    (disk / "up").symlink_to(corpus)  # a circle
    assert list(find_sphere(corpus)) == ["sw02001"]
