"""Count how words are said, and where there is silence between them, in the alignments of a data directory.

usage: pymavg get-prons <data> <lang> <ali-dir>
 e.g.: pymavg get-prons data/train data/lang exp/tri3_ali

Writes pron_counts_nowb.txt, sil_counts_nowb.txt and pron_bigram_counts_nowb.txt into <ali-dir>, whose final.mdl and
ali.*.gz are read.
"""

from pathlib import Path

from pymavg.data.datadir import DataDir
from pymavg.errors import PymavgError
from pymavg.graph.lang import Lang
from pymavg.graph.pronunciation_files import write_counts
from pymavg.graph.pronunciations import PronunciationCounts, WordSplitter
from pymavg.kaldi.tables import read_int_vectors
from pymavg.kaldi.transitions import read_transition_model
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("get-prons", __doc__)
    for name in ("data", "lang", "ali_dir"):
        parser.add_argument(name, metavar=name.replace("_", "-"))
    args = parser.parse_args(argv)
    lang, folder, text = Lang(args.lang), Path(args.ali_dir), DataDir(args.data).text
    splitter, counts, utterances = (
        WordSplitter(read_transition_model(folder / "final.mdl"), lang),
        PronunciationCounts(),
        0,
    )
    known, unknown = lang.words.id_of, lang.words.symbol_of[lang.oov]
    for path in sorted(folder.glob("ali.*.gz")):
        for utterance, tids in read_int_vectors(f"ark:{path}"):
            if utterance in text:
                words = [word if word in known else unknown for word in text[utterance].split()]
                counts.add(splitter.split(tids, words, f"{path}: utterance {utterance}"))
                utterances += 1
    if not utterances:
        raise PymavgError(f"{folder}: ali.*.gz have no utterance of {args.data}/text; align it first")
    write_counts(folder, counts)
    log(f"get-prons: {counts.forms.total()} words, {len(counts.forms)} forms, in {utterances} utterances")
