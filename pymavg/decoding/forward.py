"""The output of a network for whole utterances, as nnet1's nnet-forward writes it."""

from dataclasses import dataclass

import numpy as np

from pymavg.backend import to_device, to_host
from pymavg.decoding.acoustic import PRIOR_FLOOR, log_priors
from pymavg.errors import PymavgError
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.stream import open_reader
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.network import Network

FIXED = ("Splice", "AddShift", "Rescale")  # components without parameters, in front of a network


@dataclass
class ForwardOptions:
    """What is done beside the network itself."""

    feature_transform: str = ""
    no_softmax: bool = False
    apply_log: bool = False
    class_frame_counts: str = ""
    prior_scale: float = 1.0
    prior_floor: float = PRIOR_FLOOR

    HELP = {
        "feature_transform": "nnet1 file that features pass through first",
        "no_softmax": "leave out a softmax at the end",
        "apply_log": "take the logarithm",
        "class_frame_counts": "counts of the classes, whose log-priors are subtracted; needs one of the two before",
        "prior_scale": "factor on log-priors",
        "prior_floor": "classes with a smaller share are never recognised",
    }


class Forward:
    """A network in front of which the feature transform, and behind which softmax, logarithm and priors may stand.

    Parameters
    ----------
    path : str or Path
        nnet1 file; a feature transform alone is a network, too.
    options : ForwardOptions
    xp : module
        `numpy` or `cupy`.

    Raises
    ------
    PymavgError
        When files are missing or do not fit, or priors are to be subtracted from probabilities.
    """

    def __init__(self, path, options, xp=np):
        components = read_nnet(path)
        if options.feature_transform:
            components = read_nnet(options.feature_transform) + components
        kinds = [type(component).__name__ in FIXED for component in components]
        start = kinds.index(False) if False in kinds else len(kinds)
        self.xp, self.path, self.options = xp, path, options
        self.dim = components[0].dims[1]
        self.transform = FeatureTransform(components[:start], xp)
        self.network = Network(components[start:], xp) if start < len(kinds) else None
        self.softmax = bool(self.network) and self.network.layers[-1].activation == "softmax" and not options.no_softmax
        self.offset = self._offset() if options.class_frame_counts else 0

    def _offset(self):
        options, counts = self.options, open_reader(self.options.class_frame_counts).vector()
        if not (options.no_softmax or options.apply_log):
            raise PymavgError("--class-frame-counts: log-priors go with --no-softmax true or --apply-log true only")
        outputs = self.network.output_dim if self.network else 0
        if len(counts) != outputs:
            raise PymavgError(f"{options.class_frame_counts} has {len(counts)} counts, {self.path} {outputs} outputs")
        return options.prior_scale * log_priors(counts, options.prior_floor)

    def __call__(self, feats):
        """Return the output for all frames of an utterance, float32: (T, D) to (T, outputs)."""
        if feats.shape[1] != self.dim:
            raise PymavgError(f"features have {feats.shape[1]} dimensions, the network wants {self.dim}")
        y = self.transform.apply(to_device(self.xp, feats, np.float32))
        if self.network is not None:
            y = self.network.forward(y)
        if self.softmax:
            self.network.operations.softmax_(y)
        y = np.array(to_host(y))
        return (np.log(y + np.float32(1e-20)) if self.options.apply_log else y) - np.float32(self.offset)
