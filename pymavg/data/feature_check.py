"""The check of features before they are used: readable, finite, of one dimension, with frames."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pymavg.kaldi.tables import read_matrices, read_token_map

FEW = 5  # utterances named in a message


@dataclass
class FeatureReport:
    """What was found; `faults` are one-line messages that name utterances."""

    num_utterances: int = 0
    num_frames: int = 0
    dim: int = 0
    constant: int = 0  # coefficients that are the same in all frames
    faults: list = field(default_factory=list)


def check_features(source, root=None):
    """Read all features of a data directory or table and report on them.

    Parameters
    ----------
    source : str
        A data directory (then utt2num_frames, where it is there, is compared too), or an rspecifier.
    root : str, optional
        Directory that relative paths start from.

    Returns
    -------
    FeatureReport
        With no faults when the features can be used.

    Raises
    ------
    PymavgError
        For data that cannot be read.
    """
    data = Path(source) if Path(source).is_dir() else None
    lengths = read_token_map(data / "utt2num_frames") if data and (data / "utt2num_frames").exists() else {}
    report = FeatureReport()
    faulty = {}
    low, high = np.inf, -np.inf
    for utterance, features in read_matrices(f"scp:{data}/feats.scp" if data else source, root=root):
        report.num_utterances += 1
        report.num_frames += len(features)
        report.dim = report.dim or features.shape[1]
        fault = _fault(features, report.dim, lengths.get(utterance))
        if fault:
            faulty.setdefault(fault, []).append(utterance)
        else:
            low, high = np.minimum(low, features.min(axis=0)), np.maximum(high, features.max(axis=0))
    report.constant = int(np.sum(low == high))
    for fault, utterances in faulty.items():
        names = ", ".join(utterances[:FEW]) + (", ..." if len(utterances) > FEW else "")
        report.faults.append(f"{len(utterances)} of {report.num_utterances} utterances {fault}: {names}")
    return report


def _fault(features, dim, expected):
    """Return what is wrong with one utterance's features, or an empty string."""
    if not len(features):
        return "have no frames"
    if features.shape[1] != dim:
        return "have another dimension than the first"
    if not np.isfinite(features).all():
        return "hold NaN or infinity"
    if expected not in (None, str(len(features))):
        return "are not as long as utt2num_frames says"
    return ""
