"""From windows of phones to transition-ids: the H transducer, self-loops and transition probabilities, on arrays.

Sources: Kaldi's hmm/hmm-utils.cc (GetHTransducer, AddSelfLoopsReorder, AddTransitionProbs) and
fstext/fstext-utils-inl.h (MakeLoopFst, MakePrecedingInputSymbolsSameClass).
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.kaldi.fst import Fst


def h_transducer(windows, tree, model, transition_scale=1.0):
    """Return the transducer from transition-ids to windows of phones, without self-loops.

    Every window leads from the one loop state through the states of its HMM and back. Windows whose HMMs have equal
    pdfs share their states.

    Parameters
    ----------
    windows : list of list of int
        By label, as `compose_context` returns them; label 0 is epsilon.
    tree : ContextDependency
    model : TransitionModel
    transition_scale : float
        Scale of the log-probabilities, which are given that the state is left.

    Returns
    -------
    h : Fst
    disambig : list of int
        Input labels above the transition-ids, one for each disambiguation symbol of `windows`.
    """
    symbols = [label for label, window in enumerate(windows) if len(window) == 1 and window[0] <= 0]
    disambig = list(range(model.num_tids + 1, model.num_tids + 1 + len(symbols)))
    num_states = 1 + len(symbols)  # the loop state, then one for each symbol
    label_arcs = list(
        zip([0] * len(symbols), disambig, symbols, [0.0] * len(symbols), range(1, num_states), strict=True)
    )
    arcs = [(state, 0, 0, 0.0, 0) for state in range(1, num_states)]  # (source, ilabel, olabel, weight, target)
    entry = {}
    cost = -transition_scale * (model.log_prob - model.non_self_loop_log_prob[model.tid_tstate]).astype(np.float64)
    for label, hmm in _hmm_of_windows(windows, tree, model.topology):
        if hmm not in entry:
            entry[hmm], hmm_arcs, num_states = _hmm_arcs(hmm, model, cost, num_states)
            arcs += hmm_arcs
        ilabel, weight, target = entry[hmm]
        label_arcs.append((0, ilabel, label, weight, target))
    final = np.full(num_states, np.inf)
    final[0] = 0.0
    return Fst.from_arcs(0, final, *zip(*(label_arcs + arcs), strict=True)), disambig


def _hmm_of_windows(windows, tree, topology):
    """Yield (label, (phone, pdf of each emitting state)) for the labels that are windows of phones."""
    labels = np.array([i for i, window in enumerate(windows) if window and (len(window) > 1 or window[0] > 0)])
    if len(labels) == 0:
        return
    table = np.array([windows[i] for i in labels]).reshape(len(labels), -1)
    if table.shape[1] != tree.width:
        raise PymavgError(f"windows of {table.shape[1]} phones, the tree has {tree.width}; they belong to two systems")
    central = table[:, tree.central]
    pdfs = {}
    for phone in np.unique(central).tolist():
        rows = np.flatnonzero(central == phone)
        classes = [state.forward_class for state in topology.states(phone)[:-1]]
        found = [tree.pdfs(table[rows], np.full(len(rows), pdf_class)) for pdf_class in classes]
        if min(column.min() for column in found) < 0:
            raise PymavgError(f"the tree has no pdf for phone {phone} in some context; it belongs to another lang")
        pdfs |= dict(zip(rows.tolist(), zip(*(column.tolist() for column in found), strict=True), strict=True))
    for row, label in enumerate(labels.tolist()):
        yield label, (int(central[row]), pdfs[row])


def _hmm_arcs(hmm, model, cost, num_states):
    """Return ((ilabel, weight, state) that enters the HMM, its arcs, new number of states).

    An HMM that starts with one transition is entered by that very transition, any other one by an epsilon.
    """
    phone, pdfs = hmm
    states = model.topology.states(phone)
    leaving = [[] for _ in states]  # (transition-id, next HMM state)
    for number, pdf in enumerate(pdfs):
        tstate = model.tstate_of.get((phone, number, pdf, pdf))
        if tstate is None:
            raise PymavgError(f"the model has no state {number} of phone {phone} with pdf {pdf}: tree and model differ")
        tids = range(model.first_tid[tstate], model.first_tid[tstate + 1])
        leaving[number] = [(tid, int(model.tid_next_state[tid])) for tid in tids if not model.tid_is_self_loop[tid]]
    merge = len(leaving[0]) == 1
    at = np.arange(len(states)) + num_states - merge
    arcs = [
        (at[number], tid, 0, cost[tid], at[target])
        for number in range(merge, len(states))
        for tid, target in leaving[number]
    ]
    arcs.append((at[-1], 0, 0, 0.0, 0))
    tid, target = leaving[0][0] if merge else (0, 0)
    return (tid, cost[tid] if merge else 0.0, at[target]), arcs, num_states + len(states) - merge


def _arc_tstates(ilabel, model):
    """Return the transition-state of each input label, 0 for epsilon and for what is no transition-id."""
    is_tid = ilabel <= model.num_tids
    return np.where(is_tid, model.tid_tstate[np.where(is_tid, ilabel, 0)], 0)


def add_self_loops(fst, model, scale=0.1):
    """Return the graph with self-loops, in Kaldi's order: a state is entered first, then stayed in, then left.

    A state entered by several transition-states gets one more state for each of them, linked to it by an epsilon.
    Then every state takes the self-loop of the transition-state that enters it, and its ways out the probability of
    leaving.

    Parameters
    ----------
    fst : Fst
        Its input labels are transition-ids without self-loops, and perhaps labels above them.
    model : TransitionModel
    scale : float
        Scale of the log-probabilities of staying and leaving.
    """
    source, target = fst.source.astype(np.int64), fst.target.astype(np.int64)
    tstate = _arc_tstates(fst.ilabel, model)
    width = len(model.first_tid)
    pairs = np.unique(np.append(target * width + tstate, fst.start * width))
    state, entered_by = pairs // width, pairs % width
    mixed = np.bincount(state, minlength=fst.num_states)[state] > 1
    enters = np.zeros(fst.num_states, np.int64)
    enters[state[~mixed]] = entered_by[~mixed]
    new = pairs[mixed & (entered_by > 0)]
    number = np.searchsorted(new, target * width + tstate)
    redirected = np.isin(target * width + tstate, new)
    target = np.where(redirected, fst.num_states + number, target)
    enters = np.concatenate([enters, new % width])

    loop_state = np.flatnonzero(model.self_loop_tid[enters])
    loop_tid = model.self_loop_tid[enters[loop_state]]
    leaving = -scale * model.non_self_loop_log_prob[enters]
    link = np.arange(fst.num_states, len(enters))
    nothing = np.zeros(len(link), np.int64)
    final = np.concatenate([fst.final, np.full(len(link), np.inf)])
    return Fst.from_arcs(
        fst.start,
        final + leaving,
        np.concatenate([source, link, loop_state]),
        np.concatenate([fst.ilabel, nothing, loop_tid]),
        np.concatenate([fst.olabel, nothing, np.zeros(len(loop_state), np.int64)]),
        np.concatenate([fst.weight + leaving[source], leaving[link], -scale * model.log_prob[loop_tid]]),
        np.concatenate([target, new // width, loop_state]),
    )


def add_transition_probs(fst, model, transition_scale=1.0, self_loop_scale=0.1):
    """Return the graph with the costs of its transition-ids added.

    With l = log p(self-loop), n = log(1 − p(self-loop)): a self-loop costs −s·l; any other transition of
    log-probability p costs −s·n − t·(p − n), s and t being the two scales.
    """
    leaving = model.non_self_loop_log_prob[model.tid_tstate]
    cost = np.where(
        model.tid_is_self_loop,
        -self_loop_scale * model.log_prob,
        -self_loop_scale * leaving - transition_scale * (model.log_prob - leaving),
    )
    cost[0] = 0.0
    is_tid = fst.ilabel <= model.num_tids
    weight = fst.weight + cost[np.where(is_tid, fst.ilabel, 0)]
    return Fst(fst.start, fst.final, fst.offset, fst.ilabel, fst.olabel, weight.astype(np.float32), fst.target)
