"""Copy a dictionary directory with the probabilities of pronunciations and, given counts, of silence around words.

usage: utils/dict_dir_add_pronprobs.sh [options] <dict-dir> <pron-counts> [<sil-counts> <bigram-counts>] <new-dict-dir>
 e.g.: utils/dict_dir_add_pronprobs.sh --max-normalize true data/local/dict exp/tri3_ali/pron_counts_nowb.txt
           exp/tri3_ali/{sil,pron_bigram}_counts_nowb.txt data/local/dict_prons

The counts are those of steps/get_prons.sh. Writes lexiconp.txt and, with <sil-counts> and <bigram-counts>,
lexiconp_silprob.txt and silprob.txt, all of which utils/prepare_lang.sh takes.
"""

from pymavg.errors import PymavgError
from pymavg.graph.pronunciation_files import add_probabilities, read_counts
from pymavg.options import Parser, boolean, log


def main(argv):
    """Run the tool."""
    parser = Parser("dict-dir-add-pronprobs", __doc__)
    parser.add_argument(
        "--max-normalize", type=boolean, default=False, help="each word's best pronunciation gets 1; default false"
    )
    parser.add_argument("dict_dir", metavar="dict-dir")
    parser.add_argument("files", metavar="file", nargs="+")
    args = parser.parse_args(argv)
    *files, target = args.files
    if len(files) not in (1, 3):
        raise PymavgError("dict-dir-add-pronprobs: 3 or 5 arguments expected (see --help)")
    counts = read_counts(files[0], files[2] if len(files) == 3 else None)
    add_probabilities(args.dict_dir, counts, target, args.max_normalize, len(files) == 3)
    log(f"dict-dir-add-pronprobs: made {target}")
