"""Averaging the models of N workers: V of them in each of N/V ranks, every one a flat parameter vector.

The average after a period is θ̄ = Σ_k n_k θ_k / Σ_k n_k with n_k the frames worker k has seen since the last one
(Su and Chen 2015, section 3; weights as in kaldi-aslp's BSP worker). A worker that has used up its shard takes part
with n_k = 0. On top of it: block momentum, a moving average, gossip between pairs, delayed application.

What is summed are the distances from a reference that all workers share, the model of the last average:
θ̄ = ϱ + Σ_k n_k (θ_k − ϱ) / Σ_k n_k. They are small, so rounding costs less than the last bit however many workers add
up, and averaging equal models changes nothing.
"""

import numpy as np

from pymavg.training import gossip
from pymavg.training.combination import block_momentum
from pymavg.training.staging import Staging


class Averager:
    """Combines the parameter vectors of all workers, in place.

    Parameters
    ----------
    comm : communicator.Local or communicator.Mpi
    xp : module
        `numpy` or `cupy`.
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

    def __init__(self, comm, xp, thetas, options, clock):
        options.check(comm.size * len(thetas))
        self.comm, self.xp, self.thetas, self.options = comm, xp, thetas, options
        self.first = comm.rank * len(thetas)
        self.workers = comm.size * len(thetas)
        self.staging = Staging(comm, xp, thetas[0], clock)
        self.rounds = 0
        self.pending = None
        self.overlap = options.overlap and self.workers > 1
        self.block = self.delta = self.ema = None
        self.reference = thetas[0].copy() if self.workers > 1 else None
        if options.block_momentum:
            self.block, self.delta = thetas[0].copy(), xp.zeros_like(thetas[0])
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
            self.all_reduce(self.thetas, weights, self.reference)

    def all_reduce(self, vectors, weights, reference):
        """Set each of this rank's `vectors` to their weighted mean over all workers.

        Parameters
        ----------
        vectors : list of xp float (P,)
        weights : float64 (N,)
            Of all workers, their largest 1.
        reference : xp float (P,)
            Equal on all ranks.
        """
        total = vectors[0]
        self._weighted_distances(vectors, weights, reference, total)
        self.staging.sum(total)
        total /= float(weights.sum())
        total += reference
        for vector in vectors[1:]:
            vector[:] = total

    def _weighted_distances(self, vectors, weights, reference, out):
        """Put this rank's share of Σ w_k (v_k − reference) into `out`, which is or equals the first vector."""
        own = weights[self.first : self.first + len(vectors)]
        out -= reference
        if own[0] != 1.0:
            out *= float(own[0])
        for vector, weight in zip(vectors[1:], own[1:], strict=True):
            if weight:
                distance = vector - reference
                if weight != 1.0:
                    distance *= float(weight)
                out += distance

    def _start_pending(self, weights):
        """Send off the average of this moment; it is applied one period later."""
        snapshots = [theta.copy() for theta in self.thetas]
        share = snapshots[0].copy()
        self._weighted_distances(snapshots, weights, self.reference, share)
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
        self.reference += reduction.result() / weight
        for theta, snapshot in zip(self.thetas, snapshots, strict=True):
            theta -= snapshot
            theta += self.reference
        self._update_ema(self.reference)

    def _after_average(self):
        if self.block is not None:
            block_momentum(self.thetas[0], self.block, self.delta, self.options)
            for theta in self.thetas[1:]:
                theta[:] = self.thetas[0]
        if not self.overlap:
            self._update_ema(self.model)
            if self.options.reduce_type == "allreduce":
                self._refer_to(self.thetas[0])

    def _refer_to(self, model):
        if self.reference is not None:
            self.reference[:] = model

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
            self.all_reduce(vectors, np.asarray(frames) / np.max(frames), self.xp.zeros_like(vectors[0]))

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
            self.all_reduce(self.thetas, np.asarray(frames) / np.max(frames), self.reference)
        if self.workers > 1:
            self.staging.broadcast(self.thetas[0])  # bit-equality by construction, whatever MPI's algorithm
            for theta in self.thetas[1:]:
                theta[:] = self.thetas[0]
            self._refer_to(self.thetas[0])

    def restart_from(self, model):
        """Set every worker to `model` and forget the block momentum, as after a rejected epoch."""
        if self.pending:
            self.pending[1].result()  # the ranks must agree on which messages are over
        self.pending = None
        for theta in self.thetas:
            theta[:] = model
        self._refer_to(model)
        if self.block is not None:
            self.block[:] = model
            self.delta[:] = 0
        if self.ema is not None:
            self.ema[:] = model

    def state(self):
        """Return what a checkpoint needs: (values common to all ranks, values of each of this rank's workers)."""
        common = {"rounds": np.int64(self.rounds)}
        for name in ("block", "delta", "ema", "reference"):
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
        for name in ("block", "delta", "ema", "reference"):
            if getattr(self, name) is not None:
                getattr(self, name)[:] = self.staging.to_device(common[name])
        if "pending_sum" in common:
            snapshots = [self.staging.to_device(own["snapshot"]) for own in workers]
            reduction = self.staging.ended(common["pending_sum"])
            self.pending = (snapshots, reduction, float(common["pending_weight"]))
