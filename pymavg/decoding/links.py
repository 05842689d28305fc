"""The decoder's history: links between tokens, kept while they lie on a path within the lattice beam."""

from typing import NamedTuple

import numpy as np
from numba import njit


class Links(NamedTuple):
    """Links between tokens, grouped by the frame they lead into: emitting ones first, then epsilons."""

    source: np.ndarray  # (L,) int32 token number
    target: np.ndarray  # (L,) int32 token number
    arc: np.ndarray  # (L,) int32 arc of the graph
    slack: np.ndarray  # (L,) float64


@njit(cache=True)
def grown(links, used, wanted):
    """Return `links` with room for `wanted` more after the first `used`."""
    if used + wanted <= links.arc.size:
        return links
    size = max(2 * links.arc.size, used + wanted)
    source, target = np.empty(size, np.int32), np.empty(size, np.int32)
    arc, slack = np.empty(size, np.int32), np.empty(size, np.float64)
    for k in range(used):  # slice assignment takes 4 s to compile
        source[k], target[k], arc[k], slack[k] = links.source[k], links.target[k], links.arc[k], links.slack[k]
    return Links(source, target, arc, slack)


@njit(cache=True)
def settle(links, low, high, kept, cost, beam, source_base, target_base):
    """Turn the costs of links low..high into slacks, move those within the lattice beam to `kept`; return their end.

    Token numbers within the frames become global ones.
    """
    for k in range(low, high):
        slack = links.slack[k] - cost[links.target[k]]
        if slack <= beam:
            links.source[kept] = links.source[k] + source_base
            links.target[kept] = links.target[k] + target_base
            links.arc[kept], links.slack[kept] = links.arc[k], slack
            kept += 1
    return kept


@njit(cache=True)
def prune(links, tokens, emitting, ends, last, extra, beam):
    """Drop what lies on no path within `beam` and renumber the tokens, in place.

    Frame f has tokens tokens[f] .. tokens[f+1], emitting links ends[f] .. emitting[f+1] and epsilon links from there to
    ends[f+1]. `extra` (tokens,) is how much worse than the best path the best path through a token is: set for the
    tokens of frame `last`, infinite before.
    """
    for f in range(last, -1, -1):
        changed = True
        while changed:  # epsilon links within a frame are in no certain order
            changed = False
            for k in range(ends[f + 1] - 1, emitting[f + 1] - 1, -1):
                through = extra[links.target[k]] + links.slack[k]
                if through <= beam and through < extra[links.source[k]]:
                    extra[links.source[k]] = through
                    changed = True
        for k in range(ends[f], emitting[f + 1]):
            through = extra[links.target[k]] + links.slack[k]
            if through <= beam and through < extra[links.source[k]]:
                extra[links.source[k]] = through
    number = np.empty(extra.size, np.int32)
    n = kept = begin = token = 0
    for f in range(last + 1):
        for token in range(begin, tokens[f + 1]):
            number[token] = n
            n += extra[token] < np.inf
        begin, tokens[f + 1] = tokens[f + 1], n
    begin = 0
    for f in range(last + 1):
        middle, end = emitting[f + 1], ends[f + 1]
        for k in range(begin, end):
            if k == middle:
                emitting[f + 1] = kept
            if extra[links.target[k]] + links.slack[k] <= beam:
                links.source[kept], links.target[kept] = number[links.source[k]], number[links.target[k]]
                links.arc[kept], links.slack[kept] = links.arc[k], links.slack[k]
                kept += 1
        if middle == end:
            emitting[f + 1] = kept
        begin, ends[f + 1] = end, kept
