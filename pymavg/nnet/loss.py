"""Losses, and the loss of a network on data it is not trained on.

Statistics are a float64 array of 3 on the device: the sums of loss, correct frames and frames, each weighted by frame
weight. Nothing here waits for the device; reading the array does.
"""

from pymavg.errors import PymavgError

OBJECTIVES = ("xent", "mse")


def new_stats(xp):
    """Return statistics at 0."""
    return xp.zeros(3, xp.float64)


def derive_(net, outputs, targets, weights, objective, stats):
    """Turn the outputs of `net` into the derivative of the loss, in place, and add to `stats`.

    Parameters
    ----------
    net : pymavg.nnet.network.Network
        Whose last activation matters.
    outputs : (N, D)
        What `net.forward` returned: before the softmax, where there is one.
    targets : (N,) int32 or (N, D)
        Classes, or posteriors.
    weights : (N,) or None
        Frame weights.
    stats : (3,) float64
        To be added to.
    objective : {"xent", "mse"}
        `xent`: cross-entropy less the entropy of the targets; derivative w (softmax - target). `mse`: half the squared
        distance of output and target; as in nnet1 the derivative at a softmax's output is handed through it unchanged.
    """
    last = net.layers[-1].activation
    if objective == "xent":
        net.operations.softmax_xent_(outputs, targets, weights, stats)
    elif last in ("softmax", "linear"):
        if last == "softmax":
            net.operations.softmax_(outputs)
        net.operations.square_error_(outputs, targets, weights, stats)
    else:
        y = outputs.copy()
        net.operations.square_error_(outputs, targets, weights, stats)
        net.operations.derive_(last, outputs, y)


def check(net, objective):
    """Raise PymavgError where the objective does not fit the network's last layer."""
    last = net.layers[-1].activation
    if objective not in OBJECTIVES:
        raise PymavgError(f"--objective-function: found '{objective}', expected xent or mse")
    if objective == "xent" and last not in ("softmax", "linear"):
        raise PymavgError(f"cross-entropy needs a softmax as the last component, found {last}")


def evaluate(net, x, targets, weights=None, objective="xent", stats=None):
    """Add the loss of `net` on (x, targets) to `stats`, without training; return `stats`.

    Parameters are those of `derive_`; x is (N, in).
    """
    stats = new_stats(net.xp) if stats is None else stats
    derive_(net, net.forward(x), targets, weights, objective, stats)
    return stats
