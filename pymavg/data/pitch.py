"""Kaldi's pitch features, computed by kaldi-native-fbank, and pasted to others.

Three numbers a frame by default: a measure of voicing, the logarithm of the pitch less its moving average, its delta.
Sources: P. Ghahremani et al., "A pitch extraction algorithm tuned for automatic speech recognition", ICASSP 2014;
Kaldi's feat/pitch-functions.cc, featbin/paste-feats.cc.
"""

import kaldi_native_fbank as knf
import numpy as np

from pymavg.data.feature_config import read_pitch_config
from pymavg.errors import PymavgError


class PitchExtractor:
    """Computes pitch features with the options of Kaldi's conf files.

    Parameters
    ----------
    conf, process_conf : str or Path, optional
        Options of compute-kaldi-pitch-feats and process-kaldi-pitch-feats; Kaldi's defaults without them. The noise on
        the delta is the same in every run.

    Attributes
    ----------
    dim : int
        Numbers per frame.
    rate : int
        Samples per second.
    """

    def __init__(self, conf=None, process_conf=None):
        self._extraction, self._process = knf.PitchExtractionOptions(), knf.ProcessPitchOptions()
        both = self._extraction, self._process
        for options, values in zip(both, read_pitch_config(conf, process_conf), strict=True):
            for name, value in values.items():
                setattr(options, name, value)
        self._check(conf or "the default", process_conf or "the default")
        self.rate = round(self._extraction.samp_freq)
        self.dim = self._process.dim

    def _check(self, conf, process_conf):
        """Check the options, for which the library would end the process."""
        e, p = self._extraction, self._process
        rules = (
            (100 <= e.samp_freq <= 1e6, conf, "--sample-frequency from 100 to 1000000"),
            (e.resample_freq <= e.samp_freq, conf, "--resample-frequency of at most --sample-frequency"),
            (2 * e.lowpass_cutoff < e.resample_freq, conf, "--lowpass-cutoff below half of --resample-frequency"),
            (e.lowpass_cutoff > 0, conf, "--lowpass-cutoff above 0"),
            (0 < e.lowpass_filter_width <= 1000, conf, "--lowpass-filter-width from 1 to 1000"),
            (0 < e.upsample_filter_width <= 100, conf, "--upsample-filter-width from 1 to 100"),
            (1 <= e.min_f0 < e.max_f0 <= e.lowpass_cutoff, conf, "1 <= --min-f0 < --max-f0 <= --lowpass-cutoff"),
            (1 <= e.frame_shift_ms <= 1000, conf, "--frame-shift from 1 to 1000"),
            (1 <= e.frame_length_ms <= 1000, conf, "--frame-length from 1 to 1000"),
            (0.99e-4 < e.delta_pitch < 1, conf, "--delta-pitch from 0.0001 to below 1"),
            (e.nccf_ballast >= 0 and e.penalty_factor >= 0, conf, "--nccf-ballast and --penalty-factor of at least 0"),
            (0 <= e.preemph_coeff <= 1, conf, "--preemphasis-coefficient from 0 to 1"),
            (p.dim > 0, process_conf, "one of --add-pov-feature, --add-normalized-log-pitch, … true"),
            (p.delta_window > 0, process_conf, "--delta-window above 0"),
            (
                min(p.normalization_left_context, p.normalization_right_context, p.delay) >= 0,
                process_conf,
                "no negative",
            ),
        )
        for kept, path, wanted in rules:
            if not kept:
                raise PymavgError(f"{path}: {wanted} expected")

    def compute(self, samples):
        """Return pitch features (frames, dim), float32, of samples (n,) at the conf's rate, of 16-bit range."""
        if len(samples) < self.rate * self._extraction.frame_length_ms / 1000:
            return np.zeros((0, self.dim), np.float32)
        found = knf.compute_and_process_kaldi_pitch(self._extraction, self._process, samples.tolist())
        return np.asarray(found, np.float32).reshape(-1, self.dim)


class WithPitch:
    """Features with pitch behind them, to be used as a FeatureExtractor.

    Parameters
    ----------
    base : FeatureExtractor
    pitch : PitchExtractor
    tolerance : int
        Frames by which the two may differ in number; the longer is cut at its end.

    Raises
    ------
    PymavgError
        When the two confs say different sampling rates.
    """

    def __init__(self, base, pitch, tolerance=2):
        if base.rate != pitch.rate:
            raise PymavgError(
                f"{base.config.path} says --sample-frequency {base.rate}, the conf of pitch {pitch.rate}; "
                "make them equal"
            )
        self.base, self.pitch, self.tolerance = base, pitch, tolerance
        self.config, self.rate, self.frame_shift = base.config, base.rate, base.frame_shift
        self.dim = base.dim + pitch.dim

    def compute(self, samples, rate, name):
        """Compute the features (frames, dim) of one utterance; see FeatureExtractor.compute."""
        samples = self.base.at_rate(samples, rate, name)
        parts = self.base.compute(samples, self.rate, name), self.pitch.compute(samples)
        lengths = [len(part) for part in parts]
        if 0 not in lengths and abs(lengths[0] - lengths[1]) > self.tolerance:
            raise PymavgError(
                f"{name}: {lengths[0]} frames of {self.config.path} and {lengths[1]} of pitch; give both the same "
                f"--frame-shift and --snip-edges, or raise --paste-length-tolerance"
            )
        return np.concatenate([part[: min(lengths)] for part in parts], axis=1)
