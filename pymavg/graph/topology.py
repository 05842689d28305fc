"""The standard topologies: left-to-right for speech, a net of states for silence (Kaldi's utils/gen_topo.pl)."""

from pymavg.errors import PymavgError
from pymavg.kaldi.topology import HmmState, Topology

STAY = 0.75  # probability of the self-loop in a left-to-right state


def left_to_right(num_states):
    """Return a chain of `num_states` emitting states, each of which stays with 0.75 and goes on with 0.25."""
    states = [HmmState(i, i, ((i, STAY), (i + 1, 1 - STAY))) for i in range(num_states)]
    return [*states, HmmState(-1, -1, ())]


def silence_net(num_states):
    """Return the shape of silence: a first and a last state and, between, states that reach each other equally."""
    if num_states == 1:
        return left_to_right(1)
    last = num_states - 1
    share = 1.0 / last
    states = [HmmState(0, 0, tuple((j, share) for j in range(last)))]
    states += [HmmState(i, i, tuple((j, share) for j in range(1, last + 1))) for i in range(1, last)]
    states += [HmmState(last, last, ((last, STAY), (last + 1, 1 - STAY)))]
    return [*states, HmmState(-1, -1, ())]


def make_topology(nonsilence, silence, num_nonsilence_states=3, num_silence_states=5):
    """Return the topology for two lists of phone ids.

    Raises
    ------
    PymavgError
        For fewer than one state (two states of silence would never be left).
    """
    if num_nonsilence_states < 1 or num_silence_states < 1 or num_silence_states == 2:
        raise PymavgError(
            f"{num_nonsilence_states} states for speech and {num_silence_states} for silence; expected at least 1, "
            "and for silence 1 or at least 3"
        )
    entries = [left_to_right(num_nonsilence_states), silence_net(num_silence_states)]
    return Topology(entries, dict.fromkeys(nonsilence, 0) | dict.fromkeys(silence, 1))
