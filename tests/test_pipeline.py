import numpy as np
import pytest

from pymavg.data import cmvn
from pymavg.data.pipeline import FeaturePipeline
from pymavg.data.speaker_cmvn import compute_speaker_stats
from pymavg.data.transforms import add_deltas, delta_scales, splice, transform
from pymavg.errors import PymavgError
from pymavg.kaldi.stream import KaldiWriter
from pymavg.kaldi.tables import MatrixWriter, read_matrices, read_token_map


@pytest.mark.parametrize("whose", ["spk", "utt"])
def test_cmvn_statistics_are_kaldis(golden, whose):
    utt2spk = read_token_map(golden("feats/utt2spk"))
    wanted = dict(read_matrices(golden(f"feats/cmvn_{whose}.ark"), np.float64))
    found = {}
    for utterance, features in read_matrices(golden("feats/mfcc.ark")):
        key = utt2spk[utterance] if whose == "spk" else utterance
        cmvn.accumulate(found.setdefault(key, cmvn.empty_stats(13)), features)
    assert found.keys() == wanted.keys()
    for key in wanted:
        np.testing.assert_allclose(found[key], wanted[key], rtol=1e-6)


@pytest.mark.parametrize(("name", "norm_vars"), [("mfcc_cmn", False), ("mfcc_cmvn", True)])
def test_cmvn_is_kaldis(golden, name, norm_vars):
    utt2spk = read_token_map(golden("feats/utt2spk"))
    stats = dict(read_matrices(golden("feats/cmvn_spk.ark"), np.float64))
    wanted = dict(read_matrices(golden(f"feats/{name}.ark")))
    for utterance, features in read_matrices(golden("feats/mfcc.ark")):
        found = cmvn.apply(features, stats[utt2spk[utterance]], cmvn.CmvnOptions(norm_vars=norm_vars))
        np.testing.assert_allclose(found, wanted[utterance], rtol=0, atol=1e-5)


def test_cmvn_against_numpy():
    x = np.random.default_rng(0).normal(3, 2, size=(50, 4)).astype(np.float32)
    stats = cmvn.empty_stats(4)
    cmvn.accumulate(stats, x[:20])
    cmvn.accumulate(stats, x[20:])
    y = cmvn.apply(x, stats, cmvn.CmvnOptions(norm_vars=True, skip_dims="1:3"))
    wanted = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(y[:, [0, 2]], wanted[:, [0, 2]], atol=1e-5)
    np.testing.assert_array_equal(y[:, [1, 3]], x[:, [1, 3]])
    np.testing.assert_array_equal(cmvn.apply(x, stats, cmvn.CmvnOptions(norm_means=False)), x)


def test_cmvn_of_one_frame_or_constant_features():
    options = cmvn.CmvnOptions(norm_vars=True)
    for x in (np.array([[1.3, -7e3, 0]]), np.full((9, 3), 1.7)):
        stats = cmvn.empty_stats(3)
        cmvn.accumulate(stats, x)
        assert np.abs(cmvn.apply(x, stats, options)).max() < 1e-3


@pytest.mark.parametrize(
    ("stats", "options", "message"),
    [
        (np.ones((2, 14)), cmvn.CmvnOptions(), "statistics are 2 x 14, 2 x 4 expected.*compute_cmvn_stats"),
        (np.zeros((2, 4)), cmvn.CmvnOptions(), "of 0 frames"),
        (np.full((2, 4), np.nan), cmvn.CmvnOptions(), "of nan frames"),
        (np.ones((2, 4)), cmvn.CmvnOptions(norm_means=False, norm_vars=True), "needs --norm-means"),
        (np.ones((2, 4)), cmvn.CmvnOptions(skip_dims="3"), "dimensions from 0 to 2"),
    ],
)
def test_bad_cmvn(stats, options, message):
    with pytest.raises(PymavgError, match=message):
        cmvn.apply(np.zeros((5, 3), np.float32), stats, options, "u")


def test_deltas_and_splicing_are_kaldis(golden):
    cmn = dict(read_matrices(golden("feats/mfcc_cmn.ark")))
    for utterance, wanted in read_matrices(golden("feats/deltas.ark")):
        np.testing.assert_allclose(add_deltas(cmn[utterance]), wanted, rtol=0, atol=1e-5)
    for utterance, wanted in read_matrices(golden("feats/splice44.ark")):
        np.testing.assert_allclose(splice(cmn[utterance], 4, 4), wanted, rtol=0, atol=1e-5)


def test_deltas_by_hand():
    assert delta_scales(1, 2)[1] == pytest.approx(np.array([-2, -1, 0, 1, 2]) / 10)
    ramp = np.arange(20, dtype=np.float32)[:, None]
    deltas = add_deltas(ramp)
    np.testing.assert_allclose(deltas[4:-4], np.hstack([ramp, ramp * 0 + 1, ramp * 0])[4:-4], atol=1e-6)
    assert add_deltas(ramp[:1]).tolist() == [[0, 0, 0]]
    assert add_deltas(ramp[:0]).shape == (0, 3)
    assert add_deltas(ramp, order=1, window=3).shape == (20, 2)


def test_splice_by_hand():
    m = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert splice(m, 1, 0).tolist() == [[0, 1, 0, 1], [0, 1, 2, 3], [2, 3, 4, 5]]
    assert splice(m[:0], 2, 2).shape == (0, 10)


def test_linear_and_affine_transforms():
    x = np.array([[1.0, 2.0]], np.float32)
    assert transform(x, np.array([[1, 1]])).tolist() == [[3]]
    assert transform(x, np.array([[1, 1, 10]])).tolist() == [[13]]
    with pytest.raises(PymavgError, match="lda: the transform is 2 x 5, 2 or 3 columns expected"):
        transform(x, np.zeros((2, 5)), "lda")


@pytest.fixture
def data(tmp_path):
    """Make a data directory of two speakers with features of 3 dimensions and their statistics."""
    random = np.random.default_rng(0)
    path = tmp_path / "data"
    path.mkdir()
    utts = {f"{s}-{i}": random.normal(5, 3, size=(10 + i, 3)).astype(np.float32) for s in "ab" for i in range(2)}
    with MatrixWriter(path / "feats.ark", path / "feats.scp") as writer:
        for utt, features in utts.items():
            writer.write(utt, features)
    (path / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in utts))
    compute_speaker_stats(path, path / "cmvn.ark", path / "cmvn.scp")
    return path


def model(tmp_path, *names, **options):
    path = tmp_path / "model"
    path.mkdir()
    for name in names:
        (path / name).touch()
    for name, text in options.items():
        (path / name).write_text(text + "\n")
    return path


def raw(data):
    return dict(FeaturePipeline(data))


def normalised(data, norm_vars=False):
    stats = dict(read_matrices(data / "cmvn.scp", np.float64))
    return {u: cmvn.apply(m, stats[u[0]], cmvn.CmvnOptions(norm_vars=norm_vars)) for u, m in raw(data).items()}


def assert_same(pipeline, wanted):
    found = dict(pipeline)
    assert list(found) == list(wanted) == pipeline.utts and len(pipeline) == len(wanted)
    for utt in wanted:
        assert found[utt].dtype == np.float32 and found[utt].shape[1] == pipeline.dim
        np.testing.assert_allclose(found[utt], wanted[utt], atol=1e-5)


def test_gmm_on_deltas(data, tmp_path):
    pipeline = FeaturePipeline(data, model(tmp_path, "final.mdl"))
    assert pipeline.dim == 9
    assert_same(pipeline, {u: add_deltas(m) for u, m in normalised(data).items()})


def test_options_of_the_model(data, tmp_path):
    path = model(tmp_path, "0.mdl", cmvn_opts="--norm-means=true --norm-vars=true", delta_opts="--delta-order=1")
    assert_same(FeaturePipeline(data, path), {u: add_deltas(m, 1) for u, m in normalised(data, True).items()})
    (path / "cmvn_opts").write_text("--norm-means=false\n")
    (data / "cmvn.scp").unlink()
    assert_same(FeaturePipeline(data, path), {u: add_deltas(m, 1) for u, m in raw(data).items()})


def test_networks(data, tmp_path):
    path = model(tmp_path, "final.mdl", "final.nnet")
    assert_same(FeaturePipeline(data, path), raw(data))
    (path / "cmvn_opts").write_text("--norm-vars=false\n")
    (path / "delta_opts").write_text("\n")
    assert_same(FeaturePipeline(data, path), normalised(data))
    (path / "delta_opts").write_text("--delta-order=2\n")
    assert FeaturePipeline(data, path).dim == 9


def test_options_of_systems_from_before_2014(data, tmp_path):
    path = model(tmp_path, "final.mdl", norm_vars="true", delta_order="1")
    assert_same(FeaturePipeline(data, path), {u: add_deltas(m, 1) for u, m in normalised(data, True).items()})
    (path / "norm_vars").write_text("yes\n")
    with pytest.raises(PymavgError, match="norm_vars: needs true or false"):
        FeaturePipeline(data, path)


def test_lda_and_fmllr(data, tmp_path):
    random = np.random.default_rng(1)
    lda = random.normal(size=(2, 9)).astype(np.float32)
    path = model(tmp_path, "final.mdl", splice_opts="--left-context=1 --right-context=1")
    with open(path / "final.mat", "wb") as stream:
        KaldiWriter(stream).matrix(lda)
    wanted = {u: splice(m, 1, 1) @ lda.T for u, m in normalised(data).items()}
    assert_same(FeaturePipeline(data, path), wanted)
    fmllr = {s: random.normal(size=(2, 3)).astype(np.float32) for s in "ab"}
    for job, speaker in enumerate("ab", start=1):
        with MatrixWriter(path / f"trans.{job}") as writer:
            writer.write(speaker, fmllr[speaker])
    adapted = FeaturePipeline(data, path, transforms=path)
    assert_same(adapted, {u: transform(m, fmllr[u[0]]) for u, m in wanted.items()})
    (path / "trans.2").unlink()
    with pytest.raises(PymavgError, match="nothing for speaker b of utterance b-0"):
        dict(FeaturePipeline(data, path, transforms=path))


def test_what_is_missing_is_named(data, tmp_path):
    path = model(tmp_path, "final.mdl")
    (data / "cmvn.scp").write_text((data / "cmvn.scp").read_text().splitlines()[0] + "\n")
    with pytest.raises(PymavgError, match=r"cmvn.scp: nothing for speaker b of utterance b-0; run steps/compute_cmvn"):
        dict(FeaturePipeline(data, path))
    (data / "cmvn.scp").unlink()
    with pytest.raises(PymavgError, match=r"cmvn.scp: no such file; run steps/compute_cmvn_stats.sh .*data"):
        FeaturePipeline(data, path)
    with pytest.raises(PymavgError, match="no utterance nobody"):
        FeaturePipeline(data).get("nobody")
    with pytest.raises(PymavgError, match="no such directory"):
        FeaturePipeline(data, tmp_path / "nothing")
    (path / "cmvn_opts").write_text("--norm-mean=true\n")
    with pytest.raises(PymavgError, match=r"cmvn_opts: option '--norm-mean=true'.*did you mean norm-means\?"):
        FeaturePipeline(data, path)
    (data / "feats.scp").unlink()
    with pytest.raises(PymavgError, match=r"feats.scp: no such file; run steps/make_mfcc.sh"):
        FeaturePipeline(data)


def test_values_that_are_not_finite(data):
    with MatrixWriter(data / "bad.ark", data / "feats.scp") as writer:
        writer.write("a-0", np.array([[1, np.nan, 2]]))
    with pytest.raises(PymavgError, match="utterance a-0 holds values that are not finite"):
        FeaturePipeline(data).get("a-0")
    with pytest.raises(PymavgError, match="a-0 holds values that are not finite"):
        compute_speaker_stats(data, data / "c.ark", data / "c.scp")
    assert not (data / "c.ark").exists()


def test_a_real_sat_experiment(shared):
    root = shared("data/interop/kaldi_punjabi")
    pipeline = FeaturePipeline(root / "data/train", root / "exp/tri4_ali", root / "exp/tri4_ali", root)
    assert len(pipeline) == 320 and pipeline.dim == 40
    frames = np.vstack([pipeline.get(utt) for utt in pipeline.utts[::8]])
    assert np.isfinite(frames).all()
    assert np.abs(frames.mean(axis=0)).max() < 1  # fMLLR features are nearly of mean 0 and variance 1
    assert 0.3 < frames.std(axis=0).mean() < 3
