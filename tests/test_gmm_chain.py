"""LDA+MLLT and SAT trained whole from Kaldi's tri1 by the steps, beside Kaldi's systems on the same data."""

import re
import shutil
from pathlib import Path

import pytest
from gmm_data import alignments
from test_gmm_training import ROOT, done, share_of_equal_phones

from pymavg.decoding import paths
from pymavg.decoding.archive import read_lattices
from pymavg.kaldi.symbols import read_symbols
from pymavg.kaldi.transitions import read_transition_model


@pytest.fixture
def recipe(shared, tmp_path):
    """A recipe directory with the digits of golden/gmm and the alignments of Kaldi's tri1."""
    gmm = shared("golden/gmm")
    for name in ("steps", "utils", "path.sh", "cmd.sh"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("lang", "data/train", "data/test", "exp/tri1"):
        shutil.copytree(gmm / Path(name).name if name[:3] in ("lan", "exp") else gmm / name, tmp_path / name)
        (tmp_path / name).chmod(0o755)
    shutil.copy(gmm.parent / "graph/fst/G.fst", tmp_path / "lang")
    (tmp_path / "exp/tri1/ali.gz").unlink()
    (tmp_path / "exp/tri1/ali_final.gz").rename(tmp_path / "exp/tri1/ali.1.gz")
    (tmp_path / "exp/tri1/num_jobs").write_text("1\n")
    return tmp_path


def likelihood(recipe, system):
    """Return the log-likelihood per frame that the last pass told."""
    log = (recipe / f"exp/{system}/log/update.34.log").read_text()
    return float(re.search(r"log-likelihood per frame (\S+)", log)[1])


def trained(recipe, golden, system, step, source, aligner):
    """Train and align a system; check it against Kaldi's of the same name."""
    done(recipe, f"steps/{step}.sh", "150", "1000", "data/train", "lang", f"exp/{source}", f"exp/{system}")
    done(recipe, f"steps/{aligner}.sh", "--nj", "1", "data/train", "lang", f"exp/{system}", f"exp/{system}_ali")
    transitions = read_transition_model(recipe / f"exp/{system}/final.mdl")
    assert transitions.num_pdfs == pytest.approx(120, rel=0.1)
    tids = alignments(recipe / f"exp/{system}_ali/ali.1.gz")
    assert share_of_equal_phones(golden, system, transitions, tids) >= 0.95  # found 0.965, 0.962; Kaldi run again 0.947


def test_systems_with_transforms_are_as_good_as_kaldis(golden, recipe):
    """Likelihoods are higher than Kaldi's by 2, most of it from LDA and MLLT statistics of all frames.

    Kaldi's steps leave three of four frames out of these (--rand-prune=4). With three of four left out here, too, the
    first passes of tri2 come to -52.97, -53.53, -52.49; Kaldi's log has -52.91, -53.44, -52.44. With all of them they
    come to -52.13, -52.31, -51.12. So only the lower bound holds.
    """
    trained(recipe, golden, "tri2", "train_lda_mllt", "tri1", "align_si")
    assert likelihood(recipe, "tri2") > -45.60 - 0.5  # found -43.31
    trained(recipe, golden, "tri3", "train_sat", "tri2_ali", "align_fmllr")
    assert likelihood(recipe, "tri3") > -47.10 - 0.5  # found -45.06
    symbols = read_symbols(recipe / "lang/words.txt")
    expected = (recipe / "data/test/text").read_text().splitlines()
    for system, step in (("tri2", "decode"), ("tri3", "decode_fmllr")):
        folder = f"exp/{system}"
        done(recipe, "utils/mkgraph.sh", "lang", folder, f"{folder}/graph")
        options = ["--nj", "1", "--skip-scoring", "true"]
        done(recipe, f"steps/{step}.sh", *options, f"{folder}/graph", "data/test", f"{folder}/decode")
        found = []
        for utterance, lattice in read_lattices(recipe / folder / "decode/lat.1.gz"):
            (arcs,) = paths.best_paths(lattice, [1 / 10], [0.0])
            words = symbols.symbols(paths.path_of(lattice, arcs).words.tolist(), system)
            found.append(" ".join([utterance, *words]))
        assert sorted(found) == sorted(" ".join(line.split()) for line in expected)
