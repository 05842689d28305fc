"""Averaging the models of N workers: V of them in each of N/V ranks, every one a flat parameter vector.

The average after a period is θ̄ = Σ_k n_k θ_k / Σ_k n_k with n_k the frames worker k has seen since the last one
(Su and Chen 2015, section 3; weights as in kaldi-aslp's BSP worker). A worker that has used up its shard takes part
with n_k = 0. On top of it: block momentum, a moving average, gossip between pairs, delayed application.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.training import gossip
from pymavg.training.staging import Staging

REDUCE_TYPES = ("allreduce", *gossip.PARTNERS)


@dataclass
class AveragingOptions:
    """How models are combined; see `pymavg train --help`."""

    reduce_type: str = "allreduce"
    average_start: int = 0  # frames of all workers before which one worker's model is kept instead of the average
    block_momentum: float = 0.0
    block_learn_rate: float = 1.0
    block_nesterov: bool = False
    ema_decay: float = 0.0
    average_momentum: str = "keep"  # keep | average | reset
    overlap: bool = False

    def check(self, workers):
        """Raise PymavgError where the options contradict each other or the number of workers."""
        if self.reduce_type not in REDUCE_TYPES:
            raise PymavgError(f"--reduce-type {self.reduce_type}: expected one of {', '.join(REDUCE_TYPES)}")
        if self.average_momentum not in ("keep", "average", "reset"):
            raise PymavgError(f"--average-momentum {self.average_momentum}: expected keep, average or reset")
        for name in ("block_momentum", "ema_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise PymavgError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected 0 <= value < 1")
        if self.reduce_type != "allreduce" and (self.block_momentum or self.overlap or self.ema_decay):
            raise PymavgError(
                f"--reduce-type {self.reduce_type} goes neither with --block-momentum, --ema-decay nor "
                "--overlap: they need the average of all workers; use --reduce-type allreduce"
            )
        if self.overlap and (self.block_momentum or self.average_start):
            raise PymavgError("--overlap goes neither with --block-momentum nor with --average-start")
        if self.reduce_type == "butterfly" and workers & (workers - 1):
            raise PymavgError(f"--reduce-type butterfly needs a power of two of workers, got {workers}; use allreduce")


class Averager:
    """Combines the parameter vectors of all workers, in place.

    Parameters
    ----------
    comm : communicator.Local or communicator.Mpi
    thetas : list of xp float (P,)
        The vectors of this rank's workers, all equal when this is called; views of them stay valid.
    options : AveragingOptions
    clock : progress.Clock
        Charged with the time for copies and reductions.

    Attributes
    ----------
    model : xp float (P,)
        The model to evaluate and to save; the same on all ranks after `synchronise`.
    """

    def __init__(self, comm, thetas, options, clock):
        options.check(comm.size * len(thetas))
        self.comm, self.thetas, self.options = comm, thetas, options
        self.first = comm.rank * len(thetas)
        self.workers = comm.size * len(thetas)
        self.staging = Staging(comm, thetas[0], clock)
        self.rounds = 0
        self.pending = None
        self.overlap = options.overlap and self.workers > 1
        self.block = self.delta = self.ema = None
        if options.block_momentum:
            self.block, self.delta = thetas[0].copy(), thetas[0] * 0
        if options.ema_decay:
            self.ema = thetas[0].copy()

    @property
    def model(self):
        """Return the combined model without look-ahead."""
        return self.thetas[0] if self.block is None else self.block

    def weights(self, frames, total):
        """Return the workers' weights (N,), the largest 1.

        Parameters
        ----------
        frames : float (N,)
            Frames of each worker since the last average.
        total : int
            Frames of all workers since training began. Before `average_start` one worker after the other is taken
            whole (a serial start, after the round robin of Su's nnet-mixing.h).
        """
        frames = np.asarray(frames, dtype=np.float64)
        if total < self.options.average_start:
            active = np.flatnonzero(frames)
            chosen = np.zeros_like(frames)
            chosen[active[self.rounds % len(active)]] = 1.0
            return chosen
        return frames / frames.max()

    def average(self, frames, total):
        """Combine after a period; nothing is done when no worker has seen a frame, or when there is one worker.

        One worker alone is thereby the plain optimiser, bit for bit.
        """
        if not np.any(frames):
            return
        weights = self.weights(frames, total)
        if self.workers > 1:
            self._combine(weights)
        self._after_average()
        self.rounds += 1

    def _combine(self, weights):
        if self.options.reduce_type != "allreduce":
            gossip.mix(self.staging, self.thetas, weights, self.options.reduce_type, self.rounds)
        elif self.overlap:
            self.finish_pending()
            self._start_pending(weights)
        else:
            self.all_reduce(self.thetas, weights)

    def all_reduce(self, vectors, weights):
        """Set each of this rank's `vectors` to Σ w_k v_k / Σ w_k over all workers.

        Largest weights of exactly 1 keep equal vectors equal but for the last bit.
        """
        total = vectors[0]
        self._weighted_sum(vectors, weights, total)
        self.staging.sum(total)
        total /= weights.sum()
        for vector in vectors[1:]:
            vector[:] = total

    def _weighted_sum(self, vectors, weights, out):
        """Put this rank's share of the weighted sum into `out`, which may be the first of the vectors."""
        own = weights[self.first : self.first + len(vectors)]
        if out is not vectors[0]:
            out[:] = vectors[0]
        if own[0] != 1.0:
            out *= float(own[0])
        for vector, weight in zip(vectors[1:], own[1:], strict=True):
            if weight:
                out += vector if weight == 1.0 else vector * float(weight)

    def _start_pending(self, weights):
        """Send off the average of this moment; it is applied one period later."""
        snapshots = [theta.copy() for theta in self.thetas]
        share = snapshots[0].copy()
        self._weighted_sum(snapshots, weights, share)
        self.pending = (snapshots, self.staging.start_sum(share), float(weights.sum()))

    def poll(self):
        """Let a reduction in flight make progress."""
        if self.pending:
            self.pending[1].test()

    def finish_pending(self):
        """Apply the average sent off a period ago: θ_k ← θ̄ + (θ_k − θ_k at the time of sending)."""
        if not self.pending:
            return
        snapshots, reduction, weight = self.pending
        self.pending = None
        mean = reduction.result() / weight
        for theta, snapshot in zip(self.thetas, snapshots, strict=True):
            theta -= snapshot
            theta += mean
        self._update_ema(mean)

    def _after_average(self):
        if self.block is not None:
            block_momentum(self.thetas[0], self.block, self.delta, self.options)
            for theta in self.thetas[1:]:
                theta[:] = self.thetas[0]
        if not self.overlap:
            self._update_ema(self.model)

    def _update_ema(self, mean):
        """EMA: m ← m + (1 − decay)(θ̄ − m), kept aside (Tian et al. 2017)."""
        if self.ema is not None:
            self.ema += (1.0 - self.options.ema_decay) * (mean - self.ema)

    def momenta(self, vectors, frames):
        """Average or reset the workers' momenta, as the options say."""
        if self.options.average_momentum == "reset":
            for vector in vectors:
                vector[:] = 0
        elif self.options.average_momentum == "average" and self.workers > 1 and np.any(frames):
            self.all_reduce(vectors, np.asarray(frames) / np.max(frames))

    def synchronise(self, frames):
        """Make all workers equal at the end of an epoch: the last reduction is always an all-reduce.

        Parameters
        ----------
        frames : float (N,)
            What each worker has seen in the epoch; it weights models that had only gossiped.
        """
        self.finish_pending()
        gossiped = self.options.reduce_type != "allreduce" or self.overlap
        if self.workers > 1 and gossiped and np.any(frames):
            self.all_reduce(self.thetas, np.asarray(frames) / np.max(frames))
        if self.workers > 1:
            self.staging.broadcast(self.thetas[0])  # bit-equality by construction, whatever MPI's algorithm
            for theta in self.thetas[1:]:
                theta[:] = self.thetas[0]

    def restart_from(self, model):
        """Set every worker to `model` and forget the block momentum, as after a rejected epoch."""
        if self.pending:
            self.pending[1].result()  # the ranks must agree on which messages are over
        self.pending = None
        for theta in self.thetas:
            theta[:] = model
        if self.block is not None:
            self.block[:] = model
            self.delta[:] = 0
        if self.ema is not None:
            self.ema[:] = model

    def state(self):
        """Return what a checkpoint needs: (values common to all ranks, values of each of this rank's workers)."""
        common = {"rounds": np.int64(self.rounds)}
        for name in ("block", "delta", "ema"):
            if getattr(self, name) is not None:
                common[name] = self.staging.to_host(getattr(self, name))
        workers = [{} for _ in self.thetas]
        if self.pending:
            snapshots, reduction, weight = self.pending
            common.update(pending_sum=self.staging.to_host(reduction.result()), pending_weight=np.float64(weight))
            for own, snapshot in zip(workers, snapshots, strict=True):
                own["snapshot"] = self.staging.to_host(snapshot)
        return common, workers

    def load_state(self, common, workers):
        """Restore what `state` returned."""
        self.rounds = int(common["rounds"])
        for name in ("block", "delta", "ema"):
            if getattr(self, name) is not None:
                getattr(self, name)[:] = self.staging.to_device(common[name])
        if "pending_sum" in common:
            snapshots = [self.staging.to_device(own["snapshot"]) for own in workers]
            reduction = self.staging.ended(common["pending_sum"])
            self.pending = (snapshots, reduction, float(common["pending_weight"]))


def block_momentum(theta, block, delta, options):
    """Filter the step from the last block model to the average, in place (Chen and Huo 2016, equations 3 to 6).

    G = θ̄ − W;  Δ ← ηΔ + ζG;  W ← W + Δ;  workers start from W (classical) or W + ηΔ (Nesterov).

    Parameters
    ----------
    theta : xp float (P,)
        In: the average θ̄. Out: where the workers start.
    block, delta : xp float (P,)
        W and Δ.
    options : AveragingOptions
        η is `block_momentum`, ζ `block_learn_rate`.
    """
    eta, zeta = options.block_momentum, options.block_learn_rate
    theta -= block
    if zeta != 1.0:
        theta *= zeta
    delta *= eta
    delta += theta
    block += delta
    theta[:] = block
    if options.block_nesterov:
        theta += eta * delta
