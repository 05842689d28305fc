"""Learning by replayed CUDA graphs, where that is possible.

A step of the network is three graphs: forward with the loss; backward with the updates; and, where it is due, the
renewal of the Fisher estimates, which runs on a stream of its own beside the forward part of the next step. A step of
an RBM is one graph.
"""

import weakref

import numpy as np

from pymavg.nnet.replay import Replay
from pymavg.nnet.workspaces import Workspaces
from pymavg.options import warn

WARM_UP = 3  # steps before anything is captured: kernels are compiled and workspaces taken in them


def captured_steps(learner):
    """Return the CapturedSteps of a learner on a GPU, None of one on the host."""
    xp = learner.xp
    return CapturedSteps(learner, xp) if hasattr(getattr(xp, "cuda", None), "MemoryPool") else None


class CapturedSteps:
    """Does the steps of a learner by replays.

    Parameters
    ----------
    learner : learners.FrameLearner or learners.RbmLearner
        Whose `parts(block, rows, rate, key)` are the functions that make up its next step.
    xp : module
        `cupy`.

    Attributes
    ----------
    replayed : int
        Steps done by replays so far.
    failed : bool
        Whether graphs were given up.
    """

    def __init__(self, learner, xp):
        self.learner, self.xp = learner, xp
        self.main, self.side = Replay(xp), Replay(xp)
        self.rate, self.key = xp.zeros((), np.float32), xp.zeros(1, np.uint64)
        self.rows, self.block, self.last_rate, self.replaced = None, lambda: None, None, -1
        self.seen, self.replayed, self.failed, self.renewed = 0, 0, False, None

    def learn(self, block, rows, learn_rate, key):
        """Train on a minibatch; return False, with nothing done, where it has to be done step by step.

        Parameters
        ----------
        block, rows : shards.Block, xp int32 (N,)
        learn_rate : float
        key : int or None
            What random choices follow from; None where there are none.
        """
        self.seen += 1
        parts = None
        if self.seen > WARM_UP and not self.failed and (self.rows is None or len(rows) >= len(self.rows)):
            self._set(block, rows, learn_rate, key)
            parts = self.learner.parts(block, self.rows, self.rate, self.key)
        if parts is None or not self._captured(*parts):
            self.settle()
            return False
        self._launch(*parts)
        self.replayed += 1
        return True

    def _set(self, block, rows, learn_rate, key):
        """Put what changes from step to step in its place; forget graphs that refer to other arrays."""
        other = self.rows is None or len(rows) != len(self.rows)
        if other or self.block() is not block or self.replaced != Workspaces.replaced:
            self.settle()
            self.main.forget()
            self.side.forget()
            self.rows = rows.copy() if other else self.rows
            self.block = weakref.ref(block)
        self.rows[...] = rows
        if learn_rate != self.last_rate:
            self.last_rate = learn_rate
            self.rate.fill(learn_rate)
        if key is not None:
            self.key.fill(np.uint64(key))

    def _captured(self, main, side):
        """Capture all parts of a step where one is missing; return whether they are there."""
        try:
            if any(name not in self.main for name, _ in main) or any(name not in self.side for name, _ in side):
                for replay, part in ((self.main, main), (self.side, side)):
                    for name, work in part:
                        replay.capture(name, work)
                self.replaced = Workspaces.replaced
        except Exception as error:  # CuPy and CUDA raise many types; nothing has been executed
            self.failed = True
            warn(f"no CUDA graphs, training goes on step by step: {error!r}")
        return not self.failed

    def _launch(self, main, side):
        first, *others = main
        self.main.launch(first[0])
        self.settle()
        for name, _ in others:
            self.main.launch(name)
        if side:
            self.side.stream.wait_event(self.xp.cuda.get_current_stream().record())
            with self.side.stream:
                for name, _ in side:
                    self.side.launch(name)
                self.renewed = self.side.stream.record()
        self.learner.count()

    def settle(self):
        """Let the current stream wait for what runs beside it."""
        if self.renewed is not None:
            self.xp.cuda.get_current_stream().wait_event(self.renewed)
            self.renewed = None
