"""The fixed transform in front of the network, on the device: splicing by index, then shift and rescale.

Frames lie unspliced in device memory, the utterances one after another. A minibatch gathers the context windows of
its frames by row index, so a frame is stored once and not once for each window it is in.
"""

import numpy as np

from pymavg.backend import to_device
from pymavg.errors import PymavgError
from pymavg.nnet.dispatch import operations
from pymavg.nnet.workspaces import Workspaces


class FeatureTransform:
    """Splice, AddShift, Rescale as in nnet1's `final.feature_transform`.

    Parameters
    ----------
    components : list of pymavg.kaldi.nnet1 components
        At most one Splice (first), then any of AddShift and Rescale; none at all is the identity.
    xp : module
        `numpy` or `cupy`.

    Raises
    ------
    PymavgError
        When another component is among them.
    """

    def __init__(self, components, xp=np, dtype=np.float32):
        self.xp, self.dtype = xp, np.dtype(dtype)
        self.offsets, scale, shift = np.zeros(1, np.int32), 1.0, 0.0
        for index, component in enumerate(components):
            kind = type(component).__name__
            if kind == "Splice" and index == 0:
                self.offsets = np.asarray(component.offsets, np.int32)
            elif kind == "AddShift":
                shift = shift + np.asarray(component.shift, np.float64)
            elif kind == "Rescale":
                factor = np.asarray(component.scale, np.float64)
                scale, shift = scale * factor, shift * factor
            else:
                raise PymavgError(
                    f"feature transform: component {index + 1} is {kind}; expected a Splice first, then AddShift and "
                    "Rescale"
                )
        dim = np.size(scale + shift)
        self.scale, self.shift = np.broadcast_to(scale, dim), np.broadcast_to(shift, dim)  # on the host, float64
        self._scale = to_device(xp, np.broadcast_to(scale, dim), dtype)  # one element: the same for all
        self._shift = to_device(xp, np.broadcast_to(shift, dim), dtype)
        self._offsets = to_device(xp, self.offsets)
        self._operations = operations(xp, dtype)
        self._workspace = Workspaces(xp, self.dtype)

    def output_dim(self, input_dim):
        """Return the length of an output vector for frames of length `input_dim`."""
        return input_dim * len(self.offsets)

    def gather(self, feats, rows, first=None, last=None):
        """Return the transformed context windows of some frames.

        Parameters
        ----------
        feats : (F, D)
            All frames, unspliced, on the device.
        rows : (N,) int
            Which frames.
        first, last : (N,) int or None
            First and last row of the utterance that each frame belongs to: a window never reaches beyond, the edge
            frame is repeated instead. None: the first and last of `feats`.

        Returns
        -------
        (N, D * number of offsets) array
            A workspace, valid until the next call.

        Raises
        ------
        PymavgError
            When the transform is for frames of another length.
        """
        n, dim = len(rows), self.output_dim(feats.shape[1])
        if len(self._scale) not in (1, dim):
            raise PymavgError(
                f"feature transform: for {len(self._scale) // len(self.offsets)} features a frame, the data have "
                f"{feats.shape[1]}; it was made from other features"
            )
        out = self._workspace("out", n, dim)
        if first is None:
            first, last = self.xp.zeros_like(rows), self.xp.full_like(rows, len(feats) - 1)
        self._operations.gather(feats, rows, first, last, self._offsets, self._scale, self._shift, out)
        return out

    def apply(self, feats):
        """Return the transform of all frames of one utterance, (T, D) to (T, out)."""
        return self.gather(feats, self.xp.arange(len(feats)))
