"""The paper's tables in small: frame scores, paired contrasts, word errors by segment, the parts of RESULTS.md."""

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.report.claims import Claim, verdict
from pymavg.report.frame_scores import FrameScore, _score, read_frame_scores, write_frame_scores
from pymavg.report.paired import Estimate, contrast
from pymavg.report.paper_rows import MORE_SETTINGS, SETTINGS, parse_alignments
from pymavg.report.parts import read_parts, write_part

ALIGNMENTS = """Speakers:
id: (en_2011_a-000)
Labels: <o,en,f,en-f>
File: en_2011
Scores: (#C #S #D #I) 2 0 1 0
REF:  going TO go
id: (sw_2010_a-000)
File: sw_2010
Scores: (#C #S #D #I) 6 1 0 2
"""


def test_a_contrast_of_rows_that_differ_by_a_constant_has_that_mean_and_no_spread_over_seeds():
    rng = np.random.default_rng(1)
    plain = {s: {f"u{i}": (int(rng.integers(20, 60)), 100) for i in range(50)} for s in range(3)}
    worse = {s: {u: (e + 5, n) for u, (e, n) in scores.items()} for s, scores in plain.items()}
    found = contrast([(1, worse), (-1, plain)])
    assert found.mean == pytest.approx(5) and found.low == pytest.approx(5) and found.high == pytest.approx(5)
    both = contrast([(1, worse), (-1, plain), (-1, worse), (1, plain)])
    assert both[:3] == pytest.approx((0, 0, 0))


def test_the_interval_has_the_width_of_the_normal_approximation():
    rng = np.random.default_rng(2)
    a, b = rng.binomial(100, 0.4, 400), rng.binomial(100, 0.38, 400)
    found = contrast(
        [(1, {0: {f"{i}": (e, 100) for i, e in enumerate(a)}}), (-1, {0: {f"{i}": (e, 100) for i, e in enumerate(b)}})]
    )
    half = 1.96 * (a - b).std() / np.sqrt(400)
    assert found.mean == pytest.approx((a - b).mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)


def test_only_seeds_that_all_terms_have_are_compared():
    one = {0: {"u": (1, 10)}, 1: {"u": (9, 10)}}
    assert contrast([(1, one), (-1, {0: {"u": (0, 10)}})])[:] == pytest.approx((10, 10, 10, 1))
    assert contrast([(1, one), (-1, {5: {"u": (0, 10)}})]) is None


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [(0.1, 2, None, "yes"), (-2, -0.1, None, "no"), (-1, 1, None, "open"), (-1, 0.5, 0.8, "yes"), (0.9, 2, 0.8, "no")],
)
def test_a_claim_holds_only_where_the_interval_lies_on_its_side(low, high, most, expected):
    assert verdict(Claim("", "", (), (), most), Estimate((low + high) / 2, low, high, 3)) == expected


def test_word_errors_by_segment():
    found = parse_alignments(ALIGNMENTS, {"en_2011": "mismatched", "sw_2010": "matched"})
    assert found == {"mismatched": {"en_2011_a-000": (1, 3)}, "matched": {"sw_2010_a-000": (3, 7)}}


def test_frame_scores(tmp_path):
    outputs = np.array([[2, 0, 0], [0, 1, 0], [0, 0, 3]], dtype=np.float32)
    found = _score(outputs, np.array([0, 0, 2]))
    probabilities = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    assert found[:2] == (3, 2)
    assert found.loss == pytest.approx(-np.log(probabilities[[0, 1, 2], [0, 0, 2]]).sum(), rel=1e-6)
    write_frame_scores(tmp_path / "f.tsv", {"u": FrameScore(3, 2, 1.5)})
    assert read_frame_scores(tmp_path / "f.tsv") == {"u": FrameScore(3, 2, 1.5)}


def test_parts_of_a_report_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "R.md"
    path.write_text("# Results\n\nold\n")
    write_part(path, "paper", "## Paper\n")
    write_part(path, "wer", "# Results\n\nnew")
    assert read_parts(path) == {"wer": "# Results\n\nnew\n", "paper": "## Paper\n"}
    assert path.read_text().index("new") < path.read_text().index("## Paper")
    write_part(path, "paper", "## Again")
    assert read_parts(path) == {"wer": "# Results\n\nnew\n", "paper": "## Again\n"}


def made_row(folder, workers, worse):
    """Write what local/paper/row.sh leaves of a row whose frame errors are `worse` percent points above 50."""
    scores = {f"u{i}": FrameScore(1000, 500 - 10 * worse + i, 2000.0) for i in range(20)}
    write_frame_scores(folder / "frames.tsv", scores)
    settings = dict.fromkeys((*SETTINGS, *MORE_SETTINGS), "x") | {"workers": workers}
    (folder / "row.tsv").write_text("".join(f"{name}\t{value}\n" for name, value in settings.items()))
    (folder / "log").mkdir()
    (folder / "log" / "train.log").write_text("network x: 4 → 3, 15 parameters; 1 workers\n")


def test_the_page_tells_losses_and_keeps_the_first_part(tmp_path, capsys):
    for seed in range(2):
        made_row(tmp_path / "ngsgd_1" / str(seed), 1, 0)
        made_row(tmp_path / "ngsgd_32" / str(seed), 32, 2)
        made_row(tmp_path / "bmuf_32" / str(seed), 32, 0)
    (tmp_path / "num_frames").write_text("1000\n")
    page = tmp_path / "R.md"
    page.write_text("# Results\n")
    assert main(["paper-results", "--markdown", str(page), str(tmp_path)]) == 0
    text = page.read_text()
    assert text.index("# Results") < text.index("## The paper's tables in small")
    assert "| 32 workers lose little | ngsgd_32 − ngsgd_1 | +0.5, +0.3 | +2.00 [+2.00, +2.00] | no |" in text
    assert "| +2.00 [+2.00, +2.00] | 2 | measurable |" in text and "| +0.00 [+0.00, +0.00] | 2 | none |" in text
    table = (tmp_path / "results.tsv").read_text().splitlines()
    assert len(table) == 7 and table[1].startswith("bmuf_32\t0\t32\t")


def test_rows_that_are_not_there_yet_are_told(tmp_path, capsys):
    assert main(["paper-results", str(tmp_path)]) == 1
    assert "no row is whole yet" in capsys.readouterr().err
