"""What sequence training starts from, made from golden/smbr: likelihoods, reference alignments, lattices."""

import shutil

import numpy as np
import pytest
from gmm_data import lang_of, text_alignments
from test_decoder import all_paths

from pymavg.decoding.acoustic import NnetAcoustic
from pymavg.decoding.archive import read_lattices
from pymavg.decoding.decoder import Decoder, DecoderOptions
from pymavg.decoding.determinize import determinize
from pymavg.gmm.align import align
from pymavg.graph.hcl import add_transition_probs
from pymavg.graph.training_graph import TrainingGraphCompiler
from pymavg.kaldi.fst import read_fst
from pymavg.kaldi.tables import read_matrices, read_token_map
from pymavg.kaldi.transitions import read_transition_model
from pymavg.kaldi.tree import read_tree


@pytest.fixture
def loglikes(golden):
    return dict(read_matrices(f"ark:{golden('smbr/loglikes.ark')}"))


def test_likelihoods_are_those_of_nnet_forward(golden, tmp_path, loglikes):
    names = {"nnet.before": "final.nnet", "feature_transform.nnet": "final.feature_transform"}
    for name, target in {**names, "class.counts": "ali_train_pdf.counts"}.items():
        shutil.copy(golden(f"smbr/{name}"), tmp_path / target)
    shutil.copy(golden("gmm/mono/trans_model.txt"), tmp_path / "final.mdl")
    acoustic = NnetAcoustic(tmp_path)
    for utterance, feats in read_matrices(f"ark:{golden('smbr/feats.ark')}"):
        np.testing.assert_allclose(acoustic.loglikes(feats), loglikes[utterance], atol=2e-5)


@pytest.mark.parametrize(("suffix", "beams"), [("", (20, 80)), ("_wrong", (20, 80)), ("_drop", (200, 800))])
def test_reference_alignments_are_kaldis(golden, loglikes, suffix, beams):
    lang, model = lang_of(golden), read_transition_model(golden("gmm/mono/trans_model.txt"))
    compiler = TrainingGraphCompiler(lang.lexicon_fst, read_tree(golden("gmm/mono/tree")), model, lang.disambig)
    text, expected = read_token_map(golden(f"smbr/text{suffix}")), text_alignments(golden(f"smbr/ali{suffix}.txt"))
    graphs = compiler.compile(lang.words.ids(words.split()) for words in text.values())
    for utterance, graph in zip(text, graphs, strict=True):
        found = align(add_transition_probs(graph, model), loglikes[utterance], model.tid_pdf, 0.1, *beams)
        assert found.tids.tolist() == expected[utterance]


def scaled(path):
    return path.graph_cost + 0.1 * path.acoustic_cost


def test_denominator_lattices_are_kaldis(golden, loglikes):
    tid_pdf = read_transition_model(golden("gmm/mono/trans_model.txt")).tid_pdf
    options = DecoderOptions(beam=13, lattice_beam=8, max_active=5000)
    decoder = Decoder(read_fst(golden("graph/fst/HCLG_mono.fst")), tid_pdf, options)
    for form in ("ark", "txt"):
        expected = dict(read_lattices(golden(f"smbr/denlat.{form}")))
        assert expected.keys() == loglikes.keys()
        for utterance, matrix in loglikes.items():
            found, wanted = (
                all_paths(x) for x in (determinize(decoder.decode(matrix, 0.1), 0.1, 8.0), expected[utterance])
            )
            best = min(scaled(path) for path in wanted.values())
            within = {words for words, path in found.items() if scaled(path) < best + 8}
            assert within <= wanted.keys() <= found.keys()  # what else there is lies outside the lattice beam
            for words, path in wanted.items():
                assert found[words].graph_cost == pytest.approx(path.graph_cost, abs=2e-3)
                assert found[words].acoustic_cost == pytest.approx(path.acoustic_cost, abs=0.02)
                assert np.array_equal(found[words].tids, path.tids)
