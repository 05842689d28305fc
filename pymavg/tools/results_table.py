"""Show the word error rates of all systems of an experiment directory.

usage: pymavg results-table [options] <exp-dir>
 e.g.: pymavg results-table exp
       pymavg results-table --markdown RESULTS.md --command ./run.sh exp

One tab-separated line for each system and part of the evaluation set: system, part, WER in % at the LM weight and
penalty chosen on the development set, errors, words of the reference, decode directory.
"""

from pymavg.options import Parser, boolean
from pymavg.report import steps
from pymavg.report.parts import write_part
from pymavg.report.published import comparison
from pymavg.report.results import find_results, markdown, tab_lines


def main(argv):
    """Run the tool."""
    parser = Parser("results-table", __doc__)
    parser.add_argument("--data", default="eval2000", help="evaluation set: exp/*/decode_DATA* (default eval2000)")
    parser.add_argument("--markdown", help="file whose first part becomes the table, with commit, command and machine")
    parser.add_argument("--command", default="./run.sh", help="what made the results, for the markdown")
    parser.add_argument(
        "--published", type=boolean, default=False, help="true: what others reached on Switchboard, too"
    )
    parser.add_argument("exp", metavar="exp-dir")
    args = parser.parse_args(argv)
    results = find_results(args.exp, args.data)
    if args.markdown:
        beside = "\n" + comparison(args.exp) if args.published else ""
        write_part(args.markdown, "wer", markdown(results, args.command) + steps.markdown(results) + beside)
    print("\n".join(tab_lines(results)))
