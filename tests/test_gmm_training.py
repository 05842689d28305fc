"""Whole trainings: as good as Kaldi's on its own data, and by the steps that users call."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gmm_data import alignments, features, lang_of

from pymavg.errors import PymavgError
from pymavg.gmm.accumulate import GmmStats, accumulate
from pymavg.gmm.align_job import Aligner, align_all, equal_aligner
from pymavg.gmm.align_options import AlignOptions
from pymavg.gmm.alignments import read_job_alignments, write_alignments
from pymavg.gmm.build_tree import TreeOptions, build_tree
from pymavg.gmm.estimate import UpdateOptions, mix_up, pdf_occupancy, update
from pymavg.gmm.first_model import AlignmentConverter, monophone_model, tree_model
from pymavg.gmm.graphs import compile_graphs
from pymavg.gmm.job_data import JobData, write_features, write_graphs
from pymavg.gmm.questions import find_questions
from pymavg.gmm.tree_roots import monophone_tree
from pymavg.gmm.tree_stats import accumulate_tree_stats, frame_keys
from pymavg.kaldi.gmm import read_model
from pymavg.kaldi.transitions import TransitionModel, read_transition_model
from pymavg.kaldi.tree import read_tree

ROOT = Path(__file__).parents[1]


def em(job, transitions, gmm, tids, passes, realign, tot_gauss):
    """Train as steps/gmm/passes.sh does; return model, alignments and the last log-likelihood per frame."""
    start = gmm.num_gauss
    for x in range(1, passes):
        if x in realign:
            tids = align(job, Aligner(transitions, gmm, AlignOptions(beam=6.0 if x == 1 else 10.0)), transitions)
        stats = GmmStats.zeros(gmm, transitions.num_tids)
        flat = np.concatenate(list(tids.values()))
        accumulate(stats, gmm, transitions.tid_pdf, job.feats, flat, job.rows(tids))
        transitions.update(stats.transitions)
        occupancy = pdf_occupancy(gmm, stats)
        gmm, _ = update(gmm, stats, UpdateOptions())
        wanted = start + round((tot_gauss - start) * min(1.0, 1.4 * (x - 1) / passes))
        if wanted > gmm.num_gauss:
            gmm = mix_up(gmm, occupancy, wanted, 0.25, np.random.default_rng(x))
    return gmm, align(job, Aligner(transitions, gmm, AlignOptions()), transitions), stats.loglike / stats.frames


def align(job, aligner, transitions):
    graphs = job.graphs(transitions)
    return align_all("t", aligner, ((u, x, g) for (u, x), g in zip(job.items(), graphs, strict=True)), 0.1)


def share_of_equal_phones(golden, system, transitions, tids):
    """Return the share of frames that have Kaldi's phone."""
    kaldis = read_transition_model(golden(f"gmm/{system}/final.mdl")).tid_phone
    theirs = alignments(golden(f"gmm/{system}/ali_final.gz"))
    equal = sum((transitions.tid_phone[ali] == kaldis[theirs[utterance]]).sum() for utterance, ali in tids.items())
    return equal / sum(map(len, theirs.values()))


def test_trainings_are_as_good_as_kaldis(golden, tmp_path):
    lang, data = lang_of(golden), golden("gmm/data/train")
    write_features(tmp_path, features(data).items())
    job, tree = JobData(tmp_path), monophone_tree(lang.topology, lang.sets)

    transitions = TransitionModel.from_tree(lang.topology, tree)
    write_graphs(tmp_path, compile_graphs(lang, tree, transitions, data / "text", job.utts))
    gmm = monophone_model(tree.num_pdfs, job.feats[: job.frame_offset[10]])
    tids = align(job, equal_aligner, transitions)
    stats = GmmStats.zeros(gmm, transitions.num_tids)
    accumulate(stats, gmm, transitions.tid_pdf, job.feats, np.concatenate(list(tids.values())), job.rows(tids))
    transitions.update(stats.transitions)
    gmm, _ = update(gmm, stats, UpdateOptions(min_gaussian_occupancy=3))
    gmm, tids, loglike = em(job, transitions, gmm, tids, 24, {1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 20}, 1000)
    assert loglike == pytest.approx(-88.13, abs=0.5)
    assert share_of_equal_phones(golden, "mono", transitions, tids) >= 0.92

    keys = frame_keys(transitions, list(tids.values()), lang.context_indep, 3, 1)
    tree_stats = accumulate_tree_stats(keys, job.feats[job.rows(tids)])
    questions = find_questions(tree_stats, lang.sets, 1) + lang.extra_questions
    tree, report = build_tree(tree_stats, questions, lang.roots, lang.topology, TreeOptions(max_leaves=150))
    assert report["leaves"] == pytest.approx(104, rel=0.1)
    new = TransitionModel.from_tree(lang.topology, tree)
    gmm, occupancy, _ = tree_model(tree, tree_stats)
    gmm = mix_up(gmm, occupancy, 150, 0.25, np.random.default_rng(0))
    tids = dict(zip(tids, AlignmentConverter(transitions, new, tree).convert(list(tids.values())), strict=True))
    write_graphs(tmp_path, compile_graphs(lang, tree, new, data / "text", job.utts))
    gmm, tids, loglike = em(job, new, gmm, tids, 30, {8, 16, 24}, 1000)
    assert loglike == pytest.approx(-87.97, abs=0.5)
    assert share_of_equal_phones(golden, "tri1", new, tids) >= 0.92


def hand_made_job(folder, lengths, seed=0):
    """Write features of utterances u1, u2, … and return the JobData."""
    rng = np.random.default_rng(seed)
    write_features(
        folder, ((f"u{i}", rng.standard_normal((n, 2)).astype(np.float32)) for i, n in enumerate(lengths, 1))
    )
    return JobData(folder)


def test_job_data_gives_back_features_and_graphs(golden, tmp_path):
    lang, tree = lang_of(golden), monophone_tree(lang_of(golden).topology, lang_of(golden).sets)
    transitions = TransitionModel.from_tree(lang.topology, tree)
    job = hand_made_job(tmp_path, [5, 0, 7])
    assert job.frames() == {"u1": 5, "u3": 7}
    assert job.rows(["u3", "u1"]).tolist() == [*range(5, 12), *range(5)]
    (tmp_path / "text").write_text("u1 one two\nu3 zero\n")
    written = list(compile_graphs(lang, tree, transitions, tmp_path / "text", job.utts))
    write_graphs(tmp_path, [written[0], None, written[1]])
    first, none, last = job.graphs(transitions)
    assert none is None
    for graph, before in ((first, written[0]), (last, written[1])):
        assert graph.start == before.start
        for name in ("final", "offset", "ilabel", "target"):
            assert np.array_equal(getattr(graph, name), getattr(before, name)), name
        assert (graph.weight >= before.weight).all() and (graph.weight > before.weight).any()


def test_missing_transcripts_are_named_and_limited(golden, tmp_path):
    lang, tree = lang_of(golden), monophone_tree(lang_of(golden).topology, lang_of(golden).sets)
    transitions = TransitionModel.from_tree(lang.topology, tree)
    (tmp_path / "text").write_text("".join(f"u{i} one\n" for i in range(30)))
    graphs = list(compile_graphs(lang, tree, transitions, tmp_path / "text", [f"u{i}" for i in range(31)]))
    assert [graph is None for graph in graphs] == [False] * 30 + [True]
    with pytest.raises(PymavgError, match="10 of 20 utterances have no transcript; first: u30"):
        list(compile_graphs(lang, tree, transitions, tmp_path / "text", [f"u{i}" for i in range(20, 40)]))


def test_alignments_of_a_job_are_found_in_any_archive_and_checked(golden, tmp_path, capsys):
    job = hand_made_job(tmp_path / "job", [4] * 20)
    ali = tmp_path / "ali"
    ali.mkdir()
    with pytest.raises(PymavgError, match="no ali.*gz"):
        read_job_alignments(ali, 1, job.frames(), job.path, 0.1)
    (ali / "final.mdl").write_bytes(golden("gmm/units/init.mdl").read_bytes())
    write_alignments(ali / "ali.1.gz", {f"u{i}": np.full(4, 1) for i in range(1, 11)} | {"other": np.full(9, 1)})
    write_alignments(ali / "ali.2.gz", {f"u{i}": np.full(4 + (i == 12), 2) for i in range(11, 20)})
    _, found = read_job_alignments(ali, 2, job.frames(), job.path, 0.1)
    assert set(found) == {f"u{i}" for i in range(1, 20) if i != 12} and found["u13"].tolist() == [2] * 4
    told = capsys.readouterr().err
    assert "u12 (5 labels for 4 frames)" in told and "18 of 20 utterances aligned (10.0% without; first: u20)" in told
    with pytest.raises(PymavgError, match="18 of 20"):
        read_job_alignments(ali, 2, job.frames(), job.path, 0.05)
    write_alignments(ali / "ali.1.gz", {"u1": np.full(4, 9999)})
    with pytest.raises(PymavgError, match="ali.1.gz: utterance u1 has transition-ids 9999 to 9999.*1 to 1004"):
        read_job_alignments(ali, 1, job.frames(), job.path, 0.1)


@pytest.fixture
def recipe(golden, tmp_path):
    """A recipe directory with the digits of golden/gmm, its test set in the place of training data."""
    for name in ("steps", "utils", "path.sh", "cmd.sh"):
        (tmp_path / name).symlink_to(ROOT / name)
    for part, source in (("lang", golden("gmm/lang")), ("data/test", golden("gmm/data/test"))):
        for path in source.rglob("*"):
            if path.is_file():
                target = tmp_path / part / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    return tmp_path


def run(recipe, *command):
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    return subprocess.run(command, cwd=recipe, capture_output=True, text=True, timeout=240, env=environment)


def done(recipe, *command):
    result = run(recipe, *command)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_steps_train_align_and_resume(recipe):
    data, lang, mono, tri1 = "data/test", "lang", recipe / "exp/mono", recipe / "exp/tri1"
    few = ["--num-iters", "2", "--max-iter-inc", "1", "--realign-iters", "1"]
    (recipe / data / "conf").mkdir()  # as steps/make_mfcc.sh leaves it
    (recipe / data / "conf/mfcc.conf").write_text("--use-energy=false\n")
    command = ["steps/train_mono.sh", "--nj", "2", *few, data, lang, "exp/mono"]
    assert "trained the monophone system" in done(recipe, *command)
    kept = {
        "final.mdl",
        "final.occs",
        "tree",
        "ali.1.gz",
        "ali.2.gz",
        "num_jobs",
        "cmvn_opts",
        "delta_opts",
        "phones.txt",
        "conf",
    }
    assert {path.name for path in mono.iterdir()} - {"log", ".settings"} == kept
    model = (mono / "final.mdl").read_bytes()
    assert "is there already" in done(recipe, *command)
    for name in ("mdl", "occs"):  # as after a stop before the very last step
        (mono / f"final.{name}").rename(mono / f"2.{name}")
    assert "trained the monophone system" in done(recipe, *command)
    assert (mono / "final.mdl").read_bytes() == model

    command = ["steps/align_si.sh", "--nj", "1", "--boost-silence", "1.25", data, lang, "exp/mono", "exp/mono_ali"]
    assert "30 of 30 utterances aligned" in done(recipe, *command)
    assert len(alignments(recipe / "exp/mono_ali/ali.1.gz")) == 30
    assert (recipe / "exp/mono_ali/final.mdl").read_bytes() == model

    command = ["steps/train_deltas.sh", *few, "40", "120", data, lang, "exp/mono_ali", "exp/tri1"]
    told = done(recipe, *command)
    transitions, gmm = read_model(tri1 / "final.mdl")
    sizes = f"{gmm.num_pdfs} leaves and {gmm.num_gauss} Gaussians"
    assert (tri1 / "conf/mfcc.conf").read_text() == "--use-energy=false\n"
    assert "leaves after merging" in told and f"trained the triphone system exp/tri1: {sizes}" in told
    for asked, remark in (("30 45", ""), ("4000 9000", "; asked for 4000 and 9000, the data hold no more")):
        line = f". ./path.sh; . steps/gmm/begin.sh; sizes exp/tri1/final.mdl {asked}"
        assert done(recipe, "bash", "-c", line) == sizes + remark
    assert gmm.num_pdfs == read_tree(tri1 / "tree").num_pdfs and gmm.num_gauss >= 40
    tids = np.concatenate(list(alignments(tri1 / "ali.1.gz").values()))
    assert len(tids) == sum(map(len, features(recipe / data).values()))
    assert tids.max() <= transitions.num_tids


def test_what_another_step_made_is_not_removed(recipe):
    (recipe / "exp/mono").mkdir(parents=True)
    (recipe / "exp/mono/final.mdl").write_text("a model of great worth")
    swapped = run(recipe, "steps/train_mono.sh", "--nj", "1", "data/test", "lang", "exp/mono")
    assert swapped.returncode == 1 and "exp/mono holds a model that steps/train_mono.sh did not make" in swapped.stderr
    (recipe / "exp/mono/.settings").write_text("steps/align_si.sh 4 10")
    swapped = run(recipe, "steps/train_mono.sh", "--nj", "1", "data/test", "lang", "exp/mono")
    assert swapped.returncode == 1 and "exp/mono was made by steps/align_si.sh" in swapped.stderr
    assert (recipe / "exp/mono/final.mdl").read_text() == "a model of great worth"


def test_features_made_anew_are_noticed(recipe):
    begin = ". steps/gmm/begin.sh; begin_run exp/x result settings data/test/feats.scp; echo begun"
    assert "begun" in done(recipe, "bash", "-euo", "pipefail", "-c", begin)
    (recipe / "exp/x/result").touch()
    assert "is there already" in done(recipe, "bash", "-euo", "pipefail", "-c", begin)
    first = (recipe / "data/test/feats.scp").read_text().split()[1].rpartition(":")[0]
    os.utime(recipe / first, (1, 1))  # the same feats.scp, another archive
    assert "starting anew" in done(recipe, "bash", "-euo", "pipefail", "-c", begin)
    assert not (recipe / "exp/x/result").exists()


def test_steps_name_what_is_wrong(recipe):
    missing = run(recipe, "steps/align_si.sh", "data/test", "lang", "exp/none", "exp/ali")
    assert missing.returncode == 1 and "exp/none/final.mdl: no such file" in missing.stderr
    (recipe / "data/test/text").write_text("george-test-000 one\n")
    failed = run(recipe, "steps/train_mono.sh", "--nj", "1", "data/test", "lang", "exp/mono")
    assert failed.returncode != 0 and "29 of 30 utterances have no transcript" in failed.stderr
    assert not (recipe / "exp/mono/final.mdl").exists()
