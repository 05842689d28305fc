#!/usr/bin/env python3
"""Make the default corpus: real conversational English laid out exactly as Switchboard and Hub5'00 are.

usage: local/make_mini_corpus.py [options] <corpus-dir>
e.g.:  local/make_mini_corpus.py corpus
       local/make_mini_corpus.py --mini-hours 0.25 corpus

The speech is that of two voiced adventure games which Debian carries as free software. <corpus-dir> gets LDC97S62
(training), LDC2002S09 and LDC2002T43 (evaluation: sw_* conversations of the first game, en_* of the second). The
rules are in local/mini/README.md. The same options give the same bytes every time.
"""

import multiprocessing
import shutil
import sys
from pathlib import Path

from mini import build, debs, drascula, queen, selection

from pymavg.errors import PymavgError
from pymavg.options import Parser, log, positive, real, whole


def main(argv):
    """Make the corpus beside its final place, move it there, and print what is in it."""
    parser = Parser("make_mini_corpus", __doc__)
    parser.prog = "local/make_mini_corpus.py"
    parser.add_argument("--mini-hours", type=real, metavar="H", help="hours of training speech; default: all there is")
    parser.add_argument("--debs", type=Path, metavar="DIR", help="folder with the two Debian packages")
    parser.add_argument("--seed", type=whole, default=1, help="of pauses and noise; default 1")
    parser.add_argument("--nj", type=positive, default=multiprocessing.cpu_count(), help="default: all cores")
    parser.add_argument("corpus", metavar="corpus-dir", type=Path)
    options = parser.parse_args(argv)
    if options.mini_hours is not None and options.mini_hours <= 0:
        parser.error(f"--mini-hours needs a number above 0, got {options.mini_hours:g}")
    work = options.corpus.with_name(options.corpus.name + ".debs")
    making = options.corpus.with_name(options.corpus.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    try:
        first, second = debs.unpack(work, options.debs)
        parts, known = selection.split(queen.read(first), drascula.read(second), options.mini_hours)
        summary = build.corpus(making, parts, known, options.seed, options.nj)
    except (debs.Missing, ValueError) as error:
        raise PymavgError(str(error)) from error
    finally:
        shutil.rmtree(work / "tree", ignore_errors=True)
    (making / "SUMMARY").write_text("\n".join(summary) + "\n")
    shutil.rmtree(options.corpus, ignore_errors=True)
    making.rename(options.corpus)
    for line in summary:
        log(line)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PymavgError as problem:
        sys.exit(f"ERROR (make_mini_corpus.py): {problem}")
