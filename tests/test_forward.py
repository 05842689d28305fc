"""Outputs of a network against those of nnet1's nnet-forward."""

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.kaldi.tables import read_matrices

COUNTS = "--class-frame-counts=COUNTS"
VARIANTS = {
    "fwd_softmax": [],
    "fwd_nosoftmax": ["--no-softmax=true"],
    "fwd_nosoftmax_prior": ["--no-softmax=true", COUNTS],
    "fwd_log_prior": ["--apply-log=true", COUNTS],
    "fwd_log_prior_scale0.8": ["--apply-log=true", COUNTS, "--prior-scale=0.8", "--prior-floor=0.02"],
}


def compare(found, expected):
    found, expected = (dict(read_matrices(f"ark:{path}")) for path in (found, expected))
    assert list(found) == list(expected)
    for key, matrix in expected.items():
        floored = matrix < -1e18
        np.testing.assert_allclose(found[key][~floored], matrix[~floored], atol=1e-5)
        np.testing.assert_allclose(found[key][floored], matrix[floored], rtol=1e-3)


@pytest.mark.parametrize("name", VARIANTS)
def test_variant(golden, tmp_path, name):
    options = [o.replace("COUNTS", str(golden("nnet1/class.counts"))) for o in VARIANTS[name]]
    transform = f"--feature-transform={golden('nnet1/feature_transform.nnet')}"
    files = [str(golden("nnet1/nnet.init")), f"ark:{golden('nnet1/feats3.ark')}", f"ark:{tmp_path / 'out.ark'}"]
    assert main(["nnet-forward", transform, *options, *files]) == 0
    compare(tmp_path / "out.ark", golden(f"nnet1/{name}.ark"))


def test_transform_alone_and_rbm(golden, tmp_path):
    out = tmp_path / "out.ark", tmp_path / "out2.ark"
    feats, transform = f"ark:{golden('nnet1/feats3.ark')}", str(golden("nnet1/feature_transform.nnet"))
    assert main(["nnet-forward", transform, feats, str(out[0]), str(tmp_path / "out.scp")]) == 0
    found = dict(read_matrices(f"scp:{tmp_path / 'out.scp'}"))
    for key, matrix in read_matrices(f"ark:{golden('nnet1/feats3_transf.ark')}"):
        np.testing.assert_allclose(found[key], matrix, atol=2e-5)
    words = [f"--feature-transform={transform}", str(golden("nnet1/rbm_gauss.nnet"))]
    assert main(["nnet-forward", *words, feats, str(out[1])]) == 0
    compare(out[1], golden("nnet1/rbm_gauss_fwd.ark"))


def test_mistakes_are_told(golden, tmp_path, capsys):
    net, out = str(golden("nnet1/nnet.init")), str(tmp_path / "out.ark")
    feats = f"ark:{golden('nnet1/feats_cmvn.ark')}"
    assert main(["nnet-forward", net, feats, out]) == 1
    assert "utterance george-test-000: features have 13 dimensions, the network wants 143" in capsys.readouterr().err
    counts = f"--class-frame-counts={golden('nnet1/class.counts')}"
    assert main(["nnet-forward", counts, net, feats, out]) == 1
    assert "--no-softmax true or --apply-log true" in capsys.readouterr().err
    assert not (tmp_path / "out.ark").exists()
