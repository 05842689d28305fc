"""A lang directory with a grammar: a copy of one without, and G.fst (Kaldi's utils/format_lm.sh)."""

import os
import shutil
from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.graph.arpa import read_arpa
from pymavg.graph.grammar import arpa_fst, word_list_fst
from pymavg.graph.lang import Lang
from pymavg.graph.ngram import UNKNOWN
from pymavg.kaldi.fst import write_fst
from pymavg.options import log, warn


def arpa_grammar(arpa, words):
    """Read a language model and return its G for a SymbolTable, with a word on what it leaves out."""
    grammar, unknown = arpa_fst(read_arpa(arpa), words)
    unknown = [word for word in unknown if word != UNKNOWN]
    if unknown:
        warn(f"{arpa}: {len(unknown)} words are not in {words.name} and are left out, the first is '{unknown[0]}'")
    log(f"{arpa}: G has {grammar.num_states} states and {grammar.num_arcs} arcs")
    return grammar


def format_lm(lang_dir, arpa, out_dir):
    """Make `out_dir` from a lang directory and a language model in ARPA format (plain or .gz)."""
    _write(lang_dir, out_dir, lambda lang: arpa_grammar(arpa, lang.words))


def format_word_list(lang_dir, word_list, out_dir, loop):
    """Make `out_dir` from a lang directory and a file with one word a line; see `word_list_fst` for `loop`."""

    def grammar(lang):
        ids = []
        for number, line in enumerate(read_lines(word_list), 1):
            if len(line.split()) != 1:
                raise PymavgError(f"{word_list}:{number}: expected one word, found '{line}'")
            ids += lang.words.ids(line.split(), f"{word_list}:{number}")
        return word_list_fst(ids, loop)

    _write(lang_dir, out_dir, grammar)


def _write(lang_dir, out_dir, make_grammar):
    lang, out_dir = Lang(lang_dir), Path(out_dir)
    grammar = make_grammar(lang)
    if out_dir.resolve() == lang.path.resolve():
        write_fst(out_dir / "G.fst", grammar)
        return
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    temporary = out_dir.with_name(f".{out_dir.name}.{os.getpid()}.tmp")
    try:
        shutil.copytree(lang.path, temporary, ignore=shutil.ignore_patterns("G.fst", "tmp"))
        write_fst(temporary / "G.fst", grammar)
        shutil.rmtree(out_dir, ignore_errors=True)
        temporary.replace(out_dir)
    except OSError as error:
        raise PymavgError(f"{out_dir}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
