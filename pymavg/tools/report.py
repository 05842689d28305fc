"""Write a report on experiments: an HTML page with learning curves, times, word error rates, speed-up, configuration.

usage: pymavg report [options] <exp-dir> ...
 e.g.: pymavg report exp/dnn
       pymavg report --output exp/report.html --command ./run.sh exp
       pymavg report --title "1 and 16 workers" --output both.html exp/dnn_1 exp/dnn_16

<exp-dir> is a directory that steps/nnet/train.sh, pretrain_dbn.sh or score_sclite.sh filled, or one that holds such
directories. The page needs no other file and no network; its charts are also written as PNG, its tables as Markdown.
"""

from pymavg.options import Parser


def main(argv):
    """Run the tool."""
    from pymavg.report.page import make  # matplotlib takes a second to load

    parser = Parser("report", __doc__)
    parser.add_argument("--output", default="report.html", help="name of the page (default report.html)")
    parser.add_argument("--title", default="", help="default: the experiments' names")
    parser.add_argument("--command", default="", help="what made the experiments")
    parser.add_argument("exp", metavar="exp-dir", nargs="+")
    args = parser.parse_args(argv)
    print("\n".join(map(str, make(args.exp, args.output, args.title, args.command))))
