"""Scoring: the cases that must come out right, and agreement with sclite."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.data.datadir import DataDir
from pymavg.decoding.archive import LatticeWriter
from pymavg.decoding.lattice import Lattice
from pymavg.decoding.reference import matched_ctm, read_ctm, read_stm
from pymavg.decoding.sweep import Point, Scorer, at_the_edge, best_point, chosen_on, grid, read_sweep, score
from pymavg.decoding.wer import Counts, filtered_stm, have_sclite, plain_counts, sclite_counts
from pymavg.errors import PymavgError
from pymavg.kaldi.symbols import read_symbols

ROOT = Path(__file__).parents[1]
STM = """;; LABEL "en" "CallHome" "second game: mismatched"
;; LABEL "sw" "Swbd" "first game: matched"
sw_2010 A x 0.00 2.00 <O,sw,F,sw-F> HELLO (%HESITATION) THERE W- UH-HUH
sw_2010 B y 0.00 2.00 <O,sw,F,sw-F> GOOD BYE
en_2011 A z 0.00 2.00 <O,en,F,en-F> GONNA GO
en_2011 A z 3.00 4.00 <O,en,F,en-F> IGNORE_TIME_SEGMENT_IN_SCORING
"""
GLM = """* name "t"
* desc "t"
* format = 'NIST1'
* max_nrules = '50'
* copy_no_hit = 'T'
* case_sensitive = 'F'
UH => %HESITATION / [ ] __ [ ]
GONNA => GOING TO / [ ] __ [ ]
"""
CTM = """sw_2010 1 0.9 0.1 well
sw_2010 1 0.1 0.1 hello
sw_2010 1 0.2 0.1 uh
sw_2010 1 0.3 0.1 there
en_2011 A 0.1 .1 going
sw_2010 A 1.9 0.1 UH-HUH
en_2011 A 0.2 .1 go
"""
needs_sclite = pytest.mark.skipif(not have_sclite(), reason="needs Debian's sctk")


@pytest.fixture
def files(tmp_path):
    for name, text in (("stm", STM), ("glm", GLM), ("ctm", CTM)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_hypothesis_is_sorted_and_channels_are_named_as_in_the_reference(files):
    rows = matched_ctm(read_ctm(files / "ctm"), read_stm(files / "stm"), "ctm", allow_missing=True)
    assert rows == sorted(rows)
    assert {row[:2] for row in rows} == {("en_2011", "A"), ("sw_2010", "A")}


def test_missing_channel_is_an_error_unless_allowed(files, capsys):
    rows, stm = read_ctm(files / "ctm"), read_stm(files / "stm")
    with pytest.raises(PymavgError, match="1 of 3 channels have no words, first: sw_2010 B; --allow-missing"):
        matched_ctm(rows, stm, "ctm")
    matched_ctm(rows, stm, "ctm", allow_missing=True)
    assert "1 of 3 channels have no words: counted as deletions" in capsys.readouterr().err


@pytest.mark.parametrize("times", ["nan 0.2", "-1 0.2", "0.1 -0.2", "0.1 inf", "0.1", "x y"])
def test_times_that_are_none_are_named(files, times):
    (files / "ctm").write_text(f"{CTM}sw_2010 B {times} bye\n")
    with pytest.raises(PymavgError, match=f"ctm:8: expected .* got 'sw_2010 B {times} bye'"):
        read_ctm(files / "ctm")


@needs_sclite
def test_words_of_any_script_and_a_wrong_glm(files, capsys):
    for name in ("stm", "ctm"):
        text = (files / name).read_text().replace("THERE", "日本ł").replace("there", "日本ł")
        (files / name).write_text(text, encoding="utf-8")
    command = ["score-ctm", "--allow-missing", "true", *(str(files / name) for name in ("stm", "glm", "ctm", "out"))]
    assert main(command) == 0
    assert "%WER 25.00 [ 2 / 8, 0 ins, 2 del, 0 sub ]  matched" in capsys.readouterr().out
    (files / "glm").write_text("garbage => => x\n")
    assert main(command) == 1
    assert "glm: csrfilt.sh gives nothing back" in capsys.readouterr().err
    (files / "glm").unlink()
    assert main(command) == 1
    assert "glm: no such file; LDC2002T43 has it" in capsys.readouterr().err


def test_empty_and_unknown_hypotheses_stop(files):
    stm = read_stm(files / "stm")
    (files / "empty").write_text(";; nothing\n")
    with pytest.raises(PymavgError, match="empty hypothesis"):
        read_ctm(files / "empty")
    with pytest.raises(PymavgError, match="first of each: sw2010 A / en_2011 A"):
        matched_ctm([("sw2010", "A", 0.0, 0.1, "a", 1.0)], stm, "ctm")
    (files / "bad").write_text("sw_2010 A 0.1 hello\n")
    with pytest.raises(PymavgError, match="bad:1: expected 'file channel begin duration word'"):
        read_ctm(files / "bad")


def test_malformed_references_are_named(files):
    (files / "bad").write_text(STM + "sw_2010 A x 2.0 1.0 HELLO\n")
    with pytest.raises(PymavgError, match="bad:7: segment from 2.0 to 1.0"):
        read_stm(files / "bad")
    with pytest.raises(PymavgError, match="no such file"):
        read_stm(files / "none")


@needs_sclite
def test_sclite_by_parts_with_glm_fragments_optional_words_and_case(files):
    stm = read_stm(files / "stm")
    filtered_stm(stm, files / "glm", files / "out" / "stm.filt")
    rows = matched_ctm(read_ctm(files / "ctm"), stm, "ctm", allow_missing=True)
    counts = sclite_counts(rows, stm, files / "out" / "stm.filt", files / "glm", files / "out", "test", details=True)
    # 6 words right (hesitation, fragment w- and UH-HUH as two words among them), GOOD BYE and TO deleted
    assert counts == {"matched": Counts(8, 0, 2, 0), "mismatched": Counts(3, 0, 1, 0)}
    assert (files / "out" / "test.ctm.filt.sys").exists()
    assert (files / "out" / "test.ctm.filt.pra").exists()


@needs_sclite
def test_any_ctm_can_be_scored(files, capsys):
    arguments = [str(files / name) for name in ("stm", "glm", "ctm", "scores")]
    assert main(["score-ctm", *arguments]) == 1
    assert main(["score-ctm", "--allow-missing", "true", *arguments]) == 0
    out = capsys.readouterr().out
    assert "%WER 25.00 [ 2 / 8, 0 ins, 2 del, 0 sub ]  matched" in out
    assert "%WER 27.27 [ 3 / 11, 0 ins, 3 del, 0 sub ]  total" in out


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("a b c", "a x c d", Counts(3, 1, 0, 1)),
        ("a b", "", Counts(2, 0, 2, 0)),
        ("", "a", Counts(0, 0, 0, 1)),
        ("Uh-Huh OKAY", "uh-huh okay", Counts(2)),
        ("[laughter] laughter <noise>", "laughter", Counts(1)),
        ("a (uh) b", "a b", Counts(2)),
        ("a (uh) b", "a uh b", Counts(3)),
        ("a (uh) b", "a c b", Counts(2, 0, 0, 1)),
        ("w- well", "well", Counts(2, 0, 1, 0)),
    ],
)
def test_plain_counts(reference, hypothesis, expected):
    assert plain_counts(reference, hypothesis) == expected


def test_reference_without_words_gives_no_rate():
    assert str(Counts(insertions=2)) == "%WER n/a [ 2 / 0, 2 ins, 0 del, 0 sub ]"


WORDS = ("<eps>", "hello", "there", "good", "bye", "going", "to", "go")


def chain(words, alternatives=(), frames=10):
    """A lattice of one path, with a second word at some places that costs more by the graph and less by acoustics."""
    source, target, word, graph, acoustic = [], [], [], [], []
    for k, w in enumerate(words):
        ways = [(w, 1.0, 100.0)] + [(a, 3.0, 100.0 - 20) for place, a in alternatives if place == k]
        for way, g, c in ways:
            source.append(k)
            target.append(k + 1)
            word.append(WORDS.index(way))
            graph.append(g)
            acoustic.append(c)
    offset = np.arange(len(source) + 1) * frames
    return Lattice.from_arcs(
        len(words) + 1, source, target, word, graph, acoustic, (offset, np.ones(offset[-1], np.int32))
    )


@pytest.fixture
def decoded(tmp_path):
    """A data directory of three utterances and a decode directory with two lattice archives."""
    data, decode, lang = tmp_path / "data", tmp_path / "exp" / "decode_dev", tmp_path / "lang"
    for folder in (data, decode, lang):
        folder.mkdir(parents=True)
    (data / "utt2spk").write_text("u1 s1\nu2 s1\nu3 s2\n")
    (data / "text").write_text("u1 hello there\nu2 good bye\nu3 going to go\n")
    (lang / "words.txt").write_text("".join(f"{w} {k}\n" for k, w in enumerate(WORDS)))
    (decode / "num_jobs").write_text("2\n")
    with LatticeWriter(decode / "lat.1.gz") as writer:
        writer.write("u1", chain(["hello", "there"], [(1, "to")]))
    with LatticeWriter(decode / "lat.2.gz") as writer:
        writer.write("u3", chain(["going", "to", "go"]))
    return data, lang, decode


def run(decoded, points, **options):
    data, lang, decode = decoded
    return score(DataDir(data), lang, decode, decode.parent / "final.mdl", points, **options)


def test_sweep_counts_missing_utterances_as_deletions_and_says_how_it_counted(decoded, capsys):
    lines = run(decoded, grid(5, 20, "0.0 0.5"))
    assert "2 of 3 utterances" not in capsys.readouterr().err
    results, rule = read_sweep(decoded[2] / "scoring" / "sweep.tsv")
    assert len(results) == 32
    assert "plain WER, without stm and glm" in rule
    # below LM weight 10 the acoustics win and `there` becomes `to`: the utterance without a lattice is two deletions
    assert results[Point(5, 0.0)]["all"] == Counts(7, 1, 2, 0)
    assert results[Point(20, 0.5)]["all"] == Counts(7, 0, 2, 0)
    assert any("without stm and glm" in line for line in lines)
    assert "%WER 28.57 [ 2 / 7" in (decoded[2] / "wer_20_0.5").read_text()


def test_point_chosen_on_the_development_set_comes_first(decoded):
    run(decoded, grid(5, 20, "0.0"))
    assert chosen_on(decoded[2]) == Point(15, 0.0)  # 11 to 20 are equally good
    data, lang, decode = decoded
    other = decode.with_name("decode_eval")
    other.mkdir()
    (other / "lat.1.gz").write_bytes((decode / "lat.1.gz").read_bytes())
    lines = score(
        DataDir(data), lang, other, decode.parent / "final.mdl", grid(5, 8, "0.0"), str(decode), allow_missing=True
    )
    assert f"LM weight 15, penalty 0.0: chosen on {decode}" in lines[1]
    assert "best of the sweep" in lines[3]
    with pytest.raises(PymavgError, match="not scored yet"):
        chosen_on(other.with_name("decode_none"))


def test_a_best_result_at_an_end_of_the_sweep_is_told_with_the_remedy(decoded, capsys):
    run(decoded, grid(5, 11, "0.0"))  # two errors at weight 11 alone
    told = f"WARNING: {decoded[2]}: the best result lies at an end of the sweep: LM weight 11 (a larger --max-lmwt)"
    assert told in capsys.readouterr().err.splitlines()
    for points in (grid(5, 20, "0.0"), grid(11, 20, "0.0"), grid(11, 11, "0.0"), grid(5, 11, "0.0")):
        run(decoded, points, lmwt_from=str(decoded[2]))  # the choice is not this set's
        assert "end of the sweep" not in capsys.readouterr().err
    for points in (grid(5, 20, "0.0"), grid(11, 20, "0.0 0.5"), grid(11, 11, "0.0")):  # not alone the best, or no sweep
        run(decoded, points)
        assert "end of the sweep" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("best", "found"),
    [
        (Point(5, 0.0), "LM weight 5 (a smaller --min-lmwt)"),
        (Point(6, 0.0), None),  # no penalty at all is a natural end
        (Point(6, 1.0), "penalty 1.0 (--word-ins-penalties with values beyond it)"),
        (Point(6, 0.5), None),
        (Point(7, 1.0), "LM weight 7 (a larger --max-lmwt), penalty 1.0"),
    ],
)
def test_ends_of_weights_and_penalties(best, found):
    results = {point: {"all": Counts(9, 1 if point == best else 2)} for point in grid(5, 7, "0.0 0.5 1.0")}
    told = at_the_edge(results)
    assert told is None if found is None else found in told


@pytest.mark.parametrize(
    ("equals", "chosen"),
    [
        (grid(6, 9, "0.0"), Point(7, 0.0)),
        (grid(6, 8, "0.5") + grid(9, 9, "0.0"), Point(9, 0.0)),
        (grid(5, 10, "0.0 0.5 1.0"), Point(7, 0.0)),
        (grid(7, 7, "1.0"), Point(7, 1.0)),
    ],
)
def test_of_equally_good_points_the_middle_one_of_the_smallest_penalty_is_taken(equals, chosen):
    results = {point: {"all": Counts(9, 1 if point in equals else 2)} for point in grid(5, 10, "0.0 0.5 1.0")}
    assert best_point(results) == chosen


def test_nothing_lies_below_weight_1():
    results = {point: {"all": Counts(9, point.lmwt)} for point in grid(1, 3, "0.0")}
    assert at_the_edge(results) is None


def test_decode_directory_that_does_not_fit_is_refused(decoded):
    data, lang, decode = decoded
    (data / "utt2spk").write_text("u1 s1\nu2 s1\nu4 s2\n")
    with pytest.raises(PymavgError, match="first of each: u3 / u1"):
        run(decoded, grid(5, 5, "0"))
    (data / "utt2spk").write_text("u1 s1\nu2 s3\nu3 s2\n")
    with pytest.raises(PymavgError, match="1 of 3 speakers have no lattice at all, first: s3"):
        run(decoded, grid(5, 5, "0"))
    assert "%WER 42.86" in run(decoded, grid(5, 5, "0"), allow_missing=True)[2]
    (decode / "lat.2.gz").unlink()
    with pytest.raises(PymavgError, match=r"lat.2.gz not there, 2 archives expected"):
        run(decoded, grid(5, 5, "0"))


def test_scorer_names_what_is_missing(decoded):
    data, lang, decode = decoded
    words = read_symbols(lang / "words.txt")
    with pytest.raises(PymavgError, match="stm: no such file; LDC2002T43 has it"):
        Scorer(DataDir(data), words, decode, "sclite")
    (data / "stm").write_text(STM)
    assert "without glm" in Scorer(DataDir(data), words, decode).filter
    with pytest.raises(PymavgError, match="expected 0 < min <= max"):
        grid(8, 5, "0.0")
    with pytest.raises(PymavgError, match="expected numbers"):
        grid(5, 8, "low")


@needs_sclite
def test_scorer_puts_words_at_their_times_in_the_recording(decoded):
    data, lang, decode = decoded
    (data / "stm").write_text(STM)
    (data / "glm").write_text(GLM)
    (data / "segments").write_text("u1 sw_2010-A 0.5 2.0\nu2 sw_2010-B 0 2\nu3 en_2011-A 0 2\n")
    (data / "reco2file_and_channel").write_text("sw_2010-A sw_2010 A\nsw_2010-B sw_2010 B\nen_2011-A en_2011 A\n")
    scorer = Scorer(DataDir(data), read_symbols(lang / "words.txt"), decode)
    hypotheses = {"u1": [(0, 30, 1), (30, 50, 2)], "u2": [], "u3": [(10, 20, 5), (20, 30, 6), (30, 40, 7)]}
    assert scorer.ctm(hypotheses)[1] == ("sw_2010", "A", 0.8, 0.2, "there", 1.0)
    counts = scorer.counts(hypotheses, Point(10, 0.0))
    assert counts["mismatched"] == Counts(3, 0, 0, 0)
    assert counts["matched"].deletions >= 2
    assert (decode / "score_10_0.0" / "data.ctm").read_text().startswith("en_2011 A 0.10 0.10 going\n")


def test_best_wer_reads_kaldis_and_sclites_lines():
    lines = "d/wer_7_0.0:%WER 12.50 [ 1 / 8 ]\nd/wer_8_0.0:%WER 9.75 [ 3 / 8 ]\n"
    sclite = "d/s_9/x.sys:| Sum/Avg |  10  80 | 91.0  5.0  4.0  0.2   9.2  40.0 |\n"
    program = ROOT / "utils" / "best_wer.sh"
    best = [subprocess.run([program], input=t, capture_output=True, text=True).stdout for t in (lines, lines + sclite)]
    assert best[0] == "d/wer_8_0.0:%WER 9.75 [ 3 / 8 ]\n"
    assert best[1].startswith("%WER 9.2 ")
    assert subprocess.run([program], input="", capture_output=True, text=True).returncode == 1


def test_results_table(decoded, capsys):
    exp = str(decoded[2].parent.parent)
    assert main(["results-table", exp]) == 1
    assert "exp: no scored */decode_eval2000*; decode and score first" in capsys.readouterr().err.replace(exp, "exp")
    run(decoded, grid(5, 20, "0.0"))
    assert main(["results-table", exp]) == 1
    assert "no scored */decode_eval2000*; scored are decode_dev: give --data" in capsys.readouterr().err
    assert main(["results-table", "--data", "dev", exp]) == 0
    assert capsys.readouterr().out.split("\t")[:5] == ["exp", "all", "28.57", "2", "7"]
    decode = decoded[2].rename(decoded[2].with_name("decode_eval2000_tg"))
    assert main(["results-table", "--markdown", str(decode / "R.md"), str(decode.parent.parent)]) == 0
    assert capsys.readouterr().out.split("\t")[:5] == ["exp", "all", "28.57", "2", "7"]
    text = (decode / "R.md").read_text()
    assert "| exp | 28.57 | 15, 0.0 | 28.57 |" in text
    assert "* Commit " in text and "* Machine: " in text
