"""Collect the rows of local/paper/run.sh: results.tsv, and the second part of RESULTS.md with the paper's claims.

usage: pymavg paper-results [options] <paper-dir>
 e.g.: pymavg paper-results --markdown RESULTS.md exp/paper

<paper-dir>/results.tsv gets a line for each row and seed that is whole.
"""

from pathlib import Path

from pymavg.files import read_lines
from pymavg.options import Parser
from pymavg.report.paper_page import page
from pymavg.report.paper_rows import read_rows, write_results
from pymavg.report.parts import write_part


def main(argv):
    """Run the tool."""
    parser = Parser("paper-results", __doc__)
    parser.add_argument("--markdown", help="file whose second part is written")
    parser.add_argument("--command", default="local/paper/run.sh", help="what made the rows, for the markdown")
    parser.add_argument("--notes", help="file that is put into the markdown, before its last lines")
    parser.add_argument("paper", metavar="paper-dir")
    args = parser.parse_args(argv)
    rows = read_rows(args.paper)
    write_results(Path(args.paper) / "results.tsv", rows)
    if args.markdown:
        notes = "\n".join(read_lines(args.notes)) if args.notes else ""
        write_part(args.markdown, "paper", page(rows, Path(args.paper), args.command, notes))
    print(f"{args.paper}/results.tsv: {len(rows)} trainings")
