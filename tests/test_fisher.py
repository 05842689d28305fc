"""Fisher's transcripts in the spelling of Switchboard: one example for each rule."""

import pytest

from pymavg.cli import main
from pymavg.data.fisher import normalise
from pymavg.files import read_lines


@pytest.mark.parametrize(
    "written, words",
    [
        ("an- so the topic is ", "an- so the topic is"),  # fragments have a hyphen in both
        ("I'm okay", "i'm okay"),  # few words are not in lower case
        ("he works for (( )) and he", "he works for and he"),  # nothing was understood
        ("((who turned)) me onto", "who turned me onto"),  # uncertain
        ("(( ))", ""),
        ("<german (( ja wohl ))> yes", "yes"),  # another language
        ("*mandatory", "mandatory"),
        ("is it? well", "is it well"),
        ("well, no, it's ten,thousand", "well no it's ten thousand"),
        ("[laugh] [laughter] ha", "[laughter] [laughter] ha"),
        ("[breath] [cough] [lipsmack] [sigh] [sneeze] [noise]", "[noise] [noise] [noise] [noise] [noise] [noise]"),
        ("[mn] hi", "[vocalized-noise] hi"),
        ("[pause] and [[skip]] then", "and then"),
        ("[static] hello", "hello"),  # no sound that Switchboard has
        ("a._b._c. and t._v.'s", "a._b._c. and t._v.'s"),  # acronyms are written alike
        ("tell 'em", "tell -em"),  # a beginning not spoken
        ("'cause of course", "cause of course"),
        ("'kay' then", "kay then"),  # in quotation marks
        ("he said 'so to speak' often", "he said so to speak often"),
        ("'i didn't' no", "i didn't no"),
        ("- well -", "well"),
        ("a non-stop flight", "a non stop flight"),
        ("uh-huh mhm", "uh-huh mhm"),
        ("rock 'n' roll", "rock n roll"),
    ],
)
def test_rules(written, words):
    assert normalise(written) == words.split()


def corpus(root, part, *names, body="0.50 1.25 A: an- so\n\n2.00 3.00 B: (( ))\n3.1 4 B: yes 'em\n"):
    for name in names:
        path = root / f"fe_03_p{part}_tran/data/trans" / name[:3] / f"fe_03_{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# fe_03_{name}.sph\n# Transcribed at the LDC\n\n{body}")
    return str(root / f"fe_03_p{part}_tran")


def test_text_of_both_parts(tmp_path, capsys):
    one, two = corpus(tmp_path, 1, "00001", "00002"), corpus(tmp_path, 2, "05851")
    bbn = tmp_path / "fe_03_p1_tran/data/bbn_orig/000/auto-segmented/fe_03_00001.txt"  # no transcript in this form
    bbn.parent.mkdir(parents=True)
    bbn.write_text("anything")
    assert main(["fisher-text", two, one, str(tmp_path / "out")]) == 0
    assert read_lines(tmp_path / "out" / "text") == ["an- so", "yes -em"] * 3
    assert "6 sentences, 12 words of 3 conversations" in (said := capsys.readouterr().err)
    assert "3 transcripts; both parts of Fisher English have 11699" in said
    assert main(["fisher-text", str(tmp_path), one, str(tmp_path / "whole")]) == 0  # each conversation once
    assert read_lines(tmp_path / "whole" / "text") == read_lines(tmp_path / "out" / "text")


def test_faults_are_told(tmp_path, capsys):
    assert main(["fisher-text", str(tmp_path), str(tmp_path / "out")]) == 1
    assert "no trans/NNN/fe_03_*.txt in it; expected the folder of LDC2004T19" in capsys.readouterr().err
    broken = corpus(tmp_path, 1, "00001", body="0.5 A: hello\n")
    assert main(["fisher-text", broken, str(tmp_path / "out")]) == 1
    assert "fe_03_00001.txt:4: '0.5 A: hello' is not: start end A: words" in capsys.readouterr().err
    empty = corpus(tmp_path / "e", 1, "00001", body="0.5 1.0 A: (( ))\n")
    assert main(["fisher-text", empty, str(tmp_path / "out")]) == 1
    assert "no word in 1 transcripts" in capsys.readouterr().err
    assert not (tmp_path / "out" / "text").exists()
