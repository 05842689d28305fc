"""From statistics to the next model: maximum-likelihood update and mixing up."""

from dataclasses import dataclass

import numpy as np

from pymavg.kaldi.gmm import AmDiagGmm

PERTURBATION = 0.01  # of a split Gaussian's mean, in standard deviations
MIN_SPLIT_COUNT = 20.0  # frames a Gaussian must have after a split


@dataclass
class UpdateOptions:
    """Limits of the update (MleDiagGmmOptions in Kaldi's gmm/mle-diag-gmm.h).

    Attributes
    ----------
    min_gaussian_occupancy : float
        Frames, and
    min_gaussian_weight : float
        share of its pdf, that a Gaussian needs to be updated.
    min_variance : float
        Floor of the variances.
    remove_low_count_gaussians : bool
        Remove a Gaussian below these limits, unless it is the last of its pdf; else it keeps mean and variance.
    """

    min_gaussian_occupancy: float = 10.0
    min_gaussian_weight: float = 1e-5
    min_variance: float = 0.001
    remove_low_count_gaussians: bool = True


def update(gmm, stats, options):
    """Return the maximum-likelihood model for the statistics (MleDiagGmmUpdate in Kaldi's gmm/mle-diag-gmm.cc).

    w = Σγ / Σ_pdf Σγ,  μ = Σγx / Σγ,  σ² = max(Σγx² / Σγ − μ², floor).

    Parameters
    ----------
    gmm : AmDiagGmm
    stats : pymavg.gmm.accumulate.GmmStats
    options : UpdateOptions

    Returns
    -------
    (AmDiagGmm, int)
        The new model; how many Gaussians were removed.
    """
    occupancy, pdf = stats.occupancy, gmm.pdf_of
    size = np.diff(gmm.offset)[pdf]
    pdf_total = np.bincount(pdf, occupancy, gmm.num_pdfs)[pdf]
    share = np.where(pdf_total > 0, occupancy / np.maximum(pdf_total, 1e-300), 1.0 / size)
    enough = (occupancy > options.min_gaussian_occupancy) & (share > options.min_gaussian_weight)

    count = np.where(enough, occupancy, 1.0)[:, None]
    means = np.where(enough[:, None], stats.first / count, gmm.means())
    variances = np.maximum(stats.second / count - means**2, options.min_variance)
    variances = np.where(enough[:, None], variances, gmm.variances())
    weights = np.where(enough, share, np.maximum(share, options.min_gaussian_weight))

    keep = enough | (not options.remove_low_count_gaussians)
    last = gmm.offset[1:] - 1
    keep[last] |= np.bincount(pdf, keep, gmm.num_pdfs) == 0
    shrunk = np.bincount(pdf, ~keep, gmm.num_pdfs) > 0
    kept_total = np.bincount(pdf, weights * keep, gmm.num_pdfs)
    weights = np.where(shrunk[pdf], weights / kept_total[pdf], weights)
    offset = np.concatenate([[0], np.cumsum(np.bincount(pdf, keep, gmm.num_pdfs))]).astype(np.int64)
    return AmDiagGmm.from_moments(offset, weights[keep], means[keep], variances[keep]), int((~keep).sum())


def pdf_occupancy(gmm, stats):
    """Return the frames of each pdf, float64 (P,)."""
    return np.bincount(gmm.pdf_of, stats.occupancy, gmm.num_pdfs)


def split_targets(occupancy, total, power):
    """Share `total` Gaussians among pdfs in proportion to occupancy^power, one at least for each.

    The next Gaussian always goes to the pdf with the highest occupancy^power / (Gaussians so far), except that each
    Gaussian must keep 20 frames (GetSplitTargets in Kaldi's gmm/model-common.cc).

    Parameters
    ----------
    occupancy : float array (P,)
    total : int
    power : float

    Returns
    -------
    int64 (P,)
    """
    most = np.maximum(1, np.ceil(np.asarray(occupancy, np.float64) / MIN_SPLIT_COUNT).astype(np.int64) - 1)
    value = np.asarray(occupancy, np.float64) ** power
    pdf = np.repeat(np.arange(len(most)), most - 1)  # a candidate split for each Gaussian that a pdf may gain
    start = np.cumsum(most - 1) - (most - 1)
    have = 1 + np.arange(len(pdf)) - start[pdf]
    wanted = max(0, total - len(most))
    chosen = np.argsort(-(value[pdf] / have), kind="stable")[:wanted]
    return 1 + np.bincount(pdf[chosen], minlength=len(most))


def mix_up(gmm, occupancy, total, power, rng):
    """Split Gaussians until there are `total` of them (AmDiagGmm::SplitByCount, DiagGmm::Split).

    In each pdf the heaviest Gaussian is split in two of half its weight, their means moved by ±0.01 σ at random.

    Parameters
    ----------
    gmm : AmDiagGmm
    occupancy : float array (P,)
        Frames of each pdf.
    total : int
    power : float
    rng : numpy.random.Generator

    Returns
    -------
    AmDiagGmm
    """
    sizes = np.diff(gmm.offset)
    targets = np.maximum(sizes, split_targets(occupancy, total, power))
    parts = [_split_mixture(gmm, slice(gmm.offset[p], gmm.offset[p + 1]), targets[p], rng) for p in range(gmm.num_pdfs)]
    weights, means_invvars, inv_vars = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return AmDiagGmm.from_natural(np.concatenate([[0], np.cumsum(targets)]), weights, means_invvars, inv_vars)


def _split_mixture(gmm, rows, target, rng):
    weights, means, inv_vars = gmm.weights[rows], gmm.means_invvars[rows], gmm.inv_vars[rows]
    extra = target - len(weights)
    if extra == 0:
        return weights, means, inv_vars
    size, source = len(weights), np.arange(target)
    weights, means = np.resize(weights, target), np.resize(means, (target, gmm.dim))
    for new in range(size, target):
        heaviest = int(np.argmax(weights[:new]))
        source[new] = source[heaviest]
        weights[heaviest] /= 2
        weights[new] = weights[heaviest]
        shift = PERTURBATION * rng.standard_normal(gmm.dim) * np.sqrt(inv_vars[source[new]])
        means[new] = means[heaviest] + shift
        means[heaviest] -= shift
    return weights, means, inv_vars[source]
