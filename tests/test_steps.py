"""What each step gains: paired by segment, with an interval, from sclite's alignments alone."""

import numpy as np

from pymavg.decoding.sweep import Point, write_sweep
from pymavg.decoding.wer import Counts
from pymavg.report.results import find_results
from pymavg.report.steps import gains, markdown

WORDS, SEGMENTS = 10, 40
STM = "".join(f"sw_1 A spk{k} {k} {k + 1} <O,sw> " + "word " * WORDS + "\n" for k in range(SEGMENTS))


def scored(exp, system, errors, aligned=True):
    """What sclite leaves of a system that makes so many errors in each segment."""
    decode = exp / system / "decode_eval2000"
    (decode / "scoring").mkdir(parents=True)
    write_sweep(
        decode / "scoring/sweep.tsv", {Point(9, 0.0): {"matched": Counts(WORDS * SEGMENTS, sum(errors))}}, "sclite"
    )
    (decode / "scoring/chosen.tsv").write_text("9\t0.0\tchosen on exp/dev\n")
    (decode / "scoring/stm.filt").write_text(';; LABEL "sw" "Swbd" "first game: matched"\n' + STM)
    if aligned:
        (decode / "score_9_0.0").mkdir()
        blocks = [
            f"id: (spk-{k})\nFile: sw_1\nScores: (#C #S #D #I) {WORDS - e} {e} 0 0\n" for k, e in enumerate(errors)
        ]
        (decode / "score_9_0.0/x.pra").write_text("".join(blocks))


def test_a_gain_and_none(tmp_path):
    random = np.random.default_rng(0)
    mono = random.integers(4, 8, SEGMENTS)
    scored(tmp_path, "mono", mono.tolist())
    scored(tmp_path, "tri1", (mono - 2).tolist())
    scored(tmp_path, "tri2", random.permutation(mono - 2).tolist())
    scored(tmp_path, "dnn", [0] * SEGMENTS, aligned=False)
    (_, _, gain), (_, _, none) = gains(find_results(tmp_path, "eval2000"))
    assert gain["matched"][:3] == (-20.0, -20.0, -20.0)  # the same in every segment: nothing is left to chance
    assert none["matched"].mean == 0 and none["matched"].low < 0 < none["matched"].high
    text = markdown(find_results(tmp_path, "eval2000"))
    assert "| tri1 − mono | -20.00 [-20.00, -20.00] |" in text
    assert "dnn" not in text


def test_one_system_has_nothing_before_it(tmp_path):
    scored(tmp_path, "mono", [1] * SEGMENTS)
    assert markdown(find_results(tmp_path, "eval2000")) == ""
