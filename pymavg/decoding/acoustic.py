"""Acoustic scores for the decoder: (T, D) features in, (T, P) log-likelihoods out, from a GMM or a neural network."""

from pathlib import Path

import numpy as np

from pymavg.backend import array_module, to_device, to_host
from pymavg.errors import PymavgError
from pymavg.gmm.likelihood import GmmScorer
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.nnet1 import read_nnet
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.transitions import read_transition_model
from pymavg.nnet.features import FeatureTransform
from pymavg.nnet.network import Network

COUNTS, PRIORS = "ali_train_pdf.counts", "prior_counts"  # of an alignment; of a network's posteriors, which wins
PRIOR_FLOOR = 1e-10  # classes with a smaller share are never recognised
NEVER = np.float32(np.sqrt(np.finfo(np.float32).max))


def log_priors(counts, floor=PRIOR_FLOOR):
    """Return log P(class), float32 (P,), from frame counts (nnet/nnet-pdf-prior.cc).

    log(count / sum + 1e-20); a class with a share below `floor` gets a prior so large that it is never recognised.
    """
    share = np.asarray(counts, np.float64) / np.sum(counts, dtype=np.float64)
    return np.where(share < floor, NEVER, np.log(share + 1e-20)).astype(np.float32)


def read_priors(directory, num_pdfs, given=None):
    """Return the counts of classes that a network's directory holds, (P,): prior_counts, else ali_train_pdf.counts.

    `given` is a file to take in their place.

    Raises
    ------
    PymavgError
        When none is there, or it has another number of classes.
    """
    found = [path for path in (Path(directory, PRIORS), Path(directory, COUNTS)) if path.exists()]
    found = [Path(given)] if given else found
    if not found:
        raise PymavgError(f"{directory}: neither {PRIORS} nor {COUNTS} is there; a network's directory expected")
    counts = open_reader(found[0]).vector()
    if len(counts) != num_pdfs:
        told = f"{found[0].name} {len(counts)}, final.mdl {num_pdfs}"
        raise PymavgError(f"{directory}: different numbers of pdfs: {told}; the files are of different trainings")
    return counts


class GmmAcoustic:
    """Log-likelihoods of a GMM.

    Parameters
    ----------
    model : str or Path
        final.mdl.
    """

    def __init__(self, model):
        self.transitions, self.gmm = read_model(model)
        self.loglikes = GmmScorer(self.gmm).loglikes


class NnetAcoustic:
    """Scaled likelihoods of a neural network: its outputs before the softmax minus log-priors.

    Parameters
    ----------
    source : str or Path
        Directory with final.nnet, final.feature_transform, prior_counts or ali_train_pdf.counts, and final.mdl.
    prior_scale : float
        Multiplies the log-priors; 0 leaves them out.
    use_gpu : {"auto", "yes", "no"}
    prior_floor : float
        Classes with a smaller share of the training frames are never recognised.
    other : dict, optional
        Files to take instead: {"final.nnet": "exp/dnn_smbr/2.nnet"}; empty names are passed over.

    Raises
    ------
    PymavgError
        When a file is missing or their numbers of pdfs differ.
    """

    def __init__(self, source, prior_scale=1.0, use_gpu="no", other=None, prior_floor=PRIOR_FLOOR):
        other, xp = other or {}, array_module(use_gpu)
        model, nnet, transform = (
            other.get(name) or Path(source, name) for name in ("final.mdl", "final.nnet", "final.feature_transform")
        )
        self.transitions = read_transition_model(model)
        self.network = Network(read_nnet(nnet), xp)
        self.transform = FeatureTransform(read_nnet(transform), xp)
        counts = read_priors(source, self.transitions.num_pdfs, other.get("ali_train_pdf.counts"))
        outputs = self.network.output_dim
        if outputs != len(counts):
            told = f"final.nnet {outputs}, final.mdl {len(counts)}"
            raise PymavgError(f"{source}: different numbers of pdfs: {told}; the files are of different trainings")
        self.xp, self.offset = xp, prior_scale * log_priors(counts, prior_floor)

    def loglikes(self, feats):
        """Return log p(x_t | pdf) up to a constant of the frame, float32 (T, P)."""
        expected = self.network.input_dim // len(self.transform.offsets)
        if feats.shape[1] != expected:
            raise PymavgError(f"features have {feats.shape[1]} dimensions, the network wants {expected}")
        inputs = self.transform.apply(to_device(self.xp, feats, np.float32))
        return to_host(self.network.forward(inputs)) - self.offset
