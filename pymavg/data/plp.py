"""Perceptual linear prediction (PLP) by Kaldi's definition, from the mel energies that kaldi-native-fbank computes.

Sources: H. Hermansky, "Perceptual linear predictive (PLP) analysis of speech", JASA 87(4), 1990; Kaldi's
feat/feature-plp.cc, feature-functions.cc, mel-computations.cc. All frames of an utterance are computed at once.
"""

import numpy as np

DEFAULTS = {  # Kaldi's PlpOptions
    "use_energy": True,
    "htk_compat": False,
    "lpc_order": 12,
    "num_ceps": 13,
    "compress_factor": 0.33333,
    "cepstral_lifter": 22.0,
    "cepstral_scale": 1.0,
}
SMALLEST_POWER = np.finfo(np.float32).eps  # of a filter, as for the logarithms of fbank: silence is all zeros
SMALLEST_ERROR = 1e-5  # of what remains of the energy in one step of the recursion: none is left of a constant signal


def mel_centers(num_bins, low, high):
    """Return the middle frequencies in Hz (num_bins,) of triangular filters at equal distances on the mel scale."""
    low, high = (1127.0 * np.log1p(f / 700.0) for f in (low, high))
    mel = low + (high - low) / (num_bins + 1) * np.arange(1, num_bins + 1)
    return 700.0 * np.expm1(mel / 1127.0)


def equal_loudness(frequencies):
    """Return how loud each frequency (in Hz) is heard: (f² / (f² + 1.6e5))² (f² + 1.44e6) / (f² + 9.61e6)."""
    square = np.square(frequencies)
    return (square / (square + 1.6e5)) ** 2 * (square + 1.44e6) / (square + 9.61e6)


def inverse_dft(order, num_points):
    """Return the matrix (order + 1, num_points) from half a symmetric spectrum to its autocorrelation."""
    last = num_points - 1
    cosines = np.cos(np.pi / last * np.outer(np.arange(order + 1), np.arange(num_points)))
    cosines[:, 1:-1] *= 2
    return cosines / (2 * last)


def durbin(autocorrelation):
    """Return (prediction coefficients (T, order), what remains of the energy (T,)) of autocorrelations (T, order + 1).

    The coefficients a_j are those of 1 + Σ a_j z^-j, by the Levinson–Durbin recursion.
    """
    order = autocorrelation.shape[1] - 1
    a = np.zeros((len(autocorrelation), order))
    energy = autocorrelation[:, 0].copy()
    for i in range(order):
        k = (autocorrelation[:, i + 1] + (a[:, :i] * autocorrelation[:, i:0:-1]).sum(axis=1)) / energy
        energy *= np.maximum(1 - k * k, SMALLEST_ERROR)
        a[:, :i] -= k[:, None] * a[:, :i][:, ::-1]
        a[:, i] = -k
    return a, energy


def cepstrum(a):
    """Return the cepstrum (T, order) without c_0: c_n = -a_n - Σ_{j<n} (n - j) / n · a_j c_{n-j}."""
    c = np.zeros_like(a)
    for i in range(a.shape[1]):
        weights = np.arange(i, 0, -1) / (i + 1)
        c[:, i] = -a[:, i] - (weights * a[:, :i] * c[:, :i][:, ::-1]).sum(axis=1)
    return c


class Plp:
    """Makes PLP coefficients of the mel energies of kaldi-native-fbank.

    Parameters
    ----------
    own : dict
        What differs from DEFAULTS.
    """

    def __init__(self, own):
        self.options = {**DEFAULTS, **{name: value for name, value in own.items() if name in DEFAULTS}}
        self.dim = self.options["num_ceps"]

    def set_library(self, options, rate):
        """Set the library's FbankOptions to linear mel energies, behind the log energy where that is wanted."""
        options.use_log_fbank, options.use_power, options.htk_compat = False, True, False
        options.use_energy = self.options["use_energy"]
        mel = options.mel_opts
        high = mel.high_freq if mel.high_freq > 0 else rate / 2 + mel.high_freq
        self._loudness = equal_loudness(mel_centers(mel.num_bins, mel.low_freq, high))

    def __call__(self, frames):
        """Return PLP coefficients (T, dim), float32, of the library's frames (T, bins) or (T, 1 + bins)."""
        with_energy = self.options["use_energy"]
        coefficients = self._coefficients(frames[:, 1:] if with_energy else frames)
        if with_energy:
            coefficients[:, 0] = frames[:, 0]
        return np.roll(coefficients, -1, axis=1) if self.options["htk_compat"] else coefficients

    def _coefficients(self, energies):
        """Return the coefficients (T, dim), c_0 first, of mel energies (T, bins)."""
        loud = np.maximum(energies, SMALLEST_POWER).astype(np.float64) * self._loudness
        spectrum = loud ** self.options["compress_factor"]
        spectrum = np.concatenate([spectrum[:, :1], spectrum, spectrum[:, -1:]], axis=1)
        a, energy = durbin(spectrum @ inverse_dft(self.options["lpc_order"], spectrum.shape[1]).T)
        coefficients = np.concatenate([np.log(energy)[:, None], cepstrum(a)], axis=1)[:, : self.dim]
        q = self.options["cepstral_lifter"]
        if q:
            coefficients *= 1 + q / 2 * np.sin(np.pi * np.arange(self.dim) / q)
        return (coefficients * self.options["cepstral_scale"]).astype(np.float32)
