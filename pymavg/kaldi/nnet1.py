"""nnet1 model files: networks, feature transforms and RBMs, binary and text, read and written.

A file is `<Nnet>`, components, `</Nnet>`; a component is its marker, output and input dimension, data, and
`<!EndOfComponent>`. Files of older programs lack the outer markers, the end markers or the learn-rate coefficients; all
are read, and written in the present form. Sources: Kaldi's nnet/nnet-nnet.cc, nnet-component.cc,
nnet-affine-transform.h, nnet-various.h, nnet-rbm.h, nnet-parametric-relu.h.
"""

from dataclasses import fields

import numpy as np

from pymavg.errors import PymavgError, did_you_mean
from pymavg.files import atomic_open
from pymavg.kaldi.components import AddShift, Affine, Rbm, Relu, Rescale, Sigmoid, Softmax, Splice, Tanh
from pymavg.kaldi.stream import KaldiWriter, open_reader

__all__ = [
    "AddShift",
    "Affine",
    "Rbm",
    "Relu",
    "Rescale",
    "Sigmoid",
    "Softmax",
    "Splice",
    "Tanh",
    "read_nnet",
    "write_nnet",
]
OPENING, CLOSING, END_OF_COMPONENT = "<Nnet>", "</Nnet>", "<!EndOfComponent>"


_COEFS = {
    "<LearnRateCoef>": "learn_rate_coef",
    "<BiasLearnRateCoef>": "bias_learn_rate_coef",
    "<MaxNorm>": "max_norm",
}


def read_nnet(path):
    """Read an nnet1 file: a network, a feature transform, or RBMs.

    Parameters
    ----------
    path : str or Path
        Binary or text, plain or .gz.

    Returns
    -------
    list of Affine, Sigmoid, Tanh, Relu, Softmax, Splice, AddShift, Rescale, Rbm
        In the order of computation; arrays are float32.

    Raises
    ------
    PymavgError
        For a component of another type, sizes that do not fit together, values that are not finite, or a damaged file.
    """
    reader = open_reader(path)
    opened = reader.peek().lower() == OPENING.lower()
    if opened:
        reader.token()
    components = []
    while not reader.at_end:
        if reader.peek().lower() == CLOSING.lower():
            reader.token()
            break
        components.append(_read_component(reader, components))
    else:
        if opened:
            raise reader.error(f"{CLOSING} expected, found the end of the file; the file is cut")
    if not components:
        raise reader.error("an nnet1 component expected, found none")
    return components


def _read_component(reader, before):
    marker = reader.token()
    read = _READERS.get(marker.lower())
    if read is None:
        known = [kind.marker for kind in (Affine, Sigmoid, Tanh, Relu, Softmax, Splice, AddShift, Rescale, Rbm)]
        raise reader.error(f"component '{marker[:40]}' is not supported{did_you_mean(marker[:40], known)}")
    dims = reader.int32(), reader.int32()
    component = read(reader, dims)
    if component.dims != dims:
        raise reader.error(
            f"{marker} says {dims[0]} x {dims[1]}, its data are {component.dims[0]} x {component.dims[1]}"
        )
    if before and before[-1].dims[0] != dims[1]:
        raise reader.error(f"{marker} has {dims[1]} inputs, the component before it {before[-1].dims[0]} outputs")
    _check(component, reader.error)
    if reader.peek().lower() == END_OF_COMPONENT.lower():
        reader.token()
    return component


def _check(component, error):
    """Check that all values are finite and all vectors fit."""
    for field in fields(component):
        value = getattr(component, field.name)
        if isinstance(value, (np.ndarray, float)) and not np.all(np.isfinite(value)):
            raise error(f"{component.marker}: {field.name} holds values that are not finite")
    bias = {"bias": 0, "hid_bias": 0, "vis_bias": 1}
    for name, side in bias.items():
        size = len(getattr(component, name, ())) if hasattr(component, name) else component.dims[side]
        if size != component.dims[side]:
            raise error(f"{component.marker}: {name} has {size} elements, {component.dims[side]} expected")


def _read_coefs(reader):
    """Return the coefficients that stand before the data, in any order, none of them required."""
    coefs = {}
    while reader.peek() in _COEFS:
        name = _COEFS[reader.token()]
        coefs[name] = reader.float32()
    return coefs


def _read_affine(reader, dims):
    coefs = _read_coefs(reader)
    return Affine(reader.matrix(), reader.vector(), **coefs)


def _read_rbm(reader, dims):
    kinds = [reader.expect("bern", "gauss") for _ in range(2)]
    weight = reader.matrix()
    return Rbm(weight, reader.vector(), reader.vector(), *kinds)


def _read_splice(reader, dims):
    return Splice(reader.int_vector(), dims[1])


def _read_diagonal(kind):
    def read(reader, dims):
        coef = _read_coefs(reader).get("learn_rate_coef", 0.0)
        return kind(reader.vector(), coef)

    return read


def _read_elementwise(kind):
    def read(reader, dims):
        return kind(dims[0])

    return read


def _read_relu(reader, dims):
    while reader.peek() in ("<BiasLearnRateCoef>", "<LearnRateCoef>", "<ClipGradient>"):
        reader.token()
        reader.float32()
    if np.any(reader.vector() != 1) or np.any(reader.vector() != 0):
        raise reader.error(f"{Relu.marker} with slopes other than 1 and 0 is not supported")
    return Relu(dims[0])


_READERS = {
    "<affinetransform>": _read_affine,
    "<biasedlinearity>": _read_affine,  # its name before 2012
    "<rbm>": _read_rbm,
    "<splice>": _read_splice,
    "<addshift>": _read_diagonal(AddShift),
    "<rescale>": _read_diagonal(Rescale),
    "<parametricrelu>": _read_relu,
    **{kind.marker.lower(): _read_elementwise(kind) for kind in (Sigmoid, Tanh, Softmax)},
}


KNOWN_MARKERS = frozenset({OPENING.lower(), *_READERS})


def write_nnet(path, components, binary=True):
    """Write an nnet1 file as Kaldi writes it, to the byte.

    Parameters
    ----------
    path : str or Path
        File to write; it appears under this name only when whole.
    components : sequence
        As returned by read_nnet.
    binary : bool
        Text with 7 significant digits when False.
    """

    def error(message):
        return PymavgError(f"{path}: not written: {message}")

    for component in components:
        _check(component, error)
    with atomic_open(path, "wb") as stream:
        writer = KaldiWriter(stream, binary)
        _mark(writer, OPENING)
        for component in components:
            writer.token(component.marker)
            for dim in component.dims:
                writer.int32(dim)
            writer.text("\n")
            _write_data(writer, component)
            _mark(writer, END_OF_COMPONENT)
        _mark(writer, CLOSING)


def _mark(writer, token):
    writer.token(token)
    writer.text("\n")


def _write_data(writer, component):
    match component:
        case Affine():
            for token, name in _COEFS.items():
                writer.token(token)
                writer.float32(getattr(component, name))
            writer.text("\n")
            writer.matrix(component.weight)
            writer.vector(component.bias)
        case Rbm():
            writer.token(component.vis_type)
            writer.token(component.hid_type)
            writer.matrix(component.weight)
            writer.vector(component.vis_bias)
            writer.vector(component.hid_bias)
        case Splice():
            writer.int_vector(component.offsets)
        case AddShift() | Rescale():
            writer.token("<LearnRateCoef>")
            writer.float32(component.learn_rate_coef)
            writer.vector(component.shift if isinstance(component, AddShift) else component.scale)
        case Relu():
            for token in ("<BiasLearnRateCoef>", "<LearnRateCoef>", "<ClipGradient>"):
                writer.token(token)
                writer.float32(0.0)
            writer.text("\n")
            writer.vector(np.ones(component.dim))
            writer.vector(np.zeros(component.dim))
