"""Ctrl-C and kill, turned into an orderly end."""

import contextlib
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ending_on_signals():
    """Turn the first of SIGINT, SIGTERM and SIGHUP into SystemExit(128 + its number); later ones do nothing.

    So the cleaning up that follows the first signal is never interrupted.
    """

    def end(number, _frame):
        for each in SIGNALS:
            signal.signal(each, lambda *_: None)
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
