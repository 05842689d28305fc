"""Checks of a lang directory (Kaldi's utils/validate_lang.pl)."""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import read_lines
from pymavg.graph.lang import Lang

LISTS = ("silence", "nonsilence", "disambig", "context_indep", "optional_silence")
TABLES = ("roots", "sets", "extra_questions", "word_boundary", "align_lexicon")


def validate_lang(path):
    """Check a lang directory.

    Raises
    ------
    PymavgError
        With file (and line where there is one), for: symbol tables with gaps; .txt, .int and .csl that differ; phones
        in two classes or in none; a topology, roots or sets that leave out a phone; FSTs that are damaged, use unknown
        symbols, or lack the disambiguation symbols that they need.
    """
    lang = Lang(path)
    for table in (lang.words, lang.phones):
        if sorted(table.symbol_of) != list(range(len(table))):
            raise PymavgError(f"{table.name}: the ids are not 0 to {len(table) - 1} without gaps; make lang again")
    for symbol in ("#0", "<s>", "</s>"):
        lang.words.ids([symbol])
    for name in LISTS:
        _same_in_csl(lang, name)
    for name in LISTS + TABLES:
        _same_in_txt(lang, name)
    _check_phone_classes(lang)
    _check_cover(lang, "topo", lang.topology.phones)
    _check_cover(lang, "phones/sets.int", sum(lang.sets, []))
    _check_cover(lang, "phones/roots.int", sum((phones for _, _, phones in lang.roots), []))
    if lang.word_boundary:
        _check_cover(lang, "phones/word_boundary.int", list(lang.word_boundary))
    if lang.oov not in lang.words.symbol_of:
        raise PymavgError(f"{lang.path}/oov.int: {lang.oov} is not the id of a word")
    _check_fsts(lang)


def _same_in_csl(lang, name):
    path = lang.path / "phones" / f"{name}.csl"
    ids = lang.ids(name)
    if read_lines(path) != [":".join(map(str, ids))]:
        raise PymavgError(f"{path}: differs from {name}.int; make lang again")


def _same_in_txt(lang, name):
    """Check phones/NAME.txt against NAME.int, field by field."""
    text, ids = (lang.path / "phones" / f"{name}.{kind}" for kind in ("txt", "int"))
    if name == "word_boundary" and not ids.exists():
        return
    rows = read_lines(text), read_lines(ids)
    if len(rows[0]) != len(rows[1]):
        raise PymavgError(f"{ids}: {len(rows[1])} lines, {text.name} has {len(rows[0])}; make lang again")
    for number, (line, numbers) in enumerate(zip(*rows, strict=True), 1):
        for i, (symbol, value) in enumerate(zip(line.split(), numbers.split(), strict=False)):
            table = lang.words if name == "align_lexicon" and i < 2 else lang.phones
            if symbol != value and str(table.id_of.get(symbol)) != value:
                raise PymavgError(f"{ids}:{number}: {value} is not the id of '{symbol}' in {table.name}")
        if len(line.split()) != len(numbers.split()):
            raise PymavgError(f"{ids}:{number}: not as many fields as in {text.name}; make lang again")


def _check_phone_classes(lang):
    classes = [lang.silence_phones, lang.nonsilence_phones, lang.disambig]
    listed = sum(classes, [])
    if sorted(listed) != list(range(1, len(lang.phones))):
        raise PymavgError(
            f"{lang.path}/phones: silence, nonsilence and disambig list {len(listed)} phones, {len(set(listed))} "
            f"different ones; expected each of the {len(lang.phones) - 1} of phones.txt once"
        )
    if lang.optional_silence not in lang.silence_phones:
        raise PymavgError(f"{lang.path}/phones/optional_silence.int: {lang.optional_silence} is no silence phone")


def _check_cover(lang, name, phones):
    expected = sorted(lang.silence_phones + lang.nonsilence_phones)
    if sorted(phones) != expected:
        wrong = sorted(set(phones) ^ set(expected)) or [p for p in expected if list(phones).count(p) > 1]
        raise PymavgError(
            f"{lang.path}/{name}: does not list each of the {len(expected)} phones once; see phone {wrong[0]} "
            f"({lang.phones.symbol_of.get(wrong[0], 'unknown')})"
        )


def _check_fsts(lang):
    fsts = {"L.fst": lang.lexicon_fst, "L_disambig.fst": lang.lexicon_disambig_fst}
    for name, fst in fsts.items():
        _check_labels(lang, name, fst, lang.phones, lang.words)
        if np.any(np.diff(fst.olabel) < 0, where=np.diff(fst.source) == 0):
            raise PymavgError(f"{lang.path}/{name}: its arcs are not sorted by word; make lang again")
    if np.isin(lang.lexicon_fst.ilabel, lang.disambig).any():
        raise PymavgError(f"{lang.path}/L.fst: has disambiguation symbols, which belong into L_disambig.fst")
    if not np.isin(lang.word_disambig_phones, lang.lexicon_disambig_fst.ilabel).all():
        raise PymavgError(f"{lang.path}/L_disambig.fst: lacks the self-loop of #0; make lang again")
    if (lang.path / "G.fst").exists():
        grammar = lang.grammar_fst
        _check_labels(lang, "G.fst", grammar, lang.words, lang.words)
        if np.any((grammar.ilabel == 0) & (grammar.olabel == 0)):
            raise PymavgError(
                f"{lang.path}/G.fst: has arcs without labels; back-off must read #0: make it with format_lm.sh"
            )


def _check_labels(lang, name, fst, inputs, outputs):
    for labels, table in ((fst.ilabel, inputs), (fst.olabel, outputs)):
        if labels.max(initial=0) >= len(table):
            raise PymavgError(
                f"{lang.path}/{name}: label {labels.max()} is not in {table.name} ({len(table)} symbols); "
                "the FST was made with other symbols: make it again"
            )
