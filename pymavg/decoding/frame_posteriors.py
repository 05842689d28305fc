"""From a lattice to what it says about each frame: pdfs with posteriors (Kaldi's lattice-to-post)."""

import numpy as np

from pymavg.decoding.paths import posteriors


def frame_posteriors(lattice, cost, tid_pdf, tid_weight):
    """Return the posteriors of pdfs by frame.

    Parameters
    ----------
    lattice : Lattice
        Raw or compact.
    cost : float64 (A,)
        Of each arc, as lattice.costs(acoustic_scale=0.1) gives it.
    tid_pdf, tid_weight : arrays (num_tids + 1,)
        Pdf of each transition-id; factor of its posteriors, 0 to leave it out.

    Returns
    -------
    (frames, pdfs, weights), arrays (E,)
        Each pair (frame, pdf) once, in order.
    """
    share, _ = posteriors(lattice, cost)
    length = np.diff(lattice.offset)
    first = lattice.times[lattice.source] - lattice.offset[:-1]  # plus the place in `tids`: the frame
    frames = np.arange(len(lattice.tids)) + np.repeat(first, length)
    weights = np.repeat(share, length) * tid_weight[lattice.tids]
    kept = np.flatnonzero(weights)
    pdfs = tid_pdf[lattice.tids[kept]].astype(np.int64)
    code, group = np.unique(frames[kept] * (int(tid_pdf.max()) + 1) + pdfs, return_inverse=True)
    return *np.divmod(code, int(tid_pdf.max()) + 1), np.bincount(group, weights[kept], len(code))
