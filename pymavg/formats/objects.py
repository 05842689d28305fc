"""Files that hold one object: described, and written in another form."""

import numpy as np

from pymavg.files import atomic_open
from pymavg.formats import copier as grammar
from pymavg.formats.copier import Copier
from pymavg.formats.summary import Numbers, sizes
from pymavg.kaldi.gmm import read_gmm, write_model
from pymavg.kaldi.nnet1 import read_nnet, write_nnet
from pymavg.kaldi.stream import KaldiWriter, open_reader
from pymavg.kaldi.topology import read_topology, save_topology, write_topology
from pymavg.kaldi.transitions import read_transitions, write_transitions
from pymavg.kaldi.tree import read_tree, write_tree


def open_whole(path):
    """Return (reader of the file, function that refuses anything left behind the object)."""
    reader = open_reader(path)

    def close():
        if not reader.at_end:
            raise reader.error("more data behind the end of the object; the file is damaged, or two were joined")

    return reader, close


def nnet1(path):
    """Describe a network, feature transform or stack of RBMs."""
    components = read_nnet(path)
    kinds = [type(component).__name__ for component in components]
    parameters = sum(a.size for c in components for a in vars(c).values() if isinstance(a, np.ndarray))
    if "Rbm" in kinds:
        title = "nnet1 stack of RBMs" if len(kinds) > 1 else "nnet1 RBM"
    elif "Affine" in kinds:
        title = (
            "nnet1 network" if kinds[-1] == "Softmax" else "nnet1 layers without a softmax (a DBN or part of a network)"
        )
    else:
        title = "nnet1 feature transform"
    lines = [f"{components[0].dims[1]} inputs, {components[-1].dims[0]} outputs, {parameters} numbers"]
    lines += [f"{i:2} {_component(c)}" for i, c in enumerate(components, 1)]
    return title, [*lines, "finite: yes"]  # the reader refuses others


def _component(component):
    kind, (out, into) = type(component).__name__, component.dims
    told = [f"{component.marker[1:-1]} {into} -> {out}"]
    if kind == "Affine":
        spread, mean = component.weight.std(dtype=float), component.bias.mean(dtype=float)
        told.append(f"weight {spread:.4g} rms, bias {mean:.4g} mean")
        coefs = component.learn_rate_coef, component.bias_learn_rate_coef, component.max_norm
        if coefs != (1.0, 1.0, 0.0):
            told.append("learn-rate-coef {:g}, bias-learn-rate-coef {:g}, max-norm {:g}".format(*coefs))
    elif kind == "Rbm":
        told.append(f"{component.vis_type} visible, {component.hid_type} hidden")
    elif kind == "Splice":
        told.append("frames " + " ".join(f"{o:+d}" if o else "0" for o in component.offsets.tolist()))
    return ", ".join(told)


def model(path):
    """Describe a final.mdl, or a transition model alone."""
    transitions, gmm = _read_model(path)
    lines = transition_lines(transitions)
    if gmm is None:
        return "transition model", lines
    per_pdf = np.diff(gmm.offset)
    lines += [f"{gmm.num_gauss} Gaussians of {gmm.dim} dimensions, {sizes(per_pdf.tolist())} for each pdf"]
    return "acoustic model: transition model and diagonal GMMs", [*lines, "finite: yes"]


def transition_lines(transitions):
    """Return the lines that tell a transition model."""
    topology = transitions.topology
    shapes = [len(entry) - 1 for entry in topology.entries]
    return [
        f"{len(topology.phones)} phones, of {sizes(shapes)} states; {transitions.num_pdfs} pdfs",
        f"{len(transitions.tuples)} transition-states, {transitions.num_tids} transition-ids",
    ]


def _read_model(path):
    reader, close = open_whole(path)
    transitions = read_transitions(reader)
    gmm = None if reader.at_end else read_gmm(reader, path, transitions)
    close()
    return transitions, gmm


def tree(path):
    """Describe a decision tree."""
    found = read_tree(path)
    lines = [f"{found.num_pdfs} pdfs, windows of {found.width} phones, the central one at {found.central}"]
    return "phonetic decision tree", lines


def topology(path):
    """Describe a topology."""
    found = _topology(path)
    lines = []
    for index, entry in enumerate(found.entries):
        phones = sum(1 for e in found.entry_of.values() if e == index)
        lines.append(f"entry {index + 1}: {len(entry) - 1} states, {phones} phones")
    return "HMM topology", lines


def _topology(path):
    reader, close = open_whole(path)
    found = read_topology(reader)
    close()
    return found


def matrix(path):
    """Describe a matrix."""
    reader, close = open_whole(path)
    values = reader.matrix(None)
    close()
    numbers = Numbers()
    numbers.add(values)
    return f"matrix {values.shape[0]} x {values.shape[1]}, {_precision(values)}", numbers.lines()


def vector(path):
    """Describe a vector, or the statistics of a GMM, which begin with one."""
    reader, close = open_whole(path)
    values = reader.vector(None)
    numbers = Numbers()
    if not reader.at_end and reader.peek() == "<NUMPDFS>":
        return _gmm_statistics(path)
    close()
    numbers.add(values)
    zero = int((values == 0).sum())
    lines = [f"sum {values.sum(dtype=np.float64):.8g}, {zero} of {len(values)} are zero"]
    return f"vector of {len(values)} ({_precision(values)}), such as counts or occupancies", lines + numbers.lines()


def _precision(values):
    return "double precision" if values.dtype == np.float64 else "single precision"


def _gmm_statistics(path):
    transitions, occupancies, likelihood, frames = _whole(path, grammar.gmm_statistics)
    numbers = Numbers()
    for pdf, values in enumerate(occupancies):
        numbers.add(values, f"pdf {pdf}")
    lines = [f"{len(transitions) - 1} transition-ids, {len(occupancies)} pdfs, {numbers.count} Gaussians"]
    lines.append(f"{frames:g} frames, log-likelihood per frame {likelihood / max(frames, 1):.5g}")
    return "statistics of a GMM (gmm-acc-stats)", lines + numbers.lines()


def _whole(path, rule, writer=None):
    reader, close = open_whole(path)
    value = rule(Copier(reader, writer))
    close()
    return value


def questions(path):
    """Describe the questions of a tree."""
    asked = _whole(path, grammar.questions)
    lines = [f"{'pdf class' if key == -1 else f'position {key}'}: {len(sets)} questions" for key, sets in asked.items()]
    return "questions for tree building", lines


def tree_statistics(path):
    """Describe tree statistics."""
    stats = _whole(path, grammar.tree_statistics)
    numbers = Numbers()
    for event, _, moments in stats:
        if moments is not None:
            numbers.add(moments, f"event {event}")
    dims = {m.shape[1] for _, _, m in stats if m is not None}
    lines = [
        f"{len(stats)} events of {sizes([len(e) for e, *_ in stats] or [0])} keys, {sizes(dims or {0})} dimensions"
    ]
    lines.append(f"{sum(count for _, count, _ in stats):g} frames")
    return "tree statistics (acc-tree-stats)", lines + numbers.lines()


def mllt_statistics(path):
    """Describe the statistics of MLLT."""
    count, triangles = _whole(path, grammar.mllt_statistics)
    numbers = Numbers()
    for triangle in triangles:
        numbers.add(triangle)
    return "statistics of MLLT", [f"{len(triangles)} dimensions, {count:g} frames", *numbers.lines()]


def ilabels(path):
    """Describe the windows of context of CLG's input labels."""
    windows = _whole(path, grammar.ilabels)
    widths = [len(w) for w in windows if len(w) > 1] or [1]
    return "input labels of CLG (ilabels)", [f"{len(windows)} labels, windows of {sizes(widths)} phones"]


def write_object(kind, path, out, binary):
    """Write the object of the file `path` to `out`, binary or text."""
    if kind == "nnet1":
        write_nnet(out, read_nnet(path), binary)
    elif kind == "tree":
        write_tree(out, read_tree(path), binary)
    elif kind == "topology" and not binary:
        save_topology(out, _topology(path))
    elif kind == "model" and (parts := _read_model(path))[1] is not None:
        write_model(out, *parts, binary)
    else:
        _write_by_grammar(kind, path, out, binary)


def _write_by_grammar(kind, path, out, binary):
    with atomic_open(out, "wb") as stream:
        writer = KaldiWriter(stream, binary)
        if kind == "model":
            write_transitions(writer, _read_model(path)[0])
        elif kind == "topology":
            write_topology(writer, _topology(path))
        else:
            _whole(path, _RULES[kind], writer)


def _vector_or_statistics(copier):
    data = copier.vector()
    if not copier.reader.at_end:
        grammar.mixtures(copier)
    return data


_RULES = {
    "matrix": Copier.matrix,
    "vector": _vector_or_statistics,
    "questions": grammar.questions,
    "tree statistics": grammar.tree_statistics,
    "MLLT statistics": grammar.mllt_statistics,
    "ilabels": grammar.ilabels,
}
DESCRIBE = {
    "nnet1": nnet1,
    "model": model,
    "tree": tree,
    "topology": topology,
    "matrix": matrix,
    "vector": vector,
    "questions": questions,
    "tree statistics": tree_statistics,
    "MLLT statistics": mllt_statistics,
    "ilabels": ilabels,
}
