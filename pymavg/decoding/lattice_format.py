"""The compiled loops of Kaldi's binary lattice format (pymavg.decoding.archive tells the layout)."""

import numpy as np
from numba import njit

from pymavg.compiled import patient


@patient(lambda words, num_states, extra: 10 * num_states)
@njit(cache=True)
def scan(words, num_states, extra):
    """Return (length of the body in words, arcs, transition-ids), or the first bad state as (-1, state, 0).

    `words` int32 begin with the body and reach to the end of the file; extra: compact.
    """
    at, arcs, tids, size = 0, 0, 0, words.size
    for state in range(num_states):
        left = 1  # the final weight, then each arc
        in_final = True
        while left > 0:
            at += 2 if in_final else 4
            if extra:
                if at >= size:
                    return -1, state, 0
                length = int(words[at])
                if length < 0 or length >= size - at:
                    return -1, state, 0
                at += 1 + length
                tids += length
            at += 0 if in_final else 1
            if at > size:
                return -1, state, 0
            left -= 1
            if in_final:
                in_final = False
                if at + 2 > size or words[at + 1] != 0 or words[at] < 0 or words[at] > size // 5:
                    return -1, state, 0
                left = int(words[at])
                arcs += left
                at += 2
    return at, arcs, tids


@patient(lambda words, *sizes: words.size)
@njit(cache=True)
def fill(words, num_states, num_arcs, num_tids, extra):
    """Return columns (num_arcs + num_states, 6) source, target, ilabel, olabel, graph, acoustic bits; offsets; tids.

    Final weights come as arcs to state `num_states`.
    """
    column = np.zeros((num_arcs + num_states, 6), np.int32)
    offset, tids = np.zeros(num_arcs + num_states + 1, np.int64), np.empty(num_tids, np.int32)
    at = row = used = 0
    for state in range(num_states):
        count = np.int64(-1)  # -1: the final weight is still to come
        left = np.int64(1)
        while left > 0:
            if count >= 0:
                column[row, 2], column[row, 3] = words[at], words[at + 1]
                at += 2
            column[row, 0], column[row, 4], column[row, 5] = state, words[at], words[at + 1]
            at += 2
            if extra:
                for k in range(words[at]):
                    tids[used + k] = words[at + 1 + k]
                used += words[at]
                at += 1 + words[at]
            offset[row + 1] = used
            left -= 1
            if count >= 0:
                column[row, 1] = words[at]
                at += 1
            else:
                column[row, 1] = num_states
                left = count = words[at]
                at += 2
            row += 1
    return column, offset, tids


@njit(cache=True)
def pack(num_states, final_arc, own, column, offset, tids, extra):
    """Return the body of one entry as int32 words: the inverse of fill.

    `final_arc` (S,) is the row of `column` that holds a state's final weight: -1 for none, -2 for weight zero; `own`
    tells which rows are arcs. Columns are source, target, ilabel, olabel, graph and acoustic bits.
    """
    infinity = 0x7F800000
    words = np.zeros((4 + extra) * num_states + (5 + extra) * own.sum() + tids.size, np.int32)
    count_at = np.empty(num_states, np.int64)
    at = row = 0
    for state in range(num_states):
        weight = final_arc[state]
        if weight >= 0:
            words[at], words[at + 1] = column[weight, 4], column[weight, 5]
        elif weight == -1:
            words[at] = words[at + 1] = infinity
        at += 2
        if extra:
            at = _pack_sequence(words, at, offset, tids, weight)
        count_at[state] = at
        at += 2
        while row < own.size and column[row, 0] == state:
            if own[row]:
                words[count_at[state]] += 1
                for k in range(4):
                    words[at + k] = column[row, 2 + k]
                at = _pack_sequence(words, at + 4, offset, tids, row) if extra else at + 4
                words[at] = column[row, 1]
                at += 1
            row += 1
    return words[:at]


@njit(cache=True)
def _pack_sequence(words, at, offset, tids, row):
    if row < 0:
        return at + 1
    words[at] = offset[row + 1] - offset[row]
    for k in range(offset[row], offset[row + 1]):
        at += 1
        words[at] = tids[k]
    return at + 1
