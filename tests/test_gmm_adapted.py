"""The steps of LDA+MLLT, SAT and fMLLR, and what they compute from Kaldi's SAT system against Kaldi's results."""

import numpy as np
import pytest
from gmm_data import alignments, features
from test_gmm_training import done, recipe, run  # noqa: F401

from pymavg.data.pipeline import FeaturePipeline, read_transforms
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.frame_posteriors import frame_posteriors
from pymavg.gmm.accumulate import GmmStats, accumulate
from pymavg.gmm.estimate import UpdateOptions, update
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import read_matrices, read_token_map
from pymavg.tools import gmm_align_fmllr


def test_alignment_model_equals_kaldis(golden):
    data, sat = golden("gmm/data/train"), golden("gmm/tri3")
    transitions, gmm = read_model(sat / "final.mdl")
    tids, speakers = alignments(sat / "ali.gz"), read_token_map(data / "utt2spk")
    plain = dict(FeaturePipeline(data, sat, root=str(data.parents[1])))
    table = dict(read_matrices(f"ark:{sat / 'trans'}"))
    w = {u: table[speakers[u]] for u in tids}
    adapted = np.concatenate([plain[u] @ w[u][:, :40].T + w[u][:, 40] for u in tids])
    stats = GmmStats.zeros(gmm, transitions.num_tids)
    frames = np.concatenate([plain[u] for u in tids])
    flat = np.concatenate(list(tids.values()))
    accumulate(stats, gmm, transitions.tid_pdf, adapted, flat, moments_of=frames)
    found, _ = update(gmm, stats, UpdateOptions(remove_low_count_gaussians=False))
    expected = read_model(sat / "final.alimdl")[1]
    np.testing.assert_allclose(found.weights, expected.weights, atol=2e-4)
    deviation = np.sqrt(expected.variances())
    assert (np.abs(found.means() - expected.means()) / deviation).max() < 2e-3
    np.testing.assert_allclose(found.inv_vars, expected.inv_vars, rtol=2e-3)


def test_alignment_in_two_rounds_equals_kaldis(golden, tmp_path):
    """On the two speakers of the shortest utterances: transforms and alignments of steps/align_fmllr.sh."""
    source, data = golden("gmm/data/train"), tmp_path / "data"
    data.mkdir()
    speakers = {"theo"}
    lines = [line.split() for line in (source / "utt2spk").read_text().splitlines()]
    utts = {utterance for utterance, speaker in lines if speaker in speakers}
    for name in ("feats.scp", "cmvn.scp", "utt2spk", "text"):
        rows = (source / name).read_text().splitlines(keepends=True)
        kept = [row for row in rows if row.split()[0] in utts | speakers]
        (data / name).write_text("".join(kept).replace("data/train", str(source)))
    lang, silence = golden("gmm/lang"), golden("gmm/lang/phones/silence.csl").read_text().strip()
    outputs = [str(tmp_path / name) for name in ("ali.gz", "trans.1")]
    gmm_align_fmllr.main(["--silence-phones", silence, str(lang), str(data), str(golden("gmm/tri3")), *outputs])
    expected = dict(read_matrices(f"ark:{golden('gmm/tri3/trans_ali')}"))
    for speaker, w in read_transforms(tmp_path).items():
        np.testing.assert_allclose(w, expected[speaker], atol=2e-3)
    found, wanted = alignments(outputs[0]), alignments(golden("gmm/tri3/ali_final.gz"))
    assert found.keys() == utts
    equal = sum((found[u] == wanted[u]).sum() for u in utts)
    assert equal / sum(len(wanted[u]) for u in utts) > 0.999


def test_posteriors_of_frames_are_kaldis(golden):
    silent = np.zeros(2000)
    for utterance, lattice in read_lattices(golden("graph/tri1_noisy.lat.ark")):
        cost = lattice.costs(acoustic_scale=0.1)
        ones = np.ones_like(silent)
        frames, pdfs, weights = frame_posteriors(lattice, cost, np.arange(2000), ones)
        assert np.bincount(frames, weights) == pytest.approx(np.ones(lattice.num_frames)), utterance
        assert len(np.unique(frames * 2000 + pdfs)) == len(frames)
        halves = frame_posteriors(lattice, cost, np.arange(2000) // 2, ones / 2)
        assert np.bincount(halves[0], halves[2]) == pytest.approx(np.full(lattice.num_frames, 0.5))
        assert len(frame_posteriors(lattice, cost, np.arange(2000), silent)[0]) == 0


def test_the_steps_train_align_and_decode_with_transforms(recipe, golden):  # noqa: F811
    data, lang = "data/test", "lang"
    few = ["--num-iters", "4", "--max-iter-inc", "2", "--realign-iters", "3"]
    mono = ["--nj", "2", "--num-iters", "3", "--max-iter-inc", "2", "--realign-iters", "1 2", "--totgauss", "150"]
    done(recipe, "steps/train_mono.sh", *mono, data, lang, "exp/mono")
    done(recipe, "steps/align_si.sh", "--nj", "2", data, lang, "exp/mono", "exp/mono_ali")

    command = ["steps/train_lda_mllt.sh", *few, "--mllt-iters", "2", "40", "120", data, lang, "exp/mono_ali", "exp/lda"]
    assert "trained the LDA+MLLT system" in done(recipe, *command)
    names = {path.name for path in (recipe / "exp/lda").iterdir()}
    model = {"final.mdl", "final.occs", "tree", "ali.1.gz", "ali.2.gz", "num_jobs", "cmvn_opts", "phones.txt"}
    own = {"final.mat", "full.mat", "0.mat", "splice_opts"}
    assert names - {"log", ".settings", "questions.int"} == model | own
    matrix = open_reader(recipe / "exp/lda/final.mat").matrix()
    assert matrix.shape == (40, 117) and open_reader(recipe / "exp/lda/full.mat").matrix().shape == (117, 117)
    assert not np.allclose(matrix, open_reader(recipe / "exp/lda/0.mat").matrix())
    assert "30 of 30" in done(recipe, "steps/align_si.sh", "--nj", "1", data, lang, "exp/lda", "exp/lda_ali")

    sat = ["--fmllr-iters", "2", "40", "120", data, lang, "exp/lda_ali", "exp/sat"]
    assert "trained the speaker-adapted system" in done(recipe, "steps/train_sat.sh", *few, *sat)
    assert "is there already" in done(recipe, "steps/train_sat.sh", *few, *sat)
    transforms = read_transforms(recipe / "exp/sat")
    speakers = set(read_token_map(recipe / data / "utt2spk").values())
    assert transforms.keys() == speakers and all(w.shape == (40, 41) for w in transforms.values())
    assert not any(np.allclose(w[:, :40], np.eye(40)) for w in transforms.values())
    offsets = [read_model(recipe / f"exp/sat/final.{name}")[1].offset.tolist() for name in ("mdl", "alimdl")]
    assert offsets[0] == offsets[1]

    done(recipe, "steps/align_fmllr.sh", "--nj", "2", data, lang, "exp/sat", "exp/sat_ali")
    assert {"trans.1", "trans.2", "final.alimdl", "final.mat"} <= {p.name for p in (recipe / "exp/sat_ali").iterdir()}
    frames = sum(map(len, features(recipe / data).values()))
    tids = {u: t for job in "12" for u, t in alignments(recipe / f"exp/sat_ali/ali.{job}.gz").items()}
    assert sum(map(len, tids.values())) == frames

    made = ["data/fmllr", data, "exp/sat", "exp/log", "fmllr"]
    done(recipe, "steps/nnet/make_fmllr_feats.sh", "--nj", "2", "--transform-dir", "exp/sat_ali", *made)
    dumped = dict(FeaturePipeline(recipe / "data/fmllr", root=str(recipe)))
    wanted = dict(FeaturePipeline(recipe / data, recipe / "exp/sat", recipe / "exp/sat_ali", root=str(recipe)))
    assert dumped.keys() == wanted.keys()
    np.testing.assert_allclose(dumped[min(dumped)], wanted[min(dumped)], atol=1e-4)
    assert not (recipe / "data/fmllr/cmvn.scp").exists()

    (recipe / "lang/G.fst").write_bytes(golden("graph/fst/G.fst").read_bytes())
    done(recipe, "utils/mkgraph.sh", "lang", "exp/sat", "exp/sat/graph")
    decode = ["--nj", "2", "--skip-scoring", "true", "exp/sat/graph", data, "exp/sat/decode"]
    assert "decoded data/test" in done(recipe, "steps/decode_fmllr.sh", *decode)
    lattices = dict(pair for job in "12" for pair in read_lattices(recipe / f"exp/sat/decode/lat.{job}.gz"))
    assert lattices.keys() == tids.keys() and sum(x.num_frames for x in lattices.values()) == frames
    assert read_transforms(recipe / "exp/sat/decode").keys() == speakers
    assert len(list((recipe / "exp/sat/decode.si").glob("lat.*.gz"))) == 2


def test_steps_name_what_is_wrong(recipe):  # noqa: F811
    missing = run(recipe, "steps/train_sat.sh", "10", "20", "data/test", "lang", "exp/none", "exp/sat")
    assert missing.returncode == 1 and "exp/none/final.mdl: no such file" in missing.stderr
    wrong = run(recipe, "steps/align_fmllr.sh", "data/test", "lang", "exp/none", "exp/ali")
    assert wrong.returncode == 1 and "exp/none/final.mdl: no such file" in wrong.stderr
