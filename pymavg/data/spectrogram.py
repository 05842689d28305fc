"""Log power spectra by Kaldi's definition, from the frames of samples that kaldi-native-fbank cuts.

Source: Kaldi's feat/feature-spectrogram.cc, feature-window.cc. All frames of an utterance are computed at once.
"""

import kaldi_native_fbank as knf
import numpy as np

DEFAULTS = {"energy_floor": 0.0, "raw_energy": True}  # Kaldi's SpectrogramOptions
SMALLEST_POWER = np.finfo(np.float32).eps  # Kaldi's floor: silence is all zeros


class Spectrogram:
    """Makes log power spectra of frames of samples; number 0 of a frame is its log energy instead.

    Parameters
    ----------
    own : dict
        What differs from DEFAULTS.
    """

    def __init__(self, own):
        self.options = {**DEFAULTS, **own}

    def set_library(self, options, rate):
        """Set the library's RawAudioSamplesOptions to frames that are neither emphasised, weighted nor padded.

        The energy is that of the frame before these steps; and the library writes beyond its memory when it pads.
        """
        frame = options.frame_opts
        self._window = np.array(knf.FeatureWindowFunction(frame).window)
        self._emphasis = frame.preemph_coeff
        self._points = len(self._window)
        if frame.round_to_power_of_two:
            self._points = 1 << (self._points - 1).bit_length()
        self.dim = self._points // 2 + 1
        frame.preemph_coeff, frame.window_type, frame.round_to_power_of_two = 0.0, "rectangular", False

    def __call__(self, frames):
        """Return log power spectra (T, dim), float32, of samples (T, samples per frame)."""
        raw = frames.astype(np.float64)
        before = np.hstack([raw[:, :1], raw[:, :-1]])  # the first sample counts as its own predecessor
        weighted = (raw - self._emphasis * before) * self._window
        power = np.abs(np.fft.rfft(weighted, self._points)) ** 2
        power[:, 0] = np.square(raw if self.options["raw_energy"] else weighted).sum(axis=1)
        spectrum = np.log(np.maximum(power, SMALLEST_POWER))
        if self.options["energy_floor"] > 0:
            spectrum[:, 0] = np.maximum(spectrum[:, 0], np.log(self.options["energy_floor"]))
        return spectrum.astype(np.float32)
