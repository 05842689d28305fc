"""CMVN statistics of the speakers of a data directory."""

from pathlib import Path

import numpy as np

from pymavg.data import cmvn
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixScp, MatrixWriter, read_token_map
from pymavg.options import log, warn


def compute_speaker_stats(data, ark, scp, fake=False, root=None, say=True):
    """Write the CMVN statistics of each speaker of a data directory, in double precision as Kaldi does.

    Parameters
    ----------
    data : str or Path
        Data directory with feats.scp and utt2spk.
    ark, scp : str
        What is written.
    fake : bool
        Write statistics of mean 0 and variance 1, which change nothing.
    root : str, optional
        Directory that relative paths in feats.scp start from.
    say : bool
        Log how many speakers there are.

    Raises
    ------
    PymavgError
        For an utterance without a speaker, or features that are damaged or not finite.
    """
    feats = MatrixScp(Path(data, "feats.scp"), root=root)
    utt2spk = read_token_map(Path(data, "utt2spk"))
    stats = {}
    for utterance, features in feats.items():
        if utterance not in utt2spk:
            raise PymavgError(f"{data}/utt2spk: utterance {utterance} of feats.scp is not there")
        if not np.isfinite(features).all():
            raise PymavgError(f"{data}/feats.scp: {utterance} holds values that are not finite; make the features anew")
        speaker = stats.setdefault(utt2spk[utterance], cmvn.empty_stats(features.shape[1]))
        try:
            cmvn.accumulate(speaker, features)
        except PymavgError as error:
            raise PymavgError(f"{data}/feats.scp: {utterance}: {error}") from None
    if fake:
        stats = {speaker: _identity(s.shape[1] - 1) for speaker, s in stats.items()}
    with MatrixWriter(ark, scp, double=True) as writer:
        for speaker in sorted(stats):
            writer.write(speaker, stats[speaker])
    without = sorted(set(utt2spk.values()) - stats.keys())
    if without:
        warn(f"{len(without)} speakers have no features and so no statistics; first: {without[0]}")
    if say:
        log(f"{scp}: {len(stats)} speakers")


def _identity(dim):
    stats = cmvn.empty_stats(dim)
    stats[0, -1] = 1
    stats[1, :-1] = 1
    return stats
