"""Acoustic models of diagonal-covariance Gaussian mixtures, and the file final.mdl (Kaldi's gmm/am-diag-gmm.h).

All mixtures lie in flat arrays: pdf p owns the Gaussians from offset[p] to offset[p + 1]. So likelihoods and statistics
are matrix products, whatever the number of Gaussians of each pdf.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.files import atomic_open
from pymavg.kaldi.stream import KaldiWriter, open_reader
from pymavg.kaldi.transitions import read_transitions, write_transitions

LOG_2PI = float(np.log(2 * np.pi))


@dataclass
class AmDiagGmm:
    """P mixtures with G Gaussians in all, in D dimensions.

    Attributes
    ----------
    offset : int64 (P + 1,)
        First Gaussian of each pdf; the last entry is G.
    weights : float32 (G,)
        Mixture weights; they add up to 1 within a pdf.
    means_invvars : float32 (G, D)
        μ / σ².
    inv_vars : float32 (G, D)
        1 / σ².
    gconsts : float32 (G,)
        What a log-likelihood has beside its terms in x: see `constants`.
    """

    offset: np.ndarray
    weights: np.ndarray
    means_invvars: np.ndarray
    inv_vars: np.ndarray
    gconsts: np.ndarray

    @classmethod
    def from_moments(cls, offset, weights, means, variances):
        """Build from means and variances (G, D); the constants are computed."""
        inv_vars = 1.0 / np.asarray(variances, np.float64)
        arrays = (weights, means * inv_vars, inv_vars)
        return cls.from_natural(offset, *(np.asarray(a, np.float32) for a in arrays))

    @classmethod
    def from_natural(cls, offset, weights, means_invvars, inv_vars):
        """Build from μ/σ² and 1/σ² (G, D), float32; the constants are computed."""
        gconsts = constants(weights, means_invvars, inv_vars)
        return cls(np.asarray(offset, np.int64), weights, means_invvars, inv_vars, gconsts)

    @property
    def num_pdfs(self):
        """Number of mixtures P."""
        return len(self.offset) - 1

    @property
    def num_gauss(self):
        """Number of Gaussians G."""
        return len(self.weights)

    @property
    def dim(self):
        """Dimension D of the features."""
        return self.inv_vars.shape[1]

    @property
    def pdf_of(self):
        """The pdf of each Gaussian, int64 (G,)."""
        return np.repeat(np.arange(self.num_pdfs), np.diff(self.offset))

    def means(self):
        """Return μ, float64 (G, D)."""
        return self.means_invvars.astype(np.float64) / self.inv_vars

    def variances(self):
        """Return σ², float64 (G, D)."""
        return 1.0 / self.inv_vars.astype(np.float64)

    def scaled_weights(self, pdfs, factor):
        """Return a model whose mixture weights of `pdfs` are multiplied by `factor` (Kaldi's gmm-boost-silence)."""
        scale = np.ones(self.num_pdfs, np.float32)
        scale[pdfs] = factor
        return AmDiagGmm.from_natural(self.offset, self.weights * scale[self.pdf_of], self.means_invvars, self.inv_vars)


def constants(weights, means_invvars, inv_vars):
    """Return log w − ½ (D log 2π + Σ log σ² + Σ μ²/σ²) of each Gaussian, float32 (G,).

    That is ComputeGconsts of Kaldi's gmm/diag-gmm.cc.
    """
    inv_vars = np.asarray(inv_vars, np.float64)
    squares = np.asarray(means_invvars, np.float64) ** 2 / inv_vars
    with np.errstate(divide="ignore"):  # a weight of 0 is a Gaussian that never answers
        log_weight = np.log(np.asarray(weights, np.float64))
    result = log_weight - 0.5 * (LOG_2PI * inv_vars.shape[1] - np.log(inv_vars).sum(1) + squares.sum(1))
    return result.astype(np.float32)


def read_model(path):
    """Read a final.mdl, binary or text.

    Returns
    -------
    (TransitionModel, AmDiagGmm)

    Raises
    ------
    PymavgError
        When the file is missing or damaged, or when its two parts disagree on the number of pdfs.
    """
    reader = open_reader(path)
    transitions = read_transitions(reader)
    return transitions, read_gmm(reader, path, transitions)


def read_gmm(reader, path, transitions):
    """Read the mixtures that follow the transition model in a final.mdl from a KaldiReader."""
    gmm = _read_gmm(reader)
    if gmm.num_pdfs != transitions.num_pdfs:
        raise PymavgError(
            f"{path}: {gmm.num_pdfs} mixtures for {transitions.num_pdfs} pdfs of the transition model; "
            "the file is damaged or its parts come from different trees"
        )
    return gmm


def write_model(path, transitions, gmm, binary=True):
    """Write a final.mdl."""
    with atomic_open(path, "wb") as stream:
        writer = KaldiWriter(stream, binary)
        write_transitions(writer, transitions)
        writer.token("<DIMENSION>")
        writer.int32(gmm.dim)
        writer.token("<NUMPDFS>")
        writer.int32(gmm.num_pdfs)
        for first, last in zip(gmm.offset[:-1], gmm.offset[1:], strict=True):
            _write_mixture(writer, gmm, slice(first, last))


def _read_gmm(reader):
    if reader.expect("<DIMENSION>", "<Nnet>") == "<Nnet>":
        raise reader.error("a model of nnet2, which pymavg does not read; GMMs and nnet1 networks are read")
    dim = reader.int32()
    reader.expect("<NUMPDFS>")
    parts = [_read_mixture(reader, dim) for _ in range(reader.int32())]
    if not parts:
        raise reader.error("at least one mixture expected")
    gconsts, weights, means_invvars, inv_vars = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    offset = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
    return AmDiagGmm(offset, weights, means_invvars, inv_vars, gconsts)


def _read_mixture(reader, dim):
    reader.expect("<DiagGMM>", "<DiagGMMBegin>")
    reader.expect("<GCONSTS>")
    gconsts = reader.vector()
    reader.expect("<WEIGHTS>")
    weights = reader.vector()
    reader.expect("<MEANS_INVVARS>")
    means_invvars = reader.matrix()
    reader.expect("<INV_VARS>")
    inv_vars = reader.matrix()
    reader.expect("</DiagGMM>", "<DiagGMMEnd>")
    shape = (len(weights), dim)
    if len(gconsts) != len(weights) or means_invvars.shape != shape or inv_vars.shape != shape or not len(weights):
        raise reader.error(f"a mixture of {shape[0]} × {shape[1]} expected, found {means_invvars.shape}")
    if not (np.isfinite(means_invvars).all() and (inv_vars > 0).all() and np.isfinite(inv_vars).all()):
        raise reader.error("a mixture has means or variances that are not finite and positive; the file is damaged")
    return gconsts, weights, means_invvars, inv_vars


def _write_mixture(writer, gmm, rows):
    writer.token("<DiagGMM>")
    writer.text("\n")
    writer.token("<GCONSTS>")
    writer.vector(gmm.gconsts[rows])
    writer.token("<WEIGHTS>")
    writer.vector(gmm.weights[rows])
    writer.token("<MEANS_INVVARS>")
    writer.matrix(gmm.means_invvars[rows])
    writer.token("<INV_VARS>")
    writer.matrix(gmm.inv_vars[rows])
    writer.token("</DiagGMM>")
    writer.text("\n")
