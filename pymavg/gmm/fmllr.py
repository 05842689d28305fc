"""fMLLR: for each speaker the affine transform of the features, W = [A b], that fits the model best.

Gales, "Maximum likelihood linear transformations for HMM-based speech recognition", CSL 1998; Kaldi's
transform/fmllr-diag-gmm.cc.
"""

from dataclasses import dataclass

import numpy as np

from pymavg.errors import PymavgError
from pymavg.gmm.second_order import explain, weighted_squares

TYPES = ("full", "diag", "offset", "none")


@dataclass
class FmllrOptions:
    """Options of the estimation, with Kaldi's names and defaults.

    Attributes
    ----------
    fmllr_update_type : str
        full, diag (a factor and an offset for each dimension), offset, or none.
    fmllr_min_count : float
        Frames at least; with fewer a speaker's transform changes nothing.
    fmllr_num_iters : int
        Sweeps over the rows.
    """

    fmllr_update_type: str = "full"
    fmllr_min_count: float = 500.0
    fmllr_num_iters: int = 40

    HELP = {
        "fmllr_update_type": "full, diag, offset or none",
        "fmllr_min_count": "frames that a speaker's transform needs",
        "fmllr_num_iters": "sweeps over the rows of a transform",
    }

    @classmethod
    def from_arguments(cls, args):
        """Take the fields out of parsed arguments, and check them."""
        options = cls(**{name: getattr(args, name) for name in vars(cls())})
        if options.fmllr_update_type not in TYPES:
            raise PymavgError(f"--fmllr-update-type {options.fmllr_update_type}: {', '.join(TYPES)} expected")
        return options


@dataclass
class FmllrStats:
    """Statistics of a speaker in D dimensions, with ξ = (x, 1).

    Attributes
    ----------
    frames : float
        β, the sum of all posteriors.
    linear : float64 (D, D + 1)
        K = Σ γ μ_i / σ²_i ξᵀ, by rows i.
    second : float64 (D, D + 1, D + 1)
        G_i = Σ γ / σ²_i ξ ξᵀ.
    """

    frames: float
    linear: np.ndarray
    second: np.ndarray

    @classmethod
    def zeros(cls, dim):
        """Return empty statistics."""
        return cls(0.0, np.zeros((dim, dim + 1)), np.zeros((dim, dim + 1, dim + 1)))

    def accumulate(self, gmm, feats, rows, pdf, weight, judge=None):
        """Add frames: the arguments are those of pymavg.gmm.second_order.explain."""
        linear, precision = explain(gmm, feats, rows, pdf, weight, judge)
        extended = np.concatenate([feats, np.ones((len(feats), 1))], axis=1)
        self.frames += float(weight.sum())
        self.linear += linear.T @ extended
        self.second += weighted_squares(extended, precision)


def unit_transform(dim):
    """Return [I 0], (D, D + 1)."""
    return np.eye(dim, dim + 1)


def compose(outer, inner, inner_is_affine):
    """Return the transform that applies `inner` and then `outer` (Kaldi's compose-transforms).

    Parameters
    ----------
    outer : float array (K, J) or (K, J + 1)
        Linear, or affine with the offset in its last column.
    inner : float array (J, D) or, with `inner_is_affine`, (J, D + 1)

    Raises
    ------
    PymavgError
        When the sizes do not fit.
    """
    rows, columns = len(inner), outer.shape[1]
    if columns not in (rows, rows + 1):
        raise PymavgError(f"a transform with {rows} or {rows + 1} columns expected, found {columns}")
    result = outer[:, :rows] @ inner
    if columns == rows:
        return result
    if not inner_is_affine:
        return np.column_stack([result, outer[:, rows]])
    result[:, -1] += outer[:, rows]
    return result


def estimate_fmllr(stats, options):
    """Return (W (D, D + 1), gain of log-likelihood over [I 0] in all frames together).

    It maximises β log |det A| + Σ_i (w_i k_iᵀ − ½ w_i G_i w_iᵀ). With fewer frames than the minimum, or without gain, W
    is [I 0] and the gain 0.
    """
    unit = unit_transform(len(stats.linear))
    if stats.frames <= options.fmllr_min_count or options.fmllr_update_type == "none":
        return unit, 0.0
    if options.fmllr_update_type == "full":
        w = _full(stats, unit, options.fmllr_num_iters)
    else:
        w = _by_dimension(stats, unit, scale=options.fmllr_update_type == "diag")
    gain = objective(w, stats) - objective(unit, stats)
    return (w, gain) if gain > 0 else (unit, 0.0)


def objective(w, stats):
    """Return the log-likelihood of a speaker's frames under W, up to a constant."""
    quadratic = np.einsum("id,ide,ie->", w, stats.second, w)
    return stats.frames * np.linalg.slogdet(w[:, :-1])[1] + (w * stats.linear).sum() - 0.5 * quadratic


def _full(stats, unit, sweeps):
    """Optimise one row after another: w_i = (α c + k_i) G_i⁻¹, c the cofactors of the row and 0 for the offset."""
    w, dim, beta = unit.copy(), len(unit), stats.frames
    inverse = np.linalg.inv(stats.second)
    for _ in range(sweeps):
        a_inverse = np.linalg.inv(w[:, :dim])
        for i in range(dim):
            cofactors = np.append(a_inverse[:, i], 0.0)
            along, linear = inverse[i] @ cofactors, stats.linear[i]
            row = inverse[i] @ linear + _step(along @ cofactors, along @ linear, beta) * along
            change = (row - w[i])[:dim]
            a_inverse -= np.outer(a_inverse[:, i], change @ a_inverse) / (row @ cofactors)
            w[i] = row
    return w


def _step(e1, e2, beta):
    """Return the better root α of α² e1 + α e2 = β: the one with the larger β log |α e1 + e2| − ½ α² e1."""
    root = np.sqrt(e2 * e2 + 4 * e1 * beta)
    alpha = np.array([-e2 + root, -e2 - root]) / (2 * e1)
    return alpha[np.argmax(beta * np.log(np.abs(alpha * e1 + e2)) - 0.5 * alpha**2 * e1)]


def _by_dimension(stats, unit, scale):
    """Optimise offsets, and factors with `scale`, of each dimension alone."""
    w, dim, i = unit.copy(), len(unit), np.arange(len(unit))
    ss, so, oo = stats.second[i, i, i], stats.second[i, i, dim], stats.second[i, dim, dim]
    ks, ko = stats.linear[i, i], stats.linear[i, dim]
    if scale:
        a, b = ss - so**2 / oo, ks - ko * so / oo
        w[i, i] = (b + np.sqrt(b**2 + 4 * a * stats.frames)) / (2 * a)
    w[i, dim] = (ko - w[i, i] * so) / oo
    return w
