"""Transition models, as in Kaldi's hmm/transition-model.h and .cc.

A *transition-state* (1, 2, …) is one tuple (phone, HMM state, forward pdf, self-loop pdf); a *transition-id* (1, 2, …)
is one arc that leaves it. Alignments are sequences of transition-ids.
"""

import numpy as np

from pymavg.errors import PymavgError
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.topology import read_count, read_topology, write_topology

PROB_FLOOR = 0.01  # of one transition (MleTransitionUpdateConfig)
MIN_COUNT = 5.0  # frames below which a transition-state keeps its probabilities
MIN_LEAVING = 1e-10  # probability of leaving a state that seems never to be left


class TransitionModel:
    """Transition probabilities, and what each transition-id means.

    Parameters
    ----------
    topology : Topology
    tuples : int array (N, 4)
        Rows (phone, HMM state, forward pdf, self-loop pdf), sorted; row i is transition-state i + 1.
    log_prob : float array (num_tids + 1,), optional
        By default the topology's probabilities.

    Attributes
    ----------
    num_tids, num_pdfs : int
    tid_pdf, tid_phone, tid_tstate, tid_hmm_state, tid_next_state : int32 (num_tids + 1,)
        By transition-id; entry 0 is unused.
    tid_is_self_loop, tid_is_final : bool (num_tids + 1,)
        Whether the arc stays in its state; whether it leads to the end of the phone.
    log_prob : float32 (num_tids + 1,)
    first_tid : int32 (N + 2,)
        First transition-id of each transition-state; the last entry is num_tids + 1.
    self_loop_tid : int32 (N + 1,)
        By transition-state; 0 where it has no self-loop.
    non_self_loop_log_prob : float32 (N + 1,)
        log(1 − p(self-loop)) by transition-state.
    tstate_of : dict (phone, HMM state, forward pdf, self-loop pdf) -> transition-state
    """

    def __init__(self, topology, tuples, log_prob=None):
        self.topology = topology
        self.tuples = np.asarray(tuples, np.int32).reshape(-1, 4)
        self.tstate_of = {tuple(row): i + 1 for i, row in enumerate(self.tuples.tolist())}
        self._number_transitions()
        self.set_log_prob(self._topology_log_prob() if log_prob is None else log_prob)

    @classmethod
    def from_tree(cls, topology, tree):
        """Make the untrained model for a tree (`pymavg.kaldi.tree.ContextDependency`)."""
        if not topology.is_hmm:
            raise PymavgError(
                "a topology with separate self-loop pdfs cannot be trained; give each state one <PdfClass>"
            )
        tuples = [
            (phone, number, pdf, pdf)
            for phone in topology.phones
            for number, state in enumerate(topology.states(phone)[:-1])
            for pdf in tree.possible_pdfs(phone, state.forward_class)
        ]
        return cls(topology, tuples)

    def _number_transitions(self):
        states = [self.topology.states(phone)[number] for phone, number, _, _ in self.tuples.tolist()]
        counts = np.array([0] + [len(state.transitions) for state in states])
        self.first_tid = np.concatenate([[0], 1 + np.cumsum(counts)]).astype(np.int32)
        self.tid_tstate = np.concatenate([[0], np.repeat(np.arange(len(counts)), counts)]).astype(np.int32)
        phone, hmm_state, forward, self_loop = np.concatenate([[[0, -1, 0, 0]], self.tuples]).T[:, self.tid_tstate]
        ends = {p: len(self.topology.states(p)) - 1 for p in self.topology.phones}
        self.tid_phone, self.tid_hmm_state = phone, hmm_state
        self.tid_next_state = np.array([-2] + [t for state in states for t, _ in state.transitions], np.int32)
        self.tid_is_self_loop = self.tid_next_state == hmm_state
        self.tid_is_final = self.tid_next_state == np.array([ends.get(p, -1) for p in phone.tolist()])
        self.tid_pdf = np.where(self.tid_is_self_loop, self_loop, forward).astype(np.int32)
        self.num_tids = len(self.tid_pdf) - 1
        self.num_pdfs = int(self.tuples[:, 2:].max()) + 1
        self.self_loop_tid = np.zeros(len(counts), np.int32)
        loops = np.flatnonzero(self.tid_is_self_loop)
        self.self_loop_tid[self.tid_tstate[loops]] = loops

    def _topology_log_prob(self):
        rows = (self.topology.states(phone)[number].transitions for phone, number, _, _ in self.tuples.tolist())
        return np.log(np.array([1.0] + [p for row in rows for _, p in row]))

    def set_log_prob(self, log_prob):
        """Take new log-probabilities (num_tids + 1,) and derive `non_self_loop_log_prob` from them."""
        self.log_prob = np.array(log_prob, np.float32)
        loop = np.exp(self.log_prob[self.self_loop_tid].astype(np.float64))
        leaving = np.where(self.self_loop_tid > 0, np.maximum(1.0 - loop, MIN_LEAVING), 1.0)
        self.non_self_loop_log_prob = np.log(leaving).astype(np.float32)

    def update(self, counts):
        """Set the probabilities to their maximum-likelihood estimate.

        p = count / Σ count within each transition-state, floored at 0.01 and renormalised three times; a state seen
        fewer than 5 times keeps its probabilities (MleUpdate in Kaldi's hmm/transition-model.cc).

        Parameters
        ----------
        counts : float array (num_tids + 1,)
            Frames of each transition-id.

        Returns
        -------
        improvement : float
            Gain of the log-likelihood over all frames.
        """
        counts = np.asarray(counts, np.float64)
        first = self.first_tid[1:-1]
        total = np.add.reduceat(counts, first)
        seen = np.repeat(total >= MIN_COUNT, np.diff(self.first_tid[1:]))
        p = counts[1:] / np.maximum(np.repeat(total, np.diff(self.first_tid[1:])), MIN_LEAVING)
        for _ in range(3):
            share = np.repeat(np.add.reduceat(p, first - 1), np.diff(self.first_tid[1:]))
            p = np.maximum(p / np.maximum(share, MIN_LEAVING), PROB_FLOOR)
        alone = np.repeat(np.diff(self.first_tid[1:]) == 1, np.diff(self.first_tid[1:]))
        log_prob = self.log_prob.astype(np.float64)
        log_prob[1:] = np.where(seen & ~alone, np.log(p), log_prob[1:])
        improvement = float(counts[1:] @ (log_prob[1:] - self.log_prob[1:]))
        self.set_log_prob(log_prob)
        return improvement

    def split_to_phones(self, alignment):
        """Return (start frame, end frame, phone) of each phone of an alignment; the end is exclusive.

        Takes both orders of self-loops: after the transition that leaves the state (Kaldi's `--reorder=true`, ours)
        or before it.

        Raises
        ------
        PymavgError
            When the alignment stops inside a phone or has ids that the model does not know.
        """
        alignment = np.asarray(alignment)
        if len(alignment) == 0:
            return []
        if alignment.min() < 1 or alignment.max() > self.num_tids:
            raise PymavgError(
                f"transition-ids {alignment.min()} to {alignment.max()}, the model has 1 to {self.num_tids}; "
                "the alignment is of another model"
            )
        last = np.flatnonzero(self.tid_is_final[alignment])
        ends = last + 1
        if self._is_reordered(alignment):
            leaving = np.append(np.flatnonzero(~self.tid_is_self_loop[alignment]), len(alignment))
            ends = leaving[np.searchsorted(leaving, last, side="right")]
        if len(ends) == 0 or ends[-1] != len(alignment):
            raise PymavgError(f"the alignment of {len(alignment)} frames stops inside a phone; align again")
        starts = np.concatenate([[0], ends[:-1]])
        phones = self.tid_phone[alignment[starts]]
        return list(zip(starts.tolist(), ends.tolist(), phones.tolist(), strict=True))

    def _is_reordered(self, alignment):
        loop, tstate = self.tid_is_self_loop[alignment], self.tid_tstate[alignment]
        change = np.flatnonzero((tstate[1:] != tstate[:-1]) & (loop[1:] | loop[:-1]))
        return bool(loop[change[0]] if len(change) else loop[-1] and not loop[0])


def read_transitions(reader):
    """Read `<TransitionModel> … </TransitionModel>` from a KaldiReader, as at the head of a final.mdl."""
    reader.expect("<TransitionModel>")
    topology = read_topology(reader)
    kind = reader.expect("<Triples>", "<Tuples>")
    columns = 3 if kind == "<Triples>" else 4
    tuples = [[reader.int32() for _ in range(columns)] for _ in range(read_count(reader))]
    reader.expect(kind.replace("<", "</"))
    reader.expect("<LogProbs>")
    log_prob = reader.vector()
    reader.expect("</LogProbs>")
    reader.expect("</TransitionModel>")
    tuples = np.array(tuples, np.int32).reshape(-1, columns)
    return _checked_model(reader, topology, tuples[:, [0, 1, 2, columns - 1]], log_prob)


def _checked_model(reader, topology, tuples, log_prob):
    if len(tuples) == 0 or tuples.min() < 0:
        raise reader.error("transition model without states or with negative numbers; the file is damaged")
    rows = tuples.tolist()
    if any(a >= b for a, b in zip(rows, rows[1:], strict=False)):
        raise reader.error("the transition-states are not in order; the file is damaged")
    for phone, hmm_state, *_ in rows:
        if phone not in topology.entry_of:
            raise reader.error(f"phone {phone} is not in the topology; the file is damaged")
        if not topology.states(phone)[hmm_state : hmm_state + 1] or not topology.states(phone)[hmm_state].transitions:
            raise reader.error(f"phone {phone} has no emitting state {hmm_state}; the file is damaged")
    count = 1 + sum(len(topology.states(phone)[hmm_state].transitions) for phone, hmm_state, *_ in rows)
    if len(log_prob) != count or not np.all(np.isfinite(log_prob)):
        raise reader.error(
            f"{len(log_prob)} transition log-probabilities, expected {count} finite ones; the file is damaged"
        )
    return TransitionModel(topology, tuples, log_prob)


def write_transitions(writer, model):
    """Write a transition model to a KaldiWriter."""
    writer.token("<TransitionModel>")
    writer.text("\n")
    write_topology(writer, model.topology)
    is_hmm = model.topology.is_hmm
    kind = "Triples" if is_hmm else "Tuples"
    writer.token(f"<{kind}>")
    writer.int32(len(model.tuples))
    writer.text("\n")
    for row in model.tuples[:, : 3 if is_hmm else 4].tolist():
        for number in row:
            writer.int32(number)
        writer.text("\n")
    writer.token(f"</{kind}>")
    writer.text("\n")
    writer.token("<LogProbs>")
    writer.text("\n")
    writer.vector(model.log_prob)
    writer.token("</LogProbs>")
    writer.text("\n")
    writer.token("</TransitionModel>")
    writer.text("\n")


def read_transition_model(path):
    """Read the transition model at the head of a final.mdl, binary or text."""
    return read_transitions(open_reader(path))
