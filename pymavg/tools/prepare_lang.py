"""Make a lang directory (phones, words, topology, lexicon FSTs) from a dictionary directory.

usage: utils/prepare_lang.sh [options] <dict-dir> <oov-word> <tmp-dir> <lang-dir>
e.g.:  utils/prepare_lang.sh data/local/dict '<unk>' data/local/lang data/lang

<dict-dir> holds lexicon.txt or lexiconp.txt, silence_phones.txt, nonsilence_phones.txt, optional_silence.txt and
perhaps extra_questions.txt. <oov-word> is the word of the lexicon that stands for words outside it. <tmp-dir> is
Kaldi's; nothing is written there.
"""

from pymavg.graph.prepare_lang import LangOptions, prepare_lang
from pymavg.options import Parser, log


def main(argv):
    """Run the tool."""
    parser = Parser("prepare-lang", __doc__)
    parser.add_options_of(LangOptions())
    parser.add_argument("dict_dir", metavar="dict-dir")
    parser.add_argument("oov_word", metavar="oov-word")
    parser.add_argument("tmp_dir", metavar="tmp-dir")
    parser.add_argument("lang_dir", metavar="lang-dir")
    args = parser.parse_args(argv)
    options = LangOptions(**{name: getattr(args, name) for name in vars(LangOptions())})
    prepare_lang(args.dict_dir, args.oov_word, args.lang_dir, options)
    log(f"prepare-lang: {args.lang_dir} is ready")
