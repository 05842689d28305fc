"""A trained network for other programs: ONNX for onnxruntime, safetensors for PyTorch and all others; no pickle.

What goes out is all that is between features and the decoder: context windows, shift and scale of
final.feature_transform, the layers, and the log-priors of ali_train_pdf.counts. The features must be made as the
experiment directory says (cmvn_opts, delta_opts); both formats carry these lines as metadata.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pymavg.decoding.acoustic import NnetAcoustic
from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.nnet.features import FeatureTransform

OPSET = 17  # of ONNX: every onnxruntime since 2022 reads it
DESCRIBED = ("cmvn_opts", "delta_opts")


@dataclass
class Parts:
    """What is exported.

    Attributes
    ----------
    offsets : int64 (n,)
        Frames of the context window, relative to the central one.
    shift, scale : float32 (n D,)
        The input of the first layer is scale * window + shift.
    layers : list of (weight float32 (out, in), bias float32 (out,), activation)
        The softmax at the end is left to the output.
    log_priors : float32 (P,)
    metadata : dict of str
    """

    offsets: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    layers: list
    log_priors: np.ndarray
    metadata: dict

    @property
    def dim(self):
        """Numbers in a frame of features."""
        return len(self.shift) // len(self.offsets)


def read_parts(exp):
    """Return the Parts of a finished experiment.

    Raises
    ------
    PymavgError
        When a file is missing or does not fit to the others.
    """
    acoustic = NnetAcoustic(exp)
    transform = FeatureTransform(read_nnet(Path(exp, "final.feature_transform")))
    width = acoustic.network.input_dim
    shift, scale = (np.broadcast_to(v, width).astype(np.float32) for v in (transform.shift, transform.scale))
    layers = [(layer.weight, layer.bias, layer.activation) for layer in acoustic.network.layers]
    described = {name: _line(Path(exp, name)) for name in DESCRIBED}
    metadata = {"made_by": "pymavg", "activations": json.dumps([name for *_, name in layers]), **described}
    return Parts(transform.offsets.astype(np.int64), shift, scale, layers, np.float32(acoustic.offset), metadata)


def _line(path):
    return " ".join(path.read_text().split()) if path.exists() else ""


def write_safetensors(path, parts):
    """Write float32 tensors `shift`, `scale`, `log_priors`, `layer.K.weight`, `layer.K.bias`, and int64 `offsets`."""
    library = _library("safetensors.numpy")
    tensors = {"offsets": parts.offsets, "shift": parts.shift, "scale": parts.scale, "log_priors": parts.log_priors}
    for k, (weight, bias, _) in enumerate(parts.layers):
        tensors |= {f"layer.{k}.weight": weight, f"layer.{k}.bias": bias}
    data = library.save({name: np.ascontiguousarray(t) for name, t in tensors.items()}, metadata=parts.metadata)
    with atomic_open(path, "wb") as stream:
        stream.write(data)


def write_onnx(path, parts):
    """Write a model with the input `feats` (T, D) and two outputs (T, P).

    `loglikes` are what the decoder takes, the last layer before its softmax minus log-priors; `posteriors` are the
    probabilities of the pdfs.
    """
    onnx = _library("onnx")
    helper, kind = onnx.helper, onnx.TensorProto
    constants = {
        "offsets": parts.offsets[None, :],
        "shift": parts.shift,
        "scale": parts.scale,
        "log_priors": parts.log_priors,
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "width": np.array([-1, len(parts.shift)], np.int64),
        "first_axis": np.array([0], np.int64),
        "column": np.array([1], np.int64),
    }
    nodes = _windows(helper) + _layers(helper, parts.layers, constants)
    outputs = [helper.make_tensor_value_info(n, kind.FLOAT, ["T", len(parts.log_priors)]) for n in OUTPUTS]
    feats = helper.make_tensor_value_info("feats", kind.FLOAT, ["T", parts.dim])
    initial = [onnx.numpy_helper.from_array(np.ascontiguousarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "pymavg", [feats], outputs, initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="pymavg")
    model.ir_version = 8
    helper.set_model_props(model, parts.metadata)
    onnx.checker.check_model(model)
    with atomic_open(path, "wb") as stream:
        stream.write(model.SerializeToString())


OUTPUTS = ("loglikes", "posteriors")


def _windows(helper):
    """Return the nodes from `feats` to `x0`: frames t + offset, of which the first and last are repeated."""
    node = helper.make_node
    return [
        node("Shape", ["feats"], ["shape"]),
        node("Gather", ["shape", "zero"], ["T"]),
        node("Range", ["zero", "T", "one"], ["time"]),
        node("Unsqueeze", ["time", "column"], ["times"]),
        node("Add", ["times", "offsets"], ["wanted"]),
        node("Sub", ["T", "one"], ["last"]),
        node("Min", ["wanted", "last"], ["not_after"]),
        node("Max", ["not_after", "zero"], ["rows"]),
        node("Gather", ["feats", "rows"], ["window"], axis=0),
        node("Reshape", ["window", "width"], ["spliced"]),
        node("Mul", ["spliced", "scale"], ["scaled"]),
        node("Add", ["scaled", "shift"], ["x0"]),
    ]


def _layers(helper, layers, constants):
    """Return the nodes from `x0` to the outputs; weights go into `constants`."""
    nodes, functions = [], {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
    for k, (weight, bias, activation) in enumerate(layers):
        constants |= {f"weight{k}": weight, f"bias{k}": bias}
        y = f"x{k + 1}"
        linear = f"y{k}" if activation in functions else y
        nodes.append(helper.make_node("Gemm", [f"x{k}", f"weight{k}", f"bias{k}"], [linear], transB=1))
        if activation in functions:
            nodes.append(helper.make_node(functions[activation], [linear], [y]))
    nodes.append(helper.make_node("Sub", [y, "log_priors"], ["loglikes"]))
    nodes.append(helper.make_node("Softmax", [y], ["posteriors"], axis=1))
    return nodes


def _library(name):
    """Import a package that is installed only for exporting."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise PymavgError(
            f"{package} is not installed; pip install 'pymavg[export]', or pip install {package}"
        ) from None
