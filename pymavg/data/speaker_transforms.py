"""Linear transforms of utterances: one for all of them, as MLLT, or one for each speaker, as fMLLR."""

import numpy as np

from pymavg.data.transforms import transform
from pymavg.errors import PymavgError
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import read_matrices, read_token_map


class Transforms:
    """Reads the argument of Kaldi's transform-feats.

    Parameters
    ----------
    path : str or Path
        A matrix, or with `utt2spk` an archive of matrices by speaker; (K, D), or (K, D + 1) with an offset.
    utt2spk : str or Path, optional
        File with lines `utterance speaker`.
    """

    def __init__(self, path, utt2spk=None):
        self.path, self._utt2spk = path, read_token_map(utt2spk) if utt2spk else None
        self.matrix = None if utt2spk else open_reader(path).matrix(np.float64)
        self.by_speaker = dict(read_matrices(f"ark:{path}", np.float64)) if utt2spk else {}

    def __call__(self, utterance, features):
        """Return the transformed features, float32 (T, K), of an utterance's features (T, D)."""
        return transform(features, self.of(utterance).astype(np.float32), f"{self.path}: {utterance}")

    def of(self, utterance):
        """Return the matrix for an utterance.

        Raises
        ------
        PymavgError
            When there is none.
        """
        if self._utt2spk is None:
            return self.matrix
        speaker = self._utt2spk.get(utterance)
        if speaker not in self.by_speaker:
            raise PymavgError(f"{self.path}: no transform for speaker {speaker} of utterance {utterance}; make it anew")
        return self.by_speaker[speaker]
