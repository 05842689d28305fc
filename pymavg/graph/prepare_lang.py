"""Making a lang directory from a dictionary directory (Kaldi's utils/prepare_lang.sh)."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.graph.dictionary import read_dictionary
from pymavg.graph.lexicon import SUFFIXES, LexiconOptions, add_disambiguation, lexicon_fst, mark_positions
from pymavg.graph.topology import make_topology
from pymavg.kaldi.fst import write_fst
from pymavg.kaldi.symbols import EPSILON, SymbolTable, write_symbols
from pymavg.kaldi.topology import save_topology


@dataclass
class LangOptions:
    """Options of `prepare_lang`, with Kaldi's names and defaults.

    Attributes
    ----------
    position_dependent_phones : bool
        Whether a phone is another one at the begin, end, inside, or as the whole of a word.
    share_silence_phones : bool
        Whether all silence phones share their pdfs.
    num_sil_states, num_nonsil_states : int
        HMM states of silence and of other phones.
    sil_prob : float
        Probability of silence between words.
    num_extra_phone_disambig_syms : int
        Disambiguation symbols beyond those that the lexicon needs; one is for the optional silence.
    """

    position_dependent_phones: bool = True
    share_silence_phones: bool = False
    num_sil_states: int = 5
    num_nonsil_states: int = 3
    sil_prob: float = 0.5
    num_extra_phone_disambig_syms: int = 1


def prepare_lang(dict_dir, oov, lang_dir, options=None):
    """Make `lang_dir`; it appears under its name only when everything in it is written.

    Parameters
    ----------
    dict_dir : str or Path
        See `pymavg.graph.dictionary`.
    oov : str
        The word, of the lexicon, that stands for words outside it.
    lang_dir : str or Path
        A directory that is there already is replaced; a G.fst in it is lost, since it fits the old words only.
    options : LangOptions, optional

    Raises
    ------
    PymavgError
        For a faulty dictionary or option.
    """
    options = options or LangOptions()
    if not 0.0 <= options.sil_prob < 1.0 or options.num_extra_phone_disambig_syms < 1:
        raise PymavgError(
            f"--sil-prob {options.sil_prob}, --num-extra-phone-disambig-syms {options.num_extra_phone_disambig_syms}: "
            "expected a probability in [0, 1) and a number of at least 1"
        )
    dictionary = read_dictionary(dict_dir, options.position_dependent_phones)
    if oov not in {p.word for p in dictionary.lexicon}:
        raise PymavgError(
            f"{dict_dir}: the word '{oov}' for unknown words is not in the lexicon; add a line '{oov} SPN'"
        )
    lang_dir = Path(lang_dir)
    lang_dir.parent.mkdir(parents=True, exist_ok=True)
    temporary = lang_dir.with_name(f".{lang_dir.name}.{os.getpid()}.tmp")
    try:
        _Writer(dictionary, options, temporary).write(oov)
        if lang_dir.exists():
            shutil.rmtree(lang_dir)
        temporary.replace(lang_dir)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


class _Writer:
    """Writes the parts of a lang directory into `path`."""

    def __init__(self, dictionary, options, path):
        self.dictionary, self.options, self.path = dictionary, options, path
        self.suffixes = list(SUFFIXES.values()) if options.position_dependent_phones else []
        lexicon = dictionary.lexicon
        self.lexicon = mark_positions(lexicon) if options.position_dependent_phones else lexicon
        self.marked_lexicon, highest = add_disambiguation(self.lexicon)
        self.disambig = [f"#{i}" for i in range(highest + options.num_extra_phone_disambig_syms + 1)]
        self.silence_sets = [self._variants(line, with_plain=True) for line in dictionary.silence]
        self.nonsilence_sets = [self._variants(line, with_plain=False) for line in dictionary.nonsilence]
        self.silence, self.nonsilence = sum(self.silence_sets, []), sum(self.nonsilence_sets, [])
        phones = [EPSILON, *self.silence, *self.nonsilence, *self.disambig]
        words = [EPSILON, *sorted({p.word for p in lexicon}, key=str.encode), "#0", "<s>", "</s>"]
        self.phones = SymbolTable({phone: i for i, phone in enumerate(phones)}, "phones.txt")
        self.words = SymbolTable({word: i for i, word in enumerate(words)}, "words.txt")

    def _variants(self, phones, with_plain):
        suffixes = self.suffixes or [""]
        if self.suffixes and with_plain:
            suffixes = ["", *suffixes]
        return [phone + suffix for phone in phones for suffix in suffixes]

    def write(self, oov):
        """Write everything."""
        (self.path / "phones").mkdir(parents=True)
        write_symbols(self.path / "phones.txt", self.phones.id_of)
        write_symbols(self.path / "words.txt", self.words.id_of)
        self._lines("../oov", [[oov]], self.words)
        silence, nonsilence = (self.phones.ids(names) for names in (self.silence, self.nonsilence))
        states = self.options.num_nonsil_states, self.options.num_sil_states
        save_topology(self.path / "topo", make_topology(nonsilence, silence, *states))
        self._phone_lists()
        self._tree_lists()
        self._lexicons()

    def _lines(self, name, rows, table, plain=lambda i, row: False):
        """Write phones/NAME.txt and NAME.int; fields for which `plain(index, row)` holds are the same in both."""
        base = self.path / "phones" / name
        with atomic_open(base.with_name(f"{base.name}.txt")) as stream:
            stream.writelines(" ".join(row) + "\n" for row in rows)
        with atomic_open(base.with_name(f"{base.name}.int")) as stream:
            for row in rows:
                ids = [f if plain(i, row) else str(table.id_of[f]) for i, f in enumerate(row)]
                stream.write(" ".join(ids) + "\n")

    def _phone_lists(self):
        lists = {
            "silence": self.silence,
            "nonsilence": self.nonsilence,
            "disambig": self.disambig,
            "context_indep": self.silence,
            "optional_silence": [self.dictionary.optional_silence],
        }
        for name, phones in lists.items():
            self._lines(name, [[phone] for phone in phones], self.phones)
            with atomic_open(self.path / "phones" / f"{name}.csl") as stream:
                stream.write(":".join(map(str, self.phones.ids(phones))) + "\n")
        with atomic_open(self.path / "phones" / "wdisambig.txt") as stream:
            stream.write("#0\n")
        for name, table in (("phones", self.phones), ("words", self.words)):
            with atomic_open(self.path / "phones" / f"wdisambig_{name}.int") as stream:
                stream.write(f"{table.id_of['#0']}\n")
        if self.suffixes:
            kind_of = {suffix: kind for kind, suffix in SUFFIXES.items()}
            rows = [[phone, kind_of.get(phone[-2:], "nonword")] for phone in self.silence + self.nonsilence]
            self._lines("word_boundary", rows, self.phones, plain=lambda i, row: i == 1)

    def _tree_lists(self):
        silence_sets, silence_root = self.silence_sets, ["shared", "split"]
        if self.options.share_silence_phones:
            silence_sets, silence_root = [self.silence], ["not-shared", "not-split"]
        self._lines("sets", silence_sets + self.nonsilence_sets, self.phones)
        roots = [silence_root + row for row in silence_sets] + [
            ["shared", "split", *row] for row in self.nonsilence_sets
        ]
        self._lines("roots", roots, self.phones, plain=lambda i, row: i < 2)
        silence, nonsilence = sum(self.dictionary.silence, []), sum(self.dictionary.nonsilence, [])
        is_silence = set(silence)
        questions = [
            [name for phone in row for name in self._variants([phone], phone in is_silence)]
            for row in self.dictionary.extra_questions
        ]
        questions += [[phone + suffix for phone in nonsilence] for suffix in self.suffixes]
        questions += [[phone + suffix for phone in silence] for suffix in ["", *self.suffixes] if self.suffixes]
        self._lines("extra_questions", questions, self.phones)

    def _lexicons(self):
        silence = self.dictionary.optional_silence
        rows = [[p.word, p.word, *p.phones] for p in self.lexicon] + [[EPSILON, EPSILON, silence]]
        rows = sorted({tuple(row) for row in rows}, key=lambda row: " ".join(row).encode())
        with atomic_open(self.path / "phones" / "align_lexicon.txt") as stream:
            stream.writelines(" ".join(row) + "\n" for row in rows)
        with atomic_open(self.path / "phones" / "align_lexicon.int") as stream:
            for word, _, *phones in rows:
                stream.write(" ".join(map(str, [self.words.id_of[word]] * 2 + self.phones.ids(phones))) + "\n")
        p = self.options.sil_prob
        plain = LexiconOptions(p, silence, ends=self.dictionary.ends)
        disambig = LexiconOptions(p, silence, self.disambig[-1], ends=self.dictionary.ends)
        write_fst(self.path / "L.fst", lexicon_fst(self.lexicon, self.phones, self.words, plain))
        fst = lexicon_fst(self.marked_lexicon, self.phones, self.words, disambig, self_loops=[("#0", "#0")])
        write_fst(self.path / "L_disambig.fst", fst)
