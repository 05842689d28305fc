"""The claims of Su and Chen (arXiv 1507.01239) as contrasts between rows of local/paper/run.sh.

A claim is a difference of error rates that the paper's tables show; it holds here where its 95 % interval lies on the
claimed side, does not where the interval lies on the other, and is open where the interval has both.
"""

from typing import NamedTuple

from pymavg.report.paired import contrast

FRAMES = "frames"
MOST_LOSS = 0.8  # points of WER that 8 to 32 workers lose at most in the paper's main table


class Claim(NamedTuple):
    """One claim.

    Attributes
    ----------
    text : str
    paper : str
        The paper's figure: points of WER on Hub5'00 SWB, CallHome.
    plus, minus : tuple of str
        Confs whose error rates are added and subtracted.
    most : float or None
        The claim is that the difference is at most this; None: that it is above 0.
    """

    text: str
    paper: str
    plus: tuple
    minus: tuple
    most: float | None = None


CLAIMS = (
    Claim("8 workers lose little against one", "+0.4, +0.6", ("ngsgd_8",), ("ngsgd_1",), MOST_LOSS),
    Claim("16 workers lose little", "+0.4, +0.2", ("ngsgd_16",), ("ngsgd_1",), MOST_LOSS),
    Claim("32 workers lose little", "+0.5, +0.3", ("ngsgd_32",), ("ngsgd_1",), MOST_LOSS),
    Claim("32 workers lose little, averaged every minibatch", "–", ("period1_32",), ("ngsgd_1",), MOST_LOSS),
    Claim("one worker: a random start is worse than RBMs", "+0.9, +0.6", ("random_1",), ("ngsgd_1",)),
    Claim("32 workers: a random start is worse than RBMs", "+1.2, +1.7", ("random_32",), ("ngsgd_32",)),
    Claim(
        "averaging over 32 loses more from a random start",
        "+0.3, +1.1",
        ("random_32", "ngsgd_1"),
        ("random_1", "ngsgd_32"),
    ),
    Claim("one worker: plain SGD is worse than NG-SGD", "+0.2, +0.1", ("sgd_1",), ("ngsgd_1",)),
    Claim("16 workers: plain SGD is worse than NG-SGD", "+1.2, +1.3", ("sgd_16",), ("ngsgd_16",)),
    Claim("averaging over 16 loses more with plain SGD", "+1.0, +1.2", ("sgd_16", "ngsgd_1"), ("sgd_1", "ngsgd_16")),
    Claim("16 workers: a minibatch of 256 is worse than 1024", "+0.5, +0.3", ("small_16",), ("ngsgd_16",)),
    Claim("16 workers: Newbob is worse than exponential", "+0.3, +0.2", ("newbob_16",), ("ngsgd_16",)),
    Claim("averages every 20 are worse than every 10", "+0.7, +1.0", ("period20_16",), ("ngsgd_16",)),
    Claim("16 workers: butterfly is worse than all-reduce", "+0.5, –", ("butterfly_16",), ("ngsgd_16",)),
    Claim("32 workers: butterfly is worse than all-reduce", "+0.8, –", ("butterfly_32",), ("ngsgd_32",)),
)


def estimate(rows, plus, minus, measure):
    """Return the Estimate of a contrast of error rates, or None where a row of it is missing.

    Parameters
    ----------
    rows : list of paper_rows.Row
    plus, minus : sequence of str
        Names of confs.
    measure : str
        "frames", or a part of the evaluation set.
    """
    terms = [(sign, _by_seed(rows, conf, measure)) for sign, confs in ((1, plus), (-1, minus)) for conf in confs]
    return contrast(terms) if all(term for _, term in terms) else None


def _by_seed(rows, conf, measure):
    found = {}
    for row in rows:
        if row.conf == conf and measure == FRAMES:
            found[row.seed] = {u: (s.frames - s.correct, s.frames) for u, s in row.frames.items()}
        elif row.conf == conf and row.errors:
            parts = row.errors.values() if measure == "all" else [row.errors[measure]]
            found[row.seed] = {segment: counts for part in parts for segment, counts in part.items()}
    return found


def verdict(claim, found):
    """Return yes, no, open, or – where there is no estimate."""
    if found is None:
        return "–"
    bound = claim.most or 0.0
    above, below = found.low > bound, found.high <= bound
    if claim.most is not None:
        above, below = below, above
    return "yes" if above else "no" if below else "open"
