"""MFCC, log-mel filterbank and PLP features by Kaldi's definitions, computed by kaldi-native-fbank (PLP: from its mel
energies, see plp.py).

Sources: Kaldi's feat/feature-mfcc.cc and feature-fbank.cc, of which kaldi-native-fbank is a port; golden/feats of the
tests holds what Kaldi computes.
"""

import zlib

import kaldi_native_fbank as knf
import numpy as np

from pymavg.data.audio import resample
from pymavg.data.feature_config import read_feature_config
from pymavg.data.plp import DEFAULTS, Plp
from pymavg.errors import PymavgError

_LIBRARY = {"mfcc": (knf.MfccOptions, knf.OnlineMfcc), "fbank": (knf.FbankOptions, knf.OnlineFbank)}
_LIBRARY["plp"] = _LIBRARY["fbank"]
_DEFAULT_RATE, _DEFAULT_MEL_BINS = 16000.0, 23  # Kaldi's
_WINDOWS = ("povey", "hamming", "hanning", "rectangular", "blackman", "sine")


class FeatureExtractor:
    """Computes features of one kind with the options of one conf file.

    Parameters
    ----------
    kind : {"mfcc", "fbank", "plp"}
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
        self._plp = Plp(self.config.own) if kind == "plp" else None
        self._options = options = make_options()
        options.frame_opts.dither = 0.0
        options.frame_opts.samp_freq = _DEFAULT_RATE
        options.mel_opts.num_bins = _DEFAULT_MEL_BINS
        for part, values in (
            (options.frame_opts, self.config.frame),
            (options.mel_opts, self.config.mel),
            (options, self.config.own),
        ):
            for name, value in values.items():
                if not (self._plp and part is options and name in DEFAULTS):
                    setattr(part, name, value)
        self.rate = round(options.frame_opts.samp_freq)
        self.frame_shift = options.frame_opts.frame_shift_ms / 1000
        self._check()
        if self._plp:
            self._plp.set_library(options, self.rate)
        self.dim = self._plp.num_ceps if self._plp else self._computer(options).dim

    def _check(self):
        """Check the options, for which the library would end the process."""
        frame, mel = self._options.frame_opts, self._options.mel_opts
        nyquist = self.rate / 2
        high = mel.high_freq if mel.high_freq > 0 else nyquist + mel.high_freq
        num_ceps = getattr(self._options, "num_ceps", mel.num_bins)
        rules = (
            (100 <= self.rate <= 1e6, "--sample-frequency from 100 to 1000000"),
            (frame.frame_shift_ms * self.rate >= 1000, "--frame-shift of at least one sample"),
            (2 <= frame.frame_length_ms * self.rate / 1000 <= 1e6, "--frame-length of at least two samples"),
            (0 <= frame.preemph_coeff <= 1, "--preemphasis-coefficient from 0 to 1"),
            (frame.window_type in _WINDOWS, f"--window-type {', '.join(_WINDOWS)}"),
            (3 <= mel.num_bins <= 1000, "--num-mel-bins from 3 to 1000"),
            (0 <= mel.low_freq < high <= nyquist, f"0 <= --low-freq < --high-freq <= {nyquist:g}"),
            (1 <= num_ceps <= mel.num_bins, "--num-ceps from 1 to --num-mel-bins"),
        )
        if self._plp:
            order = self._plp.options["lpc_order"]
            rules = (
                *rules[:-1],
                (1 <= order <= mel.num_bins, "--lpc-order from 1 to --num-mel-bins"),
                (1 <= self._plp.num_ceps <= order + 1, "--num-ceps from 1 to --lpc-order + 1"),
            )
        for kept, wanted in rules:
            if not kept:
                raise PymavgError(f"{self.config.path}: {wanted} expected")

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
        features = self._plp(features) if self._plp else features
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
