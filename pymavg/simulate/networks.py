"""What it costs to combine the parameters of N workers: formulas of the reductions, and networks to put into them.

The costs are those of Thakur, Rabenseifner and Gropp (2005), "Optimization of Collective Communication Operations in
MPICH", sections 4.5 and 5, with α the latency of a message and β the bandwidth; the additions are not counted apart.
"""

import math
from dataclasses import dataclass

from pymavg.errors import PymavgError, did_you_mean
from pymavg.training.gossip import PARTNERS

GB = 1e9  # bytes


@dataclass(frozen=True)
class Network:
    """The way of the parameters from one device's memory to another's.

    Attributes
    ----------
    latency : float
        α, seconds for a message between nodes.
    bandwidth : float
        β, bytes per second of a node in one direction, as MPI reaches it.
    copies : int
        Passes between device and host memory for one average: 2, there and back; 0 where MPI takes the device's memory.
    copy_bandwidth : float
        Bytes per second of such a pass.
    workers_per_node : int
    inner_bandwidth : float
        Bytes per second between the workers of a node; not used where there is one worker in a node.
    algorithm : str
        Of an all-reduce between nodes, a key of ALL_REDUCE; within a node it is a ring.
    """

    latency: float
    bandwidth: float
    copies: int = 0
    copy_bandwidth: float = 12 * GB
    workers_per_node: int = 1
    inner_bandwidth: float = 10 * GB
    algorithm: str = "ring"

    def copy_seconds(self, size):
        """Return the seconds of staging `size` bytes for one average."""
        return self.copies * size / self.copy_bandwidth

    def reduce_seconds(self, size, workers, reduce_type="allreduce"):
        """Return the seconds of one reduction of `size` bytes over `workers`, copies and waiting not counted."""
        if workers == 1:
            return 0.0
        inside = min(workers, self.workers_per_node)
        nodes = math.ceil(workers / self.workers_per_node)
        if reduce_type in PARTNERS:  # one message of each worker; those of a node share its link
            shared = self.bandwidth / inside if nodes > 1 else self.inner_bandwidth
            return self.latency + size / shared
        within = _ring(size, inside, self.latency, self.inner_bandwidth)
        return within + ALL_REDUCE[self.algorithm](size, nodes, self.latency, self.bandwidth)


def _ring(size, n, latency, bandwidth):
    """2(n − 1)(α + S/(nβ)): reduce-scatter and all-gather around a ring."""
    return 2 * (n - 1) * (latency + size / (n * bandwidth))


def _halving(size, n, latency, bandwidth):
    """2⌈log₂ n⌉α + 2(n − 1)/n · S/β: Rabenseifner's recursive halving and doubling."""
    return 2 * math.ceil(math.log2(n)) * latency + 2 * (n - 1) / n * size / bandwidth


def _doubling(size, n, latency, bandwidth):
    """⌈log₂ n⌉(α + S/β): recursive doubling, MPI's choice for short vectors."""
    return math.ceil(math.log2(n)) * (latency + size / bandwidth)


ALL_REDUCE = {"ring": _ring, "halving": _halving, "doubling": _doubling}

# What the links give in one direction, as MPI reaches it; K20's copies pass unpinned memory (PCIe 2).
NETWORKS = {
    "k20-fdr": Network(2e-6, 6.0 * GB, copies=2, copy_bandwidth=2.0 * GB),
    "10gbe": Network(50e-6, 1.1 * GB, copies=2, copy_bandwidth=12 * GB),
    "nvlink-ndr": Network(5e-6, 8 * 45 * GB, workers_per_node=8, inner_bandwidth=360 * GB),
    "one-machine": Network(5e-6, 1.0 * GB),
}


def network(name):
    """Return a network by name; raise PymavgError where there is none."""
    if name not in NETWORKS:
        raise PymavgError(f"--network {name}: expected one of {', '.join(NETWORKS)}{did_you_mean(name, NETWORKS)}")
    return NETWORKS[name]
