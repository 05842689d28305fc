"""What a user sees while it trains: where the time goes, a bar or plain lines, and a JSON-lines log."""

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from pymavg.options import log

KINDS = ("read", "compute", "copy", "wait", "reduce")


class Clock:
    """Seconds spent in each of KINDS: `with clock("read"): …`; an inner kind stops the outer one."""

    def __init__(self):
        self.seconds = dict.fromkeys(KINDS, 0.0)
        self._stack = []
        self._since = time.perf_counter()

    @contextlib.contextmanager
    def __call__(self, kind):
        """Charge the time inside to `kind`."""
        self._charge()
        self._stack.append(kind)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()

    def _charge(self):
        now = time.perf_counter()
        if self._stack:
            self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def take(self):
        """Return the seconds by kind (5,) since the last call and begin anew."""
        self._charge()
        taken = np.array([self.seconds[kind] for kind in KINDS])
        self.seconds = dict.fromkeys(KINDS, 0.0)
        return taken


class Progress:
    """Reports of rank 0; on other ranks every method does nothing.

    Parameters
    ----------
    path : str or Path or None
        The JSON-lines log, appended to; None for a rank that reports nothing.
    seconds : float
        Between two lines in a log that is not a terminal.
    """

    def __init__(self, path, seconds=20.0):
        self.active = path is not None
        self.seconds = seconds
        self.bar = None
        if self.active:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self.stream = open(path, "a", encoding="utf-8")  # noqa: SIM115  (closed by `close`)

    def record(self, kind, **values):
        """Append one line to the JSON-lines log."""
        if self.active:
            values = {name: _plain(value) for name, value in values.items()}
            self.stream.write(json.dumps({"event": kind, "time": round(time.time(), 2), **values}) + "\n")
            self.stream.flush()

    def say(self, message):
        """Print one line, above the bar where there is one."""
        if self.active and self.bar is not None:
            tqdm.write(message, file=sys.stderr)
        elif self.active:
            log(message)

    def begin(self, title, frames, done, told):
        """Start an epoch of `frames` frames, `done` of which are over; `told` words its {loss} and {accuracy}."""
        if not self.active:
            return
        self.title, self.total, self.done = title, frames, done
        self.begun = self.told = time.monotonic()
        self.at_begin = done
        self.told_measures = told
        self.window, self.spent = Window(), 0.0
        if sys.stderr.isatty():
            self.bar = tqdm(total=frames, initial=done, desc=title, unit="frame", unit_scale=True, file=sys.stderr)

    def update(self, loss, correct, counted, frames, seconds):
        """Add one averaging period.

        Parameters
        ----------
        loss, correct, counted : float
            Sums over all workers; `counted` frames by their weight.
        frames : int
            Of all workers.
        seconds : float (ranks, 5)
            Time by KINDS of each rank.
        """
        if not self.active:
            return
        self.done += frames
        self.window.add(loss, correct, counted, frames, seconds)
        self.spent = self.spent + seconds
        if self.bar is not None:
            self.bar.set_postfix_str(self.window.measures(self.told_measures), refresh=False)
            self.bar.update(frames)
        now = time.monotonic()
        if now - self.told >= self.seconds:
            self._tell(now)

    def _tell(self, now):
        elapsed = now - self.told
        rate = (self.done - self.at_begin) / max(1e-9, now - self.begun)
        window, self.window, self.told = self.window, Window(), now
        speed = window.frames / max(1e-9, elapsed)
        if self.bar is None:
            share, measures = self.done / max(1, self.total), window.measures(self.told_measures)
            self.say(
                f"{self.title}: {share:.0%}, {measures}, {speed:.0f} frames/s, "
                f"{duration((self.total - self.done) / max(1e-9, rate))} left; {window.shares()}"
            )
        self.record(
            "report",
            at=self.title,
            frames=self.done,
            loss=window.loss / max(1.0, window.counted),
            correct=window.correct / max(1.0, window.counted),
            frames_per_second=speed,
            seconds={kind: window.seconds[:, i].round(3) for i, kind in enumerate(KINDS)},
        )

    def summary(self, title, text, **values):
        """Report a whole epoch: one line, with its speed and its time shares, and one record."""
        if not self.active:
            return
        elapsed = max(1e-9, time.monotonic() - self.begun)
        speed = (self.done - self.at_begin) / elapsed
        self.say(f"{title}: {text}; {speed:.0f} frames/s, {duration(elapsed)}; {time_shares(self.spent)}")
        seconds = {kind: self.spent[:, i].round(3) for i, kind in enumerate(KINDS)}
        whole = {"frames": self.done - self.at_begin, "elapsed": round(elapsed, 3)}
        self.record("epoch", at=title, frames_per_second=speed, seconds=seconds, **whole, **values)

    def end(self):
        """Close the bar of an epoch."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def close(self):
        """End the bar and the log."""
        self.end()
        if self.active:
            self.stream.close()


class Window:
    """Sums since the last report."""

    def __init__(self):
        self.loss = self.correct = self.counted = self.frames = 0.0
        self.seconds = np.zeros((1, len(KINDS)))

    def add(self, loss, correct, counted, frames, seconds):
        """Add one averaging period."""
        self.loss, self.correct = self.loss + loss, self.correct + correct
        self.counted, self.frames = self.counted + counted, self.frames + frames
        self.seconds = self.seconds + seconds

    def measures(self, told):
        """Return what `told` says of the loss per frame and the frame accuracy in percent."""
        frames = max(1.0, self.counted)
        return told.format(loss=self.loss / frames, accuracy=100 * self.correct / frames)

    def shares(self):
        """Return each rank's share of time by kind, in percent, as text."""
        return time_shares(self.seconds)


def time_shares(seconds):
    """Return 'read/compute/copy/wait/reduce 0/97/0/2/1 % (rank 0), …' for seconds (ranks, 5)."""
    rows = []
    for rank, row in enumerate(100 * seconds / np.maximum(seconds.sum(axis=1, keepdims=True), 1e-9)):
        rows.append(f"{'/'.join(f'{share:.0f}' for share in row)} % (rank {rank})")
    shown = rows if len(rows) <= 4 else [*rows[:3], f"… {rows[-1]}"]
    return f"{'/'.join(KINDS)} {', '.join(shown)}"


def duration(seconds):
    """Return seconds as text, such as 1:02:03 or 0:45."""
    whole = int(round(max(0.0, seconds)))
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _plain(value):
    """Turn NumPy numbers and arrays, also within dicts, into what JSON knows."""
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
