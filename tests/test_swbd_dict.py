"""The MS98 dictionary: its faults, more entries, and pronunciations from the spelling."""

import subprocess
import sys
import types

import pytest

from pymavg.cli import main
from pymavg.data.swbd_corrections import correct
from pymavg.files import read_lines


@pytest.mark.parametrize(
    "written, corrected",
    [
        ("file: $swb/data/dictionary/sw-ms98-dict.text", None),  # the title
        ("A&amp;E ey ih n iy", "A&E ey ih n iy"),
        ("Battle b ae t el", "Battle b ae t ax l"),
        ("bottle b aa t el", "bottle b aa t ax l"),
        ("B ay zh aa n iy z", None),  # no name of that letter
        ("B b iy", "B b iy"),
        ("a ax", "a ax"),  # words of one letter
        ("i ay", "i ay"),
        ("NAACP eh ey ey s iy p iy", "NAACP eh n ey ey s iy p iy"),
        ("NIT eh ay t iy", "NIT eh n ay t iy"),
        ("NTSC eh t iy eh s s iy", "NTSC eh n t iy eh s s iy"),
        ("IBM ay b iy eh m", "IBM ay b iy eh m"),
        ("AT&T ey t iy ae n t iy", "AT&T ey t iy ae n t iy"),
        ("Creek k r ih k", "Creek k r iy k"),
        ("creek k r iy k", "creek k r iy k"),
        ("huh-uh hh ah hh ah", "huh-uh ah hh ah"),
        ("hum-um hh m hh m", "hum-um ah m hh ah m"),
        ("roots r uh t s", "roots r uw t s"),
        ("Waco w ae k ow", "Waco w ey k ow"),
        ("-[ma]chine sh iy n", "-[ma]chine sh iy n"),
    ],
)
def test_corrections(written, corrected):
    word, *phones = written.split()
    found = correct(word, phones)
    assert (found and " ".join(found)) == corrected


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "swbd" / "swb_ms98_transcriptions"
    calls = folder / "20" / "2001"
    calls.mkdir(parents=True)
    (folder / "sw-ms98-dict.text").write_text(
        " file: $SWB/data/dictionary/sw-ms98-dict.text\n\n# comment\nhi hh ay\num-hum ah m hh ah m\nNIT eh ay t iy\n"
    )
    (calls / "sw2001A-ms98-a-trans.text").write_text(
        "sw2001A-ms98-a-0001 0.0 1.0 [silence]\nsw2001A-ms98-a-0002 1.0 2.0 hi NIT zorkm[id]- [noise]\n"
    )
    return tmp_path / "swbd"


def test_dictionary_without_faults_and_with_more_entries(corpus, tmp_path, capsys):
    (tmp_path / "more").write_text("am m\nhi hh iy\n")
    assert main(["swbd-dict", "--extra-lexicon", str(tmp_path / "more"), str(corpus), str(tmp_path / "d")]) == 0
    lexicon = set(read_lines(tmp_path / "d" / "lexicon.txt"))
    assert {"am m", "hi hh iy", "hi hh ay", "n._i._t. eh n ay t iy", "uh-hum ah m hh ah m"} <= lexicon
    assert not any(line.startswith(("file:", "nit ", "zorkm")) for line in lexicon)
    (tmp_path / "more").write_text("am\n")
    assert main(["swbd-dict", "--extra-lexicon", str(tmp_path / "more"), str(corpus), str(tmp_path / "e")]) == 1
    assert "more:1: 'am' has no phones" in capsys.readouterr().err


def test_words_it_lacks_are_pronounced_by_their_spelling(corpus, tmp_path, monkeypatch, capsys):
    asked = {}
    library = types.ModuleType("phonetisaurus")
    library.train = lambda examples, model: asked.update(examples)
    library.predict = lambda words, model: [(word, ["n", "iy"]) for word in words]
    monkeypatch.setitem(sys.modules, "phonetisaurus", library)
    assert main(["swbd-dict", "--g2p", "true", str(corpus), str(tmp_path / "d")]) == 0
    assert "zorkm- n iy" in read_lines(tmp_path / "d" / "lexicon.txt")
    assert asked["hi"] == [["hh", "ay"]] and "[noise]" not in asked
    assert "1 of 1 words that the dictionary lacks" in capsys.readouterr().err

    def failing(examples, model):
        raise subprocess.CalledProcessError(2, "phonetisaurus-train")

    library.train = failing
    assert main(["swbd-dict", "--g2p", "true", str(corpus), str(tmp_path / "e")]) == 1
    assert "phonetisaurus failed on" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "phonetisaurus", None)
    assert main(["swbd-dict", "--g2p", "true", str(corpus), str(tmp_path / "f")]) == 1
    assert "pip install phonetisaurus==0.3.0" in capsys.readouterr().err
    assert not (tmp_path / "f").exists()
