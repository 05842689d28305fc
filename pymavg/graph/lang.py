"""A lang directory, as `utils/prepare_lang.sh` makes it: symbols, classes of phones, lexicon."""

from functools import cached_property
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.kaldi.fst import read_fst
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.topology import load_topology


class Lang:
    """Reads the parts of a lang directory when they are asked for.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    words, phones : SymbolTable
    topology : Topology
    lexicon_fst, lexicon_disambig_fst, grammar_fst : Fst
        L.fst, L_disambig.fst, G.fst.
    silence_phones, nonsilence_phones, disambig, context_indep : list of int
        Phone ids.
    word_disambig_phones, word_disambig_words : list of int
        Ids of #0 (and of others that may stand in G) as phones and as words.
    optional_silence, oov : int
        Phone of the silence between words; word for what is not in words.txt.
    sets, extra_questions : list of list of int
        Phones that share a tree root's questions; questions to add to the automatic ones.
    roots : list of (bool, bool, list of int)
        Shared root?, split?, phones: one tree root each.
    word_boundary : dict int -> str
        Phone to `begin`, `end`, `internal`, `singleton` or `nonword`; empty without position-dependent phones.
    align_lexicon : list of (int, int, tuple of int)
        Word as it is printed, word in the lexicon, phones.
    """

    def __init__(self, path):
        self.path = Path(path)
        if not (self.path / "words.txt").exists():
            raise PymavgError(
                f"{path}: no words.txt here; expected a lang directory: make it with utils/prepare_lang.sh"
            )

    words = cached_property(lambda self: read_symbols(self.path / "words.txt"))
    phones = cached_property(lambda self: read_symbols(self.path / "phones.txt"))
    topology = cached_property(lambda self: load_topology(self.path / "topo"))
    lexicon_fst = cached_property(lambda self: read_fst(self.path / "L.fst"))
    lexicon_disambig_fst = cached_property(lambda self: read_fst(self.path / "L_disambig.fst"))
    grammar_fst = cached_property(lambda self: read_fst(self.path / "G.fst"))
    silence_phones = cached_property(lambda self: self.ids("silence"))
    nonsilence_phones = cached_property(lambda self: self.ids("nonsilence"))
    disambig = cached_property(lambda self: self.ids("disambig"))
    context_indep = cached_property(lambda self: self.ids("context_indep"))
    word_disambig_phones = cached_property(lambda self: self.ids("wdisambig_phones"))
    word_disambig_words = cached_property(lambda self: self.ids("wdisambig_words"))
    optional_silence = cached_property(lambda self: self._single(self.path / "phones" / "optional_silence.int"))
    oov = cached_property(lambda self: self._single(self.path / "oov.int"))
    sets = cached_property(lambda self: [numbers for _, numbers in self._rows("sets")])
    extra_questions = cached_property(lambda self: [numbers for _, numbers in self._rows("extra_questions")])

    @cached_property
    def roots(self):
        """Tree roots, from phones/roots.int."""
        roots = []
        for where, (shared, split, *phones) in self._rows("roots", words=2):
            if shared not in ("shared", "not-shared") or split not in ("split", "not-split") or not phones:
                raise PymavgError(f"{where}: expected '[not-]shared [not-]split phone …'")
            roots.append((shared == "shared", split == "split", phones))
        return roots

    @cached_property
    def word_boundary(self):
        """Place in the word of each phone, from phones/word_boundary.int."""
        if not (self.path / "phones" / "word_boundary.int").exists():
            return {}
        return {phone: kind for _, (phone, kind) in self._rows("word_boundary", words=-1)}

    @cached_property
    def align_lexicon(self):
        """Lexicon for word alignment, from phones/align_lexicon.int."""
        return [(row[0], row[1], tuple(row[2:])) for _, row in self._rows("align_lexicon")]

    def ids(self, name):
        """Return all ids of phones/NAME.int."""
        return [number for _, row in self._rows(name) for number in row]

    def _rows(self, name, words=0):
        """Return (file:line, fields) of phones/NAME.int; the first (or, if -1, the last) `words` fields stay text."""
        path = self.path / "phones" / f"{name}.int"
        rows = []
        for number, line in enumerate(read_lines(path), 1):
            fields = line.split()
            start, end = (words, len(fields)) if words >= 0 else (0, len(fields) + words)
            if not all(field.isdecimal() for field in fields[start:end]) or (words and len(fields) < 2):
                raise PymavgError(f"{path}:{number}: expected ids, found '{line}'; make lang again")
            ids = [int(field) for field in fields[start:end]]
            rows.append((f"{path}:{number}", fields[:start] + ids + fields[end:]))
        return rows

    @staticmethod
    def _single(path):
        fields = " ".join(read_lines(path)).split()
        if len(fields) != 1 or not fields[0].isdecimal():
            raise PymavgError(f"{path}: expected one id, found '{' '.join(fields)}'")
        return int(fields[0])
