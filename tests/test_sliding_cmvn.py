"""Normalisation in a moving window: Kaldi's values, the definition, and the tool."""

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.data.sliding_cmvn import SlidingOptions, apply
from pymavg.errors import PymavgError
from pymavg.kaldi.tables import MatrixWriter, read_matrices


def test_sliding_means_are_kaldis(golden, tmp_path):
    out, source = tmp_path / "out.ark", golden("feats/mfcc.ark")
    options = ["--norm-vars=false", "--center=true", "--cmn-window=100"]
    assert main(["apply-cmvn-sliding", *options, f"ark:{source}", f"ark:{out}", str(tmp_path / "out.scp")]) == 0
    wanted, found = dict(read_matrices(golden("feats/mfcc_sliding.ark"))), dict(read_matrices(tmp_path / "out.scp"))
    assert list(found) == list(wanted)
    for utterance in wanted:
        np.testing.assert_allclose(found[utterance], wanted[utterance], rtol=0, atol=1e-5)


def window_of(t, num_frames, options):
    """Return (first, end) of a frame's window, found by walking as Kaldi does."""
    if options.center:
        first = t - options.cmn_window // 2
        end = first + options.cmn_window
    else:
        first, end = t - options.cmn_window, t + 1
    while first < 0:
        first, end = first + 1, end + 1
    if not options.center:
        end = max(t + 1, options.min_cmn_window)
    while end > num_frames:
        first, end = max(first - 1, 0), end - 1
    return first, end


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("norm_vars", [True, False])
@pytest.mark.parametrize(("window", "least"), [(10, 3), (7, 7), (1, 1), (600, 100), (40, 5)])
def test_windows_by_definition(center, norm_vars, window, least):
    options = SlidingOptions(window, least, center, norm_vars)
    for num_frames in (1, 2, 9, 41):
        x = np.random.default_rng(num_frames).normal(3, 2, size=(num_frames, 4)).astype(np.float32)
        found = apply(x, options)
        assert found.dtype == np.float32 and found.shape == x.shape
        for t in range(num_frames):
            first, end = window_of(t, num_frames, options)
            part = x[first:end].astype(np.float64)
            wanted = x[t] - part.mean(axis=0)
            if norm_vars:
                wanted = wanted / np.sqrt(part.var(axis=0)) if len(part) > 1 else np.zeros(4)
            np.testing.assert_allclose(found[t], wanted, atol=1e-5)


def test_constant_features_become_nothing():
    for norm_vars in (True, False):
        assert np.abs(apply(np.full((50, 2), 1e4 / 3), SlidingOptions(20, 5, True, norm_vars))).max() < 1e-4
    assert apply(np.zeros((0, 3))).shape == (0, 3)


def test_bad_options(tmp_path):
    with MatrixWriter(tmp_path / "x.ark") as writer:
        writer.write("u", np.ones((2, 3)))
    with pytest.raises(PymavgError, match="--cmn-window: at least 1 expected, got 0"):
        apply(np.ones((3, 2)), SlidingOptions(cmn_window=0))
    with pytest.raises(PymavgError, match="--min-cmn-window: at least 1"):
        apply(np.ones((3, 2)), SlidingOptions(min_cmn_window=-1))
    assert main(["apply-cmvn-sliding", "--cmn-window", "0", str(tmp_path / "x.ark"), str(tmp_path / "y.ark")]) == 1
    assert not (tmp_path / "y.ark").exists()
