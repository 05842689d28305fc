"""What sequence training learns from: whole utterances, each with its lattice and its reference alignment."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pymavg.backend import to_device
from pymavg.data.labels import match_lengths, read_transition_ids
from pymavg.data.minibatches import generator
from pymavg.data.shards import check_values, read_ahead
from pymavg.decoding.archive import LatticeScp
from pymavg.errors import PymavgError
from pymavg.training import frontend

LATTICES = "lat.scp"


@dataclass
class Utterance:
    """One utterance on its way through training.

    Attributes
    ----------
    feats : xp float32 (T, D)
        Before splicing.
    lattice : Lattice
        The denominator, of T frames.
    reference : int32 (T,)
        Transition-ids.
    utterances, starts
        Its name alone, and its first row and T: as of a block of frames, for messages.
    """

    feats: object
    lattice: object
    reference: np.ndarray
    utterances: list
    starts: np.ndarray


class SequenceTargets:
    """Lattices and alignments of one data directory, checked against its features.

    Parameters
    ----------
    data, ali_dir, denlats : str or Path
        Directories: of the data; with ali.*.gz and final.mdl; with lat.scp.
    max_frames : int
        Longer utterances are left out; 0 for no limit.
    max_missing : float
        Largest share of utterances that may be without lattice or alignment.
    say : function of one line of text
        Told what is left out.

    Attributes
    ----------
    lengths : dict utterance -> frames, of those that are trained on
    references : dict utterance -> int32 (T,)
    lattices : LatticeScp
    model : TransitionModel
        Of the alignment.

    Raises
    ------
    PymavgError
        When files are missing, or more utterances than `max_missing` allows.
    """

    def __init__(self, data, ali_dir, denlats, max_frames, max_missing, say):
        path = Path(denlats, LATTICES)
        if not path.exists():
            raise PymavgError(f"{path}: no such file; make it with steps/nnet/make_denlats.sh")
        self.lattices = LatticeScp(path)
        references, self.model = read_transition_ids(ali_dir)
        frames = frontend.frame_counts(data)
        aligned = match_lengths(frames, references, f"{data} with {ali_dir}", 0, max_missing, say)
        held = [u for u in aligned if u in self.lattices]
        lost = len(aligned) - len(held)
        if lost:
            first = next(u for u in aligned if u not in self.lattices)
            told = f"{path}: no lattice for {lost} of {len(aligned)} utterances (first: {first})"
            if lost > max_missing * len(aligned):
                raise PymavgError(f"{told}; make them for this data, or allow it with --max-missing")
            say(f"WARNING: {told}")
        short = [u for u in held if not max_frames or aligned[u] <= max_frames]
        if len(short) < len(held):
            say(f"{len(held) - len(short)} utterances of more than {max_frames} frames are left out (--max-frames)")
        if not short:
            raise PymavgError(f"{data}: no utterance of at most --max-frames {max_frames} frames with a lattice")
        self.lengths = {u: aligned[u] for u in short}
        self.references = {u: references[u] for u in short}

    def checksum(self):
        """Return a number: equal utterances, alignments and list of lattices, equal number."""
        total = zlib.crc32(Path(self.lattices.path).read_bytes())
        for utterance in sorted(self.lengths):
            total = zlib.crc32(self.references[utterance].tobytes(), zlib.crc32(utterance.encode(), total))
        return total


class SequenceShard:
    """The utterances of one worker, read one by one, the next ahead.

    Parameters
    ----------
    source : FeaturePipeline
    targets : SequenceTargets
    utterances : list of str
    xp : module
        `numpy` or `cupy`.

    Attributes
    ----------
    frames : int
        To train on in an epoch.
    """

    def __init__(self, source, targets, utterances, xp):
        self.source, self.targets, self.utterances, self.xp = source, targets, utterances, xp
        self.frames = sum(targets.lengths[u] for u in utterances)

    def load(self, utterance):
        """Return an Utterance."""
        targets, length = self.targets, self.targets.lengths[utterance]
        feats, lattice = check_values(utterance, self.source.get(utterance)), targets.lattices[utterance]
        place, num_tids = f"{targets.lattices.path}: utterance {utterance}", targets.model.num_tids
        if lattice.num_frames != length or len(feats) != length:
            raise PymavgError(
                f"{place}: a lattice of {lattice.num_frames} frames for {len(feats)} frames of features, an alignment "
                f"of {length}; make lattices and alignments on the same data"
            )
        if lattice.tids.max(initial=0) > num_tids:
            raise PymavgError(
                f"{place}: transition-id {lattice.tids.max()}, but the alignment's model has {num_tids}; make lattices "
                "and alignments with one model"
            )
        feats = to_device(self.xp, feats, np.float32)
        return Utterance(feats, lattice, targets.references[utterance], [utterance], np.array([0, length]))

    def epoch(self, numbers, minibatch_size=1, randomizer_size=0, drop_last=False, done=0):
        """Return one pass over the utterances, in random order unless `numbers` is None; see shards.Epoch."""
        order = self.utterances
        if numbers is not None:
            order = [order[i] for i in generator(*numbers).permutation(len(order))]
        return SequenceEpoch(self, order, done)


class SequenceEpoch:
    """One pass over a shard, an utterance at a time, from any of them on."""

    def __init__(self, shard, order, done=0):
        self.total, self.done = len(order), done
        self._utterances = read_ahead(shard.load, order[done:])

    @property
    def left(self):
        """Utterances to come."""
        return self.total - self.done

    def take(self):
        """Return the next (Utterance, its rows)."""
        self.done += 1
        utterance = next(self._utterances)
        return utterance, np.arange(len(utterance.reference), dtype=np.int32)
