"""Mixing models between pairs of workers instead of averaging all of them (after Su's nnet-mixing.h).

Each round every worker g sends its model to one worker and mixes in that of another:
θ_g ← (n_g θ_g + n_s θ_s)/(n_g + n_s), s the sender. It costs one message instead of an all-reduce and converges worse
from 16 workers on (draft of Su and Chen 2015).
"""


def _butterfly(worker, workers, count):
    bits = workers.bit_length() - 1
    partner = worker ^ (1 << count % bits)
    return partner, partner


def _ring(worker, workers, count):
    return (worker + 1) % workers, (worker - 1) % workers


def _hopping_ring(worker, workers, count):
    hop = 1 + count % (workers - 1)
    return (worker + hop) % workers, (worker - hop) % workers


# (worker, workers, round) -> (receiver of this worker's model, sender of the model it mixes in)
PARTNERS = {"butterfly": _butterfly, "ring": _ring, "hoppingring": _hopping_ring}


def mix(staging, thetas, weights, kind, count):
    """Do one round, in place.

    Parameters
    ----------
    staging : staging.Staging
    thetas : list of xp float (P,)
        The models of this rank's workers.
    weights : float (N,)
        Of all workers, by global number; a pair of weights 0 keeps its models.
    kind : str
        A key of PARTNERS.
    count : int
        Number of rounds before this one.
    """
    comm, here = staging.comm, len(thetas)
    first, workers = comm.rank * here, comm.size * here
    pairs = [PARTNERS[kind](first + v, workers, count) for v in range(here)]
    sends, receives, incoming = [], [], []
    for v, (receiver, sender) in enumerate(pairs):
        if receiver // here != comm.rank:
            sends.append((staging.fetch(thetas[v], ("send", v)), receiver // here, receiver % here))
        if sender // here == comm.rank:
            incoming.append(thetas[sender - first].copy())
        else:
            incoming.append(staging.buffer(("receive", v)))
            receives.append((incoming[v], sender // here, v))
    with staging.clock("reduce"):
        comm.exchange(sends, receives)
    for v, (_, sender) in enumerate(pairs):
        _mix_pair(staging, thetas[v], incoming[v], weights[first + v], weights[sender])


def _mix_pair(staging, theta, other, own_weight, other_weight):
    total = own_weight + other_weight
    if total == 0:
        return
    if type(other) is not type(theta):
        other = staging.to_device(other)
    share = float(other_weight / total)
    theta += share * (other - theta)
