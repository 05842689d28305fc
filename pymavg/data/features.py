"""MFCC, log-mel filterbank, PLP and spectrogram features by Kaldi's definitions, computed by kaldi-native-fbank (PLP:
from its mel energies, see plp.py; spectrograms: from its frames, see spectrogram.py).

Sources: Kaldi's feat/feature-mfcc.cc and feature-fbank.cc, of which kaldi-native-fbank is a port; golden/feats of the
tests holds what Kaldi computes.
"""

import zlib

import kaldi_native_fbank as knf
import numpy as np

from pymavg.data.audio import resample
from pymavg.data.feature_config import read_feature_config
from pymavg.data.plp import Plp
from pymavg.data.spectrogram import Spectrogram
from pymavg.errors import PymavgError

_LIBRARY = {"mfcc": (knf.MfccOptions, knf.OnlineMfcc), "fbank": (knf.FbankOptions, knf.OnlineFbank)}
_LIBRARY |= {"plp": _LIBRARY["fbank"], "spectrogram": (knf.RawAudioSamplesOptions, knf.OnlineRawAudioSamples)}
_OURS = {"plp": Plp, "spectrogram": Spectrogram}  # what makes features of the library's
_DEFAULTS = {"samp_freq": 16000.0, "preemph_coeff": 0.97, "window_type": "povey", "remove_dc_offset": True}  # Kaldi's
_DEFAULTS |= {"round_to_power_of_two": True, "dither": 0.0}
_DEFAULT_MEL_BINS = 23
_WINDOWS = ("povey", "hamming", "hanning", "rectangular", "blackman", "sine")


class FeatureExtractor:
    """Computes features of one kind with the options of one conf file.

    Parameters
    ----------
    kind : {"mfcc", "fbank", "plp", "spectrogram"}
        The second is the logarithm of the energies of mel filters unless the conf says otherwise.
    conf : str or Path, optional
        Kaldi conf file; Kaldi's defaults without it, with dither 0.

    Attributes
    ----------
    dim : int
        Numbers per frame.
    rate : int
        Samples per second that the conf asks for.
    frame_shift : float
        Seconds from frame to frame.
    """

    def __init__(self, kind, conf=None):
        self.config = read_feature_config(kind, conf)
        make_options, self._computer = _LIBRARY[kind]
        self._after = _OURS[kind](self.config.own) if kind in _OURS else None
        self._options = options = make_options()
        for name, value in _DEFAULTS.items():
            setattr(options.frame_opts, name, value)
        parts = [(options.frame_opts, self.config.frame), (options, self.config.own)]
        if hasattr(options, "mel_opts"):
            options.mel_opts.num_bins = _DEFAULT_MEL_BINS
            parts.append((options.mel_opts, self.config.mel))
        ours = self._after.options if self._after else ()
        for part, values in parts:
            for name, value in values.items():
                if not (part is options and name in ours):
                    setattr(part, name, value)
        self.rate = round(options.frame_opts.samp_freq)
        self.frame_shift = options.frame_opts.frame_shift_ms / 1000
        self._check()
        if self._after:
            self._after.set_library(options, self.rate)
        self.dim = self._after.dim if self._after else self._computer(options).dim

    def _check(self):
        """Check the options, for which the library would end the process."""
        frame = self._options.frame_opts
        rules = (
            (100 <= self.rate <= 1e6, "--sample-frequency from 100 to 1000000"),
            (frame.frame_shift_ms * self.rate >= 1000, "--frame-shift of at least one sample"),
            (2 <= frame.frame_length_ms * self.rate / 1000 <= 1e6, "--frame-length of at least two samples"),
            (0 <= frame.preemph_coeff <= 1, "--preemphasis-coefficient from 0 to 1"),
            (frame.window_type in _WINDOWS, f"--window-type {', '.join(_WINDOWS)}"),
            *(self._mel_rules(self._options.mel_opts) if hasattr(self._options, "mel_opts") else ()),
        )
        for kept, wanted in rules:
            if not kept:
                raise PymavgError(f"{self.config.path}: {wanted} expected")

    def _mel_rules(self, mel):
        """Return the pairs (whether it is kept, what it says) of rules for mel filters and what is made of them."""
        nyquist = self.rate / 2
        high = mel.high_freq if mel.high_freq > 0 else nyquist + mel.high_freq
        rules = (
            (3 <= mel.num_bins <= 1000, "--num-mel-bins from 3 to 1000"),
            (0 <= mel.low_freq < high <= nyquist, f"0 <= --low-freq < --high-freq <= {nyquist:g}"),
        )
        if self._after:
            order = self._after.options["lpc_order"]
            return (
                *rules,
                (1 <= order <= mel.num_bins, "--lpc-order from 1 to --num-mel-bins"),
                (1 <= self._after.dim <= order + 1, "--num-ceps from 1 to --lpc-order + 1"),
            )
        num_ceps = getattr(self._options, "num_ceps", mel.num_bins)
        return (*rules, (1 <= num_ceps <= mel.num_bins, "--num-ceps from 1 to --num-mel-bins"))

    def compute(self, samples, rate, name):
        """Compute the features of one utterance.

        Parameters
        ----------
        samples : float32 array (n,)
            In the range of 16-bit integers.
        rate : int
            Samples per second.
        name : str
            The utterance: for messages, and the seed of the dither where there is any.

        Returns
        -------
        float32 array (frames, dim)
            With 0 rows where `samples` are shorter than one frame or `--min-duration`.

        Raises
        ------
        PymavgError
            When `rate` is not the conf's and the conf does not allow to change it.
        """
        samples = self.at_rate(samples, rate, name)
        if len(samples) < self.config.min_duration * self.rate:
            return np.zeros((0, self.dim), np.float32)
        if self.config.dither:
            noise = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(len(samples))
            samples = samples + self.config.dither * noise
        computer = self._computer(self._options)
        computer.accept_waveform(self.rate, samples.tolist())  # a list crosses faster than an array
        computer.input_finished()
        frames = [computer.get_frame(t) for t in range(computer.num_frames_ready)]
        if not frames:
            return np.zeros((0, self.dim), np.float32)
        features = np.array(frames, np.float32)
        features = self._after(features) if self._after else features
        if self.config.subtract_mean:
            features -= features.mean(axis=0)
        return features

    def at_rate(self, samples, rate, name):
        """Return samples (n,) of `rate` at the conf's rate, where the conf allows to change it."""
        if rate == self.rate:
            return samples
        down = rate > self.rate
        if not (self.config.allow_downsample if down else self.config.allow_upsample):
            option = "--allow-downsample" if down else "--allow-upsample"
            raise PymavgError(
                f"{name}: {rate} Hz, {self.config.path} says {self.rate}; set {option} true or correct the conf"
            )
        return resample(samples, rate, self.rate)
