"""Local removal of epsilons, which never makes a graph larger (Kaldi's fstext/remove-eps-local-inl.h).

An arc s → n and an arc n → m become one arc s → m where at most one of them has an input label and at most one an
output label, in two cases only: n has a single arc in and several ways out, or n has a single way out. Being final
counts as a way out, being the start as an arc in.
"""

import numpy as np
from numba import njit

from pymavg.graph.algorithms import connect
from pymavg.kaldi.fst import Fst

NONE = -1


def remove_eps_local(fst):
    """Return an equivalent FST (in the tropical semiring) with some epsilons removed.

    Where only a part of the arcs that leave n is moved to s, the rest is reweighted, so that the probabilities that
    leave each state sum to what they did (`fstrmepslocal` with its default `--stochastic-in-log=true`).
    """
    source, final = fst.source, fst.final.astype(np.float64)
    columns = [a.astype(np.int64) for a in (fst.ilabel, fst.olabel, fst.target)]
    weight = fst.weight.astype(np.float64)
    owner = _merge(fst.start, final, fst.offset, source.astype(np.int64), *columns, weight)
    alive = np.flatnonzero(owner != NONE)
    ilabel, olabel, target = (column[alive] for column in columns)
    return connect(Fst.from_arcs(fst.start, final, owner[alive], ilabel, olabel, weight[alive], target))


@njit(cache=True)
def _log_add(a, b):
    """Cost of the sum of two probabilities given as costs."""
    low, high = min(a, b), max(a, b)
    return low if high == np.inf else low - np.log1p(np.exp(low - high))


@njit(cache=True)
def _can_merge(a, b, ilabel, olabel):
    return (ilabel[a] == 0 or ilabel[b] == 0) and (olabel[a] == 0 or olabel[b] == 0)


@njit(cache=True)
def _merge(start, final, offset, owner, ilabel, olabel, target, weight):
    """Merge arcs in place; return the state that owns each arc, NONE where it is gone.

    The arcs of a state are a linked list (`first`, `after`), since arcs move from one state to another.
    """
    num_states, num_arcs = len(final), len(target)
    first, last = np.full(num_states, NONE), np.full(num_states, NONE)
    after = np.full(num_arcs, NONE)
    arcs_in, ways_out = np.zeros(num_states, np.int64), np.zeros(num_states, np.int64)
    arcs_in[start] = 1
    for s in range(num_states):
        ways_out[s] = offset[s + 1] - offset[s] + (final[s] < np.inf)
        for a in range(offset[s], offset[s + 1]):
            arcs_in[target[a]] += 1
            after[a] = a + 1 if a + 1 < offset[s + 1] else NONE
        if offset[s] < offset[s + 1]:
            first[s], last[s] = offset[s], offset[s + 1] - 1
    for s in range(num_states):
        before, a = NONE, first[s]
        while a != NONE:
            n = target[a]
            again = False  # an arc that was led past a state is looked at again, as the last one
            if owner[a] != NONE and n != s:
                if arcs_in[n] == 1 and ways_out[n] > 1:
                    _move_up(s, a, first, last, after, arcs_in, ways_out, final, owner, ilabel, olabel, target, weight)
                elif ways_out[n] == 1:
                    again = _skip(s, a, first, after, arcs_in, ways_out, final, owner, ilabel, olabel, target, weight)
            if again:
                _unlink(s, a, before, first, last, after)
                _append(s, a, first, last, after, owner)
            else:
                before = a
            a = first[s] if before == NONE else after[before]
    return owner


@njit(cache=True)
def _append(s, b, first, last, after, owner):
    """Put the arc `b` at the end of the arcs of `s`."""
    after[b] = NONE
    owner[b] = s
    if last[s] == NONE:
        first[s] = b
    else:
        after[last[s]] = b
    last[s] = b


@njit(cache=True)
def _unlink(n, b, before, first, last, after):
    if before == NONE:
        first[n] = after[b]
    else:
        after[before] = after[b]
    if last[n] == b:
        last[n] = before


@njit(cache=True)
def _end_here(s, cost, ways_out, final):
    """Make `s` final with `cost`."""
    if final[s] == np.inf:
        ways_out[s] += 1
    final[s] = min(final[s], cost)


@njit(cache=True)
def _move_up(s, a, first, last, after, arcs_in, ways_out, final, owner, ilabel, olabel, target, weight):
    """Move to `s` what can be merged of the ways out of n, which only the arc `a` enters."""
    n = target[a]
    moved, kept = np.inf, np.inf
    before, b = NONE, first[n]
    while b != NONE:
        following = after[b]
        if owner[b] == NONE:
            before = b
        elif _can_merge(a, b, ilabel, olabel):
            moved = _log_add(moved, weight[b])
            _unlink(n, b, before, first, last, after)
            ways_out[n] -= 1
            ways_out[s] += 1
            weight[b] += weight[a]
            ilabel[b] += ilabel[a]  # one of the two is 0
            olabel[b] += olabel[a]
            _append(s, b, first, last, after, owner)
        else:
            kept = _log_add(kept, weight[b])
            before = b
        b = following
    if final[n] < np.inf:
        if ilabel[a] == 0 and olabel[a] == 0:
            moved = _log_add(moved, final[n])
            _end_here(s, weight[a] + final[n], ways_out, final)
            final[n] = np.inf
            ways_out[n] -= 1
        else:
            kept = _log_add(kept, final[n])
    if kept == np.inf:
        owner[a] = NONE
        ways_out[s] -= 1
        arcs_in[n] -= 1
    elif moved < np.inf:
        share = kept - _log_add(moved, kept)
        weight[a] += share
        b = first[n]
        while b != NONE:
            weight[b] -= share
            b = after[b]
        final[n] -= share


@njit(cache=True)
def _skip(s, a, first, after, arcs_in, ways_out, final, owner, ilabel, olabel, target, weight):
    """Lead the arc `a` past n, which has a single way out; return whether `a` now leads further."""
    n = target[a]
    if final[n] < np.inf:
        if ilabel[a] != 0 or olabel[a] != 0:
            return False
        _end_here(s, weight[a] + final[n], ways_out, final)
        if arcs_in[n] == 1:
            final[n] = np.inf
            ways_out[n] -= 1
        owner[a] = NONE
        ways_out[s] -= 1
        arcs_in[n] -= 1
        return False
    b = first[n]
    while owner[b] == NONE:
        b = after[b]
    if target[b] == n or not _can_merge(a, b, ilabel, olabel):
        return False
    ilabel[a] += ilabel[b]
    olabel[a] += olabel[b]
    weight[a] += weight[b]
    target[a] = target[b]
    arcs_in[target[b]] += 1
    if arcs_in[n] == 1:
        owner[b] = NONE
        ways_out[n] -= 1
        arcs_in[target[b]] -= 1
    arcs_in[n] -= 1
    return True
