"""The network that training starts from."""

from pathlib import Path

from pymavg.errors import PymavgError
from pymavg.kaldi import nnet1
from pymavg.nnet.initialise import init_network, init_output


def initial_components(options, inputs, outputs):
    """Return (components, where they come from): a given network, a DBN with layers put on top, or random numbers.

    Parameters
    ----------
    options : settings.TrainOptions
    inputs, outputs : int
        Dimension after the feature transform; number of pdfs.

    Raises
    ------
    PymavgError
        When a given file is missing or does not fit.
    """
    if options.nnet_init:
        components, name = _read(options.nnet_init, inputs), options.nnet_init
        found = components[-1].dims[0]
        if found != outputs:
            raise PymavgError(f"{name} has {found} outputs, the alignment's final.mdl {outputs} pdfs; they must agree")
        return components, name
    if options.dbn:
        below = _read(options.dbn, inputs)
        added = max(0, options.hid_layers)
        dims = [below[-1].dims[0], *[options.hid_dim] * added, outputs]
        top = (
            init_network(dims, options.seed, options.activation)
            if added
            else init_output(dims[0], outputs, options.seed)
        )
        return below + top, options.dbn
    layers = 4 if options.hid_layers < 0 else options.hid_layers
    dims = [inputs, *[options.hid_dim] * layers, outputs]
    return init_network(dims, options.seed, options.activation), f"at random (seed {options.seed})"


def _read(path, inputs):
    if not Path(path).is_file():
        raise PymavgError(f"{path}: no such file; run steps/nnet/pretrain_dbn.sh first")
    components = nnet1.read_nnet(path)
    found = components[0].dims[1]
    if found != inputs:
        raise PymavgError(
            f"{path} takes {found} inputs, the feature transform gives {inputs}; use the "
            "--feature-transform that it was trained with"
        )
    return components
