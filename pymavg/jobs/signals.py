"""Ctrl-C and kill, turned into an orderly end."""

import contextlib
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ending_on_signals(signals=SIGNALS):
    """Turn the first of these signals into SystemExit(128 + its number); later ones do nothing.

    So the cleaning up that follows the first signal is never interrupted. SIGHUP stays ignored under nohup.
    """
    signals = [n for n in signals if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]

    def end(number, _frame):
        for each in signals:
            signal.signal(each, lambda *_: None)
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
