"""What others reached on Switchboard, beside what an experiment directory reached, in the form of the paper's tables.

Sources: Su and Chen (arXiv 1507.01239), results by number of GPUs; Kaldi's egs/swbd/s5c/RESULTS. All with the trigram
of the training transcripts (sw1_tg); WER in %.
"""

from pymavg.decoding.wer import Counts
from pymavg.report.results import find_scored

COLUMNS = {  # column: (evaluation set, part)
    "Hub5'00 SWB": ("eval2000", "swbd"),
    "CallHome": ("eval2000", "callhm"),
    "all": ("eval2000", "all"),
    "Hub5'01 SWB": ("eval2001", "swbd"),
    "SWB2P3": ("eval2001", "swb2p3"),
    "SWB-Cell": ("eval2001", "swbcell"),
}
KALDI, PAPER = "Kaldi s5c", "Su and Chen, {} GPU"
PUBLISHED = {  # system: [(source, WER by column)]; None: not given
    "tri1": [(KALDI, (35.6, None, 44.0))],
    "tri2": [(KALDI, (32.7, None, 41.0))],
    "tri3": [(KALDI, (26.1, None, 34.1))],
    "tri4": [(KALDI, (21.6, None, 28.8))],
    "dnn": [
        (KALDI + ", nnet1", (14.6,)),
        (PAPER.format(1), (14.7, 26.8, None, 16.1, 21.0, 27.4)),
        (PAPER.format(8), (15.1, 27.4, None, 16.4, 21.8, 27.3)),
        (PAPER.format(16), (15.1, 27.0, None, 16.2, 21.7, 27.4)),
        (PAPER.format(32), (15.2, 27.1, None, 16.4, 21.7, 27.8)),
    ],
    "dnn_smbr": [(KALDI + ", nnet1 with sMBR", (13.2,))],
}


def phase(part):
    """Return the part of Hub5'01 that a label's name means: `swbcell`, `swb2p3` or `swbd`."""
    name = part.lower()
    return "swbcell" if "cell" in name else "swb2p3" if "2" in name else "swbd"


def _by_column(results):
    """Return {(evaluation set, part): WER or None} of {evaluation set: Result}, with the sum of Hub5'00 as `all`."""
    sums = {}
    for data, result in results.items():
        for part, counts in result.chosen.items():
            keys = {(data, phase(part))} if data == "eval2001" else {(data, part), (data, "all")}
            for key in keys:
                sums[key] = sums.get(key, Counts()) + counts
    return {key: counts.wer for key, counts in sums.items()}


def comparison(exp):
    """Return a section of RESULTS.md: for each system the published rows, then ours.

    Parameters
    ----------
    exp : str or Path
        Experiment directory with exp/SYSTEM/decode_{eval2000,eval2001}*.
    """
    ours = {}
    for data in ("eval2000", "eval2001"):
        for result in find_scored(exp, data):
            ours.setdefault(result.system, {}).setdefault(data, result)
    lines = ["## Beside what others reached", "", "| system | of | " + " | ".join(COLUMNS) + " |"]
    lines.append("|" + "---|" * (2 + len(COLUMNS)))
    for system, results in ours.items():
        found = _by_column(results)
        rows = [
            (source, [*values, *[None] * (len(COLUMNS) - len(values))]) for source, values in PUBLISHED.get(system, [])
        ]
        for source, values in [*rows, ("ours", [found.get(key) for key in COLUMNS.values()])]:
            shown = ["–" if v is None else f"{v:.1f}" for v in values]
            lines.append(f"| {system} | {source} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", "* –: not reported, or no result here", ""])
