"""The decoding graph HCLG (Kaldi's utils/mkgraph.sh)."""

import shutil
from pathlib import Path

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.graph.algorithms import compose, compose_context, connect, determinize_star, minimize_encoded
from pymavg.graph.eps_removal import remove_eps_local
from pymavg.graph.hcl import add_self_loops, h_transducer
from pymavg.graph.lang import Lang
from pymavg.graph.push_special import push_special
from pymavg.kaldi.fst import write_fst
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree
from pymavg.options import log

COPIED = ("word_boundary.*", "align_lexicon.*", "disambig.*", "silence.csl")


def lexicon_grammar(lexicon, grammar, removed_word=None):
    """Return LG = min(det(L ∘ G)), its weights pushed.

    Parameters
    ----------
    lexicon, grammar : Fst
        L with disambiguation symbols, and G.
    removed_word : int, optional
        A word whose arcs are taken out.

    Raises
    ------
    PymavgError
        When no sentence of the grammar can be said with the lexicon.
    """
    lg = compose(lexicon, grammar)
    if removed_word is not None:
        lg = connect(lg.arcs_from(np.flatnonzero(lg.olabel != removed_word)))
    if lg.num_states == 0:
        raise PymavgError("L ∘ G is empty: lexicon and grammar have no words in common; is G of another lang?")
    return push_special(minimize_encoded(determinize_star(lg)))


def decoding_graph(lg, disambig, tree, model, transition_scale=1.0, self_loop_scale=0.1):
    """Return HCLG and the labels that stand for disambiguation symbols in H.

    Parameters
    ----------
    lg : Fst
    disambig : list of int
        Disambiguation symbols among the phones.
    tree : ContextDependency
    model : TransitionModel
    transition_scale, self_loop_scale : float
        Scales of the log-probabilities of transitions and of self-loops.

    Returns
    -------
    graph : Fst
    h_disambig : list of int
    """
    clg, windows = compose_context(lg, disambig, tree.width, tree.central)
    _report("CLG", clg)
    h, h_disambig = h_transducer(windows, tree, model, transition_scale)
    graph = determinize_star(compose(h, clg))
    graph.ilabel[np.isin(graph.ilabel, h_disambig)] = 0
    graph = minimize_encoded(remove_eps_local(graph))
    _report("HCLG without self-loops", graph)
    return add_self_loops(graph, model, self_loop_scale), h_disambig


def make_graph(lang_dir, model_dir, graph_dir, transition_scale=1.0, self_loop_scale=0.1, remove_oov=False):
    """Make a directory with HCLG.fst and what decoding needs beside it; does nothing when it is up to date.

    Parameters
    ----------
    lang_dir : str or Path
        With L_disambig.fst and G.fst.
    model_dir : str or Path
        With final.mdl and tree.
    graph_dir : str or Path
    transition_scale, self_loop_scale : float
    remove_oov : bool
        Whether the word for unknown words is taken out of the grammar.

    Returns
    -------
    bool
        Whether it was made anew.
    """
    lang, model_dir, graph_dir = Lang(lang_dir), Path(model_dir), Path(graph_dir)
    inputs = [
        lang.path / name for name in ("L_disambig.fst", "G.fst", "phones.txt", "words.txt", "phones/disambig.int")
    ]
    inputs += [model_dir / "final.mdl", model_dir / "tree"]
    for path in inputs:
        if not path.exists():
            raise PymavgError(f"{path}: no such file, and the graph needs it")
    output = graph_dir / "HCLG.fst"
    if output.exists() and output.stat().st_mtime >= max(path.stat().st_mtime for path in inputs):
        return False
    model, tree = read_transition_model(model_dir / "final.mdl"), read_tree(model_dir / "tree")
    _check_match(lang, model_dir, model, tree)
    lg = lexicon_grammar(lang.lexicon_disambig_fst, lang.grammar_fst, lang.oov if remove_oov else None)
    _report("LG", lg)
    graph, h_disambig = decoding_graph(lg, lang.disambig, tree, model, transition_scale, self_loop_scale)
    _report("HCLG", graph)
    _copy_lang(lang, graph_dir)
    for name, numbers in (("disambig_tid.int", h_disambig), ("num_pdfs", [model.num_pdfs])):
        with atomic_open(graph_dir / name) as stream:
            stream.writelines(f"{number}\n" for number in numbers)
    write_fst(output, graph)
    return True


def _check_match(lang, model_dir, model, tree):
    known = set(lang.silence_phones + lang.nonsilence_phones)
    if set(model.topology.phones) != known:
        raise PymavgError(
            f"{model_dir}/final.mdl has {len(model.topology.phones)} phones, {lang.path} {len(known)}: the model was "
            "trained with another lang; make the graph with one that has the same phones"
        )
    if model.num_pdfs != tree.num_pdfs:
        raise PymavgError(f"{model_dir}: final.mdl has {model.num_pdfs} pdfs, tree {tree.num_pdfs}; they do not match")


def _copy_lang(lang, graph_dir):
    (graph_dir / "phones").mkdir(parents=True, exist_ok=True)
    for name in ("words.txt", "phones.txt"):
        shutil.copyfile(lang.path / name, graph_dir / name)
    for pattern in COPIED:
        for path in (lang.path / "phones").glob(pattern):
            shutil.copyfile(path, graph_dir / "phones" / path.name)


def _report(name, fst):
    log(f"{name}: {fst.num_states} states, {fst.num_arcs} arcs, {np.isfinite(fst.final).sum()} final")
