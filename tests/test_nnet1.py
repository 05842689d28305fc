import gzip

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.kaldi.nnet1 import (
    AddShift,
    Affine,
    Rbm,
    Relu,
    Rescale,
    Sigmoid,
    Softmax,
    Splice,
    Tanh,
    read_nnet,
    write_nnet,
)

PRESENT_FORM = [
    "feature_transform.nnet",
    "feature_transform.txt",
    "nnet_coef.init",
    "nnet_coef.init.txt",
    "nnet_a_lr.bin",
    "nnet_a_lr.txt",
    "rbm_bern.init",
    "rbm_bern.init.txt",
    "rbm_gauss.init",
    "rbm_gauss.trained",
    "splice.nnet",
    "shift_rescale.nnet",
    "rbm_update/gauss_3.rbm",
    "rbm_update/gauss_3.rbm.txt",
]


@pytest.mark.parametrize("name", PRESENT_FORM)
def test_round_trip_to_the_byte(golden, tmp_path, name):
    path = golden(f"nnet1/{name}")
    original = path.read_bytes()
    write_nnet(tmp_path / "out", read_nnet(path), binary=original.startswith(b"\0B"))
    assert (tmp_path / "out").read_bytes() == original


@pytest.mark.parametrize("name", ["feature_transform", "nnet_coef.init", "rbm_bern.nnet", "rbm_gauss.nnet"])
def test_binary_and_text_say_the_same(golden, name):
    path = golden(f"nnet1/{name}" if "." in name else f"nnet1/{name}.nnet")
    text = golden(f"nnet1/{name}.txt")
    for a, b in zip(read_nnet(path), read_nnet(text), strict=True):
        assert type(a) is type(b) and a.dims == b.dims
        for field, value in vars(a).items():
            if isinstance(value, str):
                assert value == getattr(b, field)
            else:
                np.testing.assert_allclose(value, getattr(b, field), rtol=1e-6)


def test_coefficients(golden):
    nnet = read_nnet(golden("nnet1/nnet_coef.init"))
    assert [type(c) for c in nnet] == [Affine, Sigmoid, Affine, Sigmoid, Affine, Softmax]
    assert [c.dims for c in nnet[::2]] == [(40, 143), (30, 40), (20, 30)]
    assert nnet[0].learn_rate_coef == 0.5
    assert nnet[0].bias_learn_rate_coef == pytest.approx(0.1)
    assert nnet[0].max_norm == pytest.approx(1.2)
    assert nnet[2].learn_rate_coef == 1 and nnet[2].max_norm == 0


def test_old_headers(golden, shared, tmp_path):
    affine, sigmoid = read_nnet(golden("nnet1/rbm_bern.nnet"))  # no <Nnet>, no coefficients
    rbm = read_nnet(golden("nnet1/rbm_bern.init"))[0]
    assert (rbm.vis_type, rbm.hid_type, rbm.dims) == ("bern", "bern", (16, 24))
    np.testing.assert_array_equal(affine.weight, rbm.weight)
    np.testing.assert_array_equal(affine.bias, rbm.hid_bias)
    assert sigmoid.dims == (16, 16)
    splice, shift, scale = read_nnet(shared("data/interop/nnet1/final.feature_transform"))  # no end markers
    assert splice.offsets.tolist() == list(range(-5, 6)) and splice.dims == (440, 40)
    assert shift.shift[0] == np.float32(-9.189949) and scale.dims == (440, 440)
    path = tmp_path / "old.txt"
    path.write_text("<biasedlinearity> 1 2 \n [\n 3 4 ]\n [ 5 ]\n<sigmoid> 1 1 \n")
    old = read_nnet(path)
    assert old[0].weight.tolist() == [[3, 4]] and old[0].bias.tolist() == [5] and old[1].dim == 1


@pytest.mark.parametrize("binary", [True, False])
def test_all_components(tmp_path, binary):
    random = np.random.default_rng(0)
    nnet = [
        Splice(np.array([-1, 0, 1], np.int32), 2),
        AddShift(np.arange(6, dtype=np.float32)),
        Rescale(np.full(6, 0.5, np.float32), 0.25),
        Affine(random.normal(size=(4, 6)).astype(np.float32), np.ones(4, np.float32), 1.0, 0.5, 2.0),
        Tanh(4),
        Relu(4),
        Rbm(np.eye(4, dtype=np.float32), np.zeros(4, np.float32), np.ones(4, np.float32), "gauss", "bern"),
        Sigmoid(4),
        Softmax(4),
    ]
    write_nnet(tmp_path / "n", nnet, binary)
    (tmp_path / "n.gz").write_bytes(gzip.compress((tmp_path / "n").read_bytes()))
    for path in (tmp_path / "n", tmp_path / "n.gz"):
        for a, b in zip(nnet, read_nnet(path), strict=True):
            assert type(a) is type(b) and vars(a).keys() == vars(b).keys()
            for field, value in vars(a).items():
                if isinstance(value, str):
                    assert value == getattr(b, field)
                else:
                    np.testing.assert_allclose(getattr(b, field), value, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<Nnet>\n<Sigmod> 2 2\n</Nnet>\n", "component '<Sigmod>' is not supported; did you mean <Sigmoid>?"),
        ("<Nnet>\n<Sigmoid> 2 2\n<Sigmoid> 3 3\n</Nnet>\n", "3 inputs, the component before it 2 outputs"),
        ("<Nnet>\n<Sigmoid> 2 3\n</Nnet>\n", "says 2 x 3, its data are 2 x 2"),
        ("<Nnet>\n<AffineTransform> 1 3\n [\n 1 2 ]\n [ 1 ]\n</Nnet>\n", "says 1 x 3, its data are 1 x 2"),
        ("<Nnet>\n<AffineTransform> 1 2\n [\n 1 2 ]\n [ 1 1 ]\n</Nnet>\n", "bias has 2 elements, 1 expected"),
        ("<Nnet>\n<Rescale> 1 1\n [ nan ]\n</Nnet>\n", "scale holds values that are not finite"),
        ("<Nnet>\n<Sigmoid> 2 2\n", "</Nnet> expected, found the end"),
        ("<Nnet>\n</Nnet>\n", "found none"),
        ("<Nnet>\n<Rbm> 1 1\nfoo bern [ 1 ] [ 1 ] [ 1 ]\n</Nnet>\n", "bern or gauss expected, found 'foo'"),
        ("<Nnet>\n<ParametricRelu> 1 1\n<ClipGradient> 0 [ 1 ] [ 0.25 ]\n</Nnet>\n", "slopes other than 1 and 0"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.nnet"
    path.write_text(text)
    with pytest.raises(PymavgError) as error:
        read_nnet(path)
    assert message in str(error.value) and str(path) in str(error.value)


def test_nothing_bad_is_written(tmp_path):
    with pytest.raises(PymavgError, match="not finite"):
        write_nnet(tmp_path / "n", [AddShift(np.array([np.inf], np.float32))])
    assert not list(tmp_path.iterdir())


def test_random_damage(golden, tmp_path):
    good = golden("nnet1/feature_transform.nnet").read_bytes()
    random = np.random.default_rng(2)
    path = tmp_path / "n"
    refused = 0
    for _ in range(300):
        bad = bytearray(good[: random.integers(1, len(good))] if random.random() < 0.3 else good)
        bad[random.integers(len(bad))] ^= 1 << random.integers(8)
        path.write_bytes(bytes(bad))
        try:
            assert all(np.isfinite(v).all() for c in read_nnet(path) for v in vars(c).values())
        except PymavgError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused > 60
