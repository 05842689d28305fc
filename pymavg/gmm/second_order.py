"""Sums of x xᵀ weighted by the precisions of the Gaussians that explain x: what MLLT and fMLLR are estimated from.

For frame t let b_ti = Σ_k γ_tk / σ²_ki and a_ti = Σ_k γ_tk μ_ki / σ²_ki. Then G_i = Σ_t b_ti x_t x_tᵀ for all rows i at
once is one matrix product: bᵀ times the lower triangles of x xᵀ.
"""

import numpy as np

from pymavg.gmm.accumulate import frames_by_pdf, posteriors

BLOCK = 1024  # frames whose triangles are held at once


def explain(gmm, feats, rows, pdf, weight, judge=None, on_pdf=None):
    """Return a and b (N, D) of the rows of `feats`.

    Parameters
    ----------
    gmm : AmDiagGmm
    feats : float32 (N, D)
    rows, pdf, weight : arrays (E,)
        What is known of the frames: row, pdf, posterior of the pdf; each pair (row, pdf) once at most.
    judge : AmDiagGmm, optional
        Model of the same size that gives the posteriors γ on `feats`, such as final.alimdl; by default `gmm` itself.
    on_pdf : function, optional
        Called with (slice of Gaussians, γ times weight (n, K), x (n, D)).
    """
    judge = judge or gmm
    linear, precision = np.zeros((2, *feats.shape))
    for p, entries in frames_by_pdf(pdf, gmm.num_pdfs):
        of_pdf, frames = slice(gmm.offset[p], gmm.offset[p + 1]), rows[entries]
        x = feats[frames].astype(np.float64)
        gamma = posteriors(judge, of_pdf, x)[0] * weight[entries, None]
        linear[frames] += gamma @ gmm.means_invvars[of_pdf]
        precision[frames] += gamma @ gmm.inv_vars[of_pdf]
        if on_pdf:
            on_pdf(of_pdf, gamma, x)
    return linear, precision


def weighted_squares(x, precision):
    """Return Σ_t b_ti x_t x_tᵀ for each i, float64 (I, D, D), of x (T, D) and b (T, I)."""
    low, high = np.tril_indices(x.shape[1])
    packed = np.zeros((precision.shape[1], len(low)))
    for first in range(0, len(x), BLOCK):
        block = np.asarray(x[first : first + BLOCK], np.float64)
        packed += precision[first : first + BLOCK].T @ (block[:, low] * block[:, high])
    return unpack(packed, x.shape[1])


def unpack(packed, dim):
    """Return symmetric matrices (I, D, D) from their lower triangles (I, D (D + 1) / 2), row by row."""
    low, high = np.tril_indices(dim)
    matrices = np.empty((len(packed), dim, dim))
    matrices[:, low, high] = matrices[:, high, low] = packed
    return matrices
