"""HMM topologies: the shape of each phone, read and written in Kaldi's forms (hmm/hmm-topology.h and .cc)."""

import io
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.stream import KaldiWriter, open_reader

LARGEST_COUNT = 10_000_000  # of states, transitions, tuples: more is a damaged number


class HmmState(NamedTuple):
    """One state of a topology: pdf classes (-1: emits nothing) and its (destination, probability) pairs."""

    forward_class: int
    self_loop_class: int
    transitions: tuple


@dataclass
class Topology:
    """HMM shape of each phone.

    Attributes
    ----------
    entries : list of list of HmmState
        The shapes; the last state of each is the end, which emits nothing and has no transitions.
    entry_of : dict int -> int
        Index into `entries` for each phone.
    """

    entries: list = field(default_factory=list)
    entry_of: dict = field(default_factory=dict)

    @property
    def phones(self):
        """All phones, sorted."""
        return sorted(self.entry_of)

    @property
    def is_hmm(self):
        """Whether every state has one pdf class for both the self-loop and the transition that leaves it."""
        return all(s.forward_class == s.self_loop_class for entry in self.entries for s in entry)

    def states(self, phone):
        """Return the list of HmmState of `phone`."""
        if phone not in self.entry_of:
            raise PymavgError(f"phone {phone} is not in the topology; make lang again (utils/prepare_lang.sh)")
        return self.entries[self.entry_of[phone]]

    def num_pdf_classes(self, phone):
        """Return the number of pdf classes of `phone`."""
        return 1 + max(max(s.forward_class, s.self_loop_class) for s in self.states(phone))

    def check(self, name):
        """Raise PymavgError, naming the file `name`, unless every state can be reached and left properly."""
        for index, entry in enumerate(self.entries):
            problem = _entry_problem(entry)
            if problem:
                raise PymavgError(f"{name}: topology entry {index + 1}: {problem}")
        if not self.entry_of:
            raise PymavgError(f"{name}: the topology lists no phones")
        return self


def _entry_problem(entry):
    if len(entry) < 2 or entry[-1].transitions or entry[-1].forward_class >= 0:
        return "needs emitting states and, last, a state without pdf class and transitions"
    reached = {0}
    for number, state in enumerate(entry[:-1]):
        if state.forward_class < 0 or state.self_loop_class < 0:
            return f"state {number} has no pdf class"
        targets = [target for target, _ in state.transitions]
        if not targets or len(set(targets)) != len(targets) or not all(0 <= t < len(entry) for t in targets):
            return f"state {number} has transitions to {targets}; there are {len(entry)} states"
        if not all(0 < p <= 1 for _, p in state.transitions):
            return f"state {number} has a probability that is not in (0, 1]"
        reached.update(t for t in targets if t != number)
    missing = set(range(len(entry))) - reached
    return f"state {min(missing)} cannot be reached" if missing else None


def read_topology(reader):
    """Read `<Topology> … </Topology>` from a KaldiReader."""
    reader.expect("<Topology>")
    topology = _binary_topology(reader) if reader.binary else _text_topology(reader)
    return topology.check(reader.source.name)


def load_topology(path):
    """Read a topology file such as lang/topo."""
    return read_topology(open_reader(path))


def read_count(reader):
    """Read a number of things from a KaldiReader; a damaged one is an error."""
    count = reader.int32()
    if not 0 <= count <= LARGEST_COUNT:
        raise reader.error(f"a count expected, found {count}; the file is damaged")
    return count


def _binary_topology(reader):
    phones, entry_of_phone = reader.int_vector(), reader.int_vector()
    count = reader.int32()
    is_hmm = count != -1  # -1 announces the form with two pdf classes per state
    count = count if is_hmm else reader.int32()
    entries = []
    for _ in range(count):
        entry = []
        for _ in range(read_count(reader)):
            forward = reader.int32()
            self_loop = forward if is_hmm else reader.int32()
            arcs = tuple((reader.int32(), reader.float32()) for _ in range(read_count(reader)))
            entry.append(HmmState(forward, self_loop, arcs))
        entries.append(entry)
    reader.expect("</Topology>")
    if len(phones) and (phones.min() < 1 or phones.max() >= len(entry_of_phone)):
        raise reader.error("a phone of the topology has no entry; the file is damaged")
    entry_of = {int(p): int(entry_of_phone[p]) for p in phones}
    if not all(0 <= index < len(entries) for index in entry_of.values()):
        raise reader.error("a phone of the topology has no entry; the file is damaged")
    return Topology(entries, entry_of)


def _text_topology(reader):
    topology = Topology()
    while reader.expect("<TopologyEntry>", "</Topology>") == "<TopologyEntry>":
        reader.expect("<ForPhones>")
        while reader.peek() != "</ForPhones>":
            phone = reader.int32()
            if not 1 <= phone <= LARGEST_COUNT or phone in topology.entry_of:
                raise reader.error(f"phone {phone} is listed twice, below 1 or too large")
            topology.entry_of[phone] = len(topology.entries)
        reader.token()
        topology.entries.append(_text_entry(reader))
    return topology


def _text_entry(reader):
    entry = []
    while reader.expect("<State>", "</TopologyEntry>") == "<State>":
        number = reader.int32()
        if number != len(entry):
            raise reader.error(f"state {len(entry)} expected, found {number}; states count from 0 in order")
        forward = self_loop = -1
        arcs = []
        while (token := reader.token()) != "</State>":
            if token == "<PdfClass>":
                forward = self_loop = reader.int32()
            elif token == "<ForwardPdfClass>":
                forward = reader.int32()
                reader.expect("<SelfLoopPdfClass>")
                self_loop = reader.int32()
            elif token == "<Transition>":
                arcs.append((reader.int32(), reader.float32()))
            else:
                raise reader.error(f"<PdfClass>, <Transition> or </State> expected, found '{token}'")
        entry.append(HmmState(forward, self_loop, tuple(arcs)))
    return entry


def write_topology(writer, topology):
    """Write a topology to a KaldiWriter, in the form (binary or text) of the writer."""
    writer.token("<Topology>")
    if writer.binary:
        _write_binary_topology(writer, topology)
    else:
        writer.text("\n")
        for index, entry in enumerate(topology.entries):
            writer.text("<TopologyEntry> \n<ForPhones> \n")
            writer.text("".join(f"{p} " for p in topology.phones if topology.entry_of[p] == index))
            writer.text("\n</ForPhones> \n" + "".join(_state_line(*pair) for pair in enumerate(entry)))
            writer.text("</TopologyEntry> \n")
    writer.token("</Topology>")
    writer.text("\n")


def _write_binary_topology(writer, topology):
    entry_of = np.full(max(topology.phones) + 1, -1, np.int32)
    entry_of[topology.phones] = [topology.entry_of[phone] for phone in topology.phones]
    writer.int_vector(topology.phones)
    writer.int_vector(entry_of)
    if not topology.is_hmm:
        writer.int32(-1)
    writer.int32(len(topology.entries))
    for entry in topology.entries:
        writer.int32(len(entry))
        for state in entry:
            writer.int32(state.forward_class)
            if not topology.is_hmm:
                writer.int32(state.self_loop_class)
            writer.int32(len(state.transitions))
            for target, probability in state.transitions:
                writer.int32(target)
                writer.float32(probability)


def _state_line(number, state):
    words = [f"<State> {number}"]
    if state.forward_class >= 0 and state.forward_class == state.self_loop_class:
        words.append(f"<PdfClass> {state.forward_class}")
    elif state.forward_class >= 0:
        words.append(f"<ForwardPdfClass> {state.forward_class} <SelfLoopPdfClass> {state.self_loop_class}")
    words += [f"<Transition> {target} {probability:.7g}" for target, probability in state.transitions]
    return " ".join([*words, "</State> \n"])


def save_topology(path, topology):
    """Write a topology file in text form, as lang/topo."""
    text = io.BytesIO()
    write_topology(KaldiWriter(text, binary=False), topology)
    with atomic_open(path) as stream:
        stream.writelines(f"{line.rstrip()}\n" for line in text.getvalue().decode().splitlines())
