"""Print the path of each lattice that has the fewest word errors, and count these.

usage: pymavg lattice-oracle [options] <words.txt> <text> <lattices>
 e.g.: pymavg lattice-oracle exp/tri4/graph/words.txt data/test/text exp/tri4/decode/lat.1.gz >oracle.txt

As Kaldi's lattice-oracle. Of paths with equally few errors the cheapest is taken. Words of the text that are not in
words.txt count as errors.
"""

import contextlib

import kaldialign

from pymavg.decoding.archive import LatticeWriter, read_lattices
from pymavg.decoding.paths import oracle
from pymavg.decoding.wer import EPS, Counts
from pymavg.errors import PymavgError
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.tables import read_token_map
from pymavg.options import Parser, log, real, warn


def main(argv):
    """Run the tool."""
    parser = Parser("lattice-oracle", __doc__)
    parser.add_argument("--acwt", type=real, default=0.1, help="acoustic scale of the costs (default 0.1)")
    parser.add_argument("--write-lattices", metavar="ARCHIVE", help="write the paths as lattices, too")
    parser.add_argument("words", metavar="words.txt")
    parser.add_argument("text")
    parser.add_argument("lattices", help="archive, as lat.1.gz")
    args = parser.parse_args(argv)
    symbols, text, counts = read_symbols(args.words), read_token_map(args.text), Counts()
    with LatticeWriter(args.write_lattices) if args.write_lattices else contextlib.nullcontext() as writer:
        for utterance, lattice in read_lattices(args.lattices):
            if utterance not in text:
                warn(f"{args.lattices}: utterance {utterance} is not in {args.text}; left out")
                continue
            said = text[utterance].split()
            ids = [symbols.id_of.get(word, -1) for word in said]
            _, path = oracle(lattice, ids, lattice.costs(acoustic_scale=args.acwt))
            found = symbols.symbols(path.words.tolist(), f"{args.lattices}: utterance {utterance}")
            print(utterance, *found)
            counts += errors(said, found)
            if writer:
                writer.write(utterance, lattice.select(path.arcs))
    if not counts.words:
        raise PymavgError(f"{args.lattices}: no utterance of {args.text} is here")
    log(str(counts))


def errors(said, found):
    """Return the Counts of one utterance: word lists of the reference and the path."""
    pairs = kaldialign.align(said, found, EPS)
    insertions, deletions = (sum(pair[k] == EPS for pair in pairs) for k in (0, 1))
    wrong = sum(a != b for a, b in pairs)
    return Counts(len(said), wrong - insertions - deletions, deletions, insertions)
