"""Random numbers as Kaldi's programs draw them: rand() of the GNU C library, and the seed made from a name.

Where Kaldi's choice at random decides which of many equally good models comes out of a training, the same choice makes
results comparable.
"""

import itertools
from collections import deque

WARM_UP = 310  # numbers that the library throws away after seeding


def c_random(seed=1):
    """Yield what rand() gives after srand(seed); a program that never seeds has seed 1."""
    state = [_signed(seed) or 1]
    for _ in range(30):
        quotient, remainder = divmod(abs(state[-1]), 127773)
        sign = -1 if state[-1] < 0 else 1
        word = sign * (16807 * remainder - 2836 * quotient)
        state.append(word + 2147483647 if word < 0 else word)
    state = deque([word & 0xFFFFFFFF for word in state + state[:3]], maxlen=31)
    for drawn in itertools.count():
        state.append((state[0] + state[-3]) & 0xFFFFFFFF)
        if drawn >= WARM_UP:
            yield state[-1] >> 1


def choice(draws, n):
    """Return a number below n; with n = 1 nothing is drawn (RandInt of Kaldi's base/kaldi-math.cc)."""
    return next(draws) % n if n > 1 else 0


def name_seed(name):
    """Return the seed that Kaldi makes from an utterance's name (StringHasher of util/stl-utils.h)."""
    value = 0
    for byte in name.encode():
        value = (value * 7853 + byte) & 0xFFFFFFFFFFFFFFFF
    return value & 0xFFFFFFFF


def _signed(word):
    word &= 0xFFFFFFFF
    return word - (1 << 32) if word >= 1 << 31 else word
