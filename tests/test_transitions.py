"""Topologies and transition models against Kaldi's files."""

import gzip
import io

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.graph.topology import make_topology
from pymavg.kaldi.stream import KaldiReader, KaldiWriter
from pymavg.kaldi.topology import load_topology, read_topology, save_topology
from pymavg.kaldi.transitions import TransitionModel, read_transition_model, read_transitions, write_transitions
from pymavg.kaldi.tree import read_tree


def written(model, binary):
    stream = io.BytesIO()
    write_transitions(KaldiWriter(stream, binary), model)
    return stream.getvalue()


@pytest.mark.parametrize(("system", "tids", "pdfs"), [("mono", 636, 67), ("tri1", 1004, 104)])
def test_text_form_is_written_as_kaldi_does(golden, system, tids, pdfs):
    path = golden(f"gmm/{system}/trans_model.txt")
    model = read_transition_model(path)
    assert (model.num_tids, model.num_pdfs) == (tids, pdfs)
    assert written(model, binary=False) == path.read_bytes()
    again = read_transitions(KaldiReader(written(model, binary=True), "x"))
    assert np.array_equal(again.log_prob, model.log_prob) and np.array_equal(again.tuples, model.tuples)


@pytest.mark.parametrize("system", ["mono", "tri1", "tri2", "tri3"])
def test_binary_form_is_written_to_the_byte(golden, system):
    path = golden(f"gmm/{system}/final.mdl")
    assert path.read_bytes().startswith(written(read_transition_model(path), binary=True))


@pytest.mark.parametrize("system", ["mono", "tri1"])
def test_states_follow_from_tree_and_topology(golden, system):
    model = read_transition_model(golden(f"gmm/{system}/trans_model.txt"))
    tree = read_tree(golden(f"gmm/{system}/tree"))
    made = TransitionModel.from_tree(load_topology(golden("gmm/lang/topo")), tree)
    assert np.array_equal(made.tuples, model.tuples)
    assert made.log_prob[1] == pytest.approx(np.log(0.25))


def test_what_transition_ids_mean(golden):
    """Against `show-transitions`: phone, HMM state and pdf of each state; target of each id."""
    model = read_transition_model(golden("gmm/tri1/trans_model.txt"))
    tid = tstate = 0
    for line in golden("gmm/tri1/transitions.txt").read_text().splitlines():
        fields = line.split()
        if fields[0] == "Transition-state":
            tstate += 1
            state, pdf = int(fields[fields.index("hmm-state") + 2]), int(fields[fields.index("pdf") + 2])
        else:
            tid += 1
            assert (model.tid_tstate[tid], model.tid_hmm_state[tid], model.tid_pdf[tid]) == (tstate, state, pdf)
            assert np.exp(model.log_prob[tid]) == pytest.approx(float(fields[fields.index("p") + 2]), abs=1e-4)
            assert model.tid_is_self_loop[tid] == ("[self-loop]" in line)
            if "->" in line:
                assert model.tid_next_state[tid] == int(fields[-1].rstrip("]"))
    assert (tid, tstate) == (model.num_tids, len(model.tuples))


def test_derived_probabilities(golden):
    model = read_transition_model(golden("gmm/mono/trans_model.txt"))
    for tstate in (1, 5, 100, len(model.tuples)):
        tids = np.arange(model.first_tid[tstate], model.first_tid[tstate + 1])
        assert np.exp(model.log_prob[tids]).sum() == pytest.approx(1.0, abs=1e-5)
        leaving = np.exp(model.log_prob[tids[~model.tid_is_self_loop[tids]]]).sum()
        assert np.exp(model.non_self_loop_log_prob[tstate]) == pytest.approx(leaving, abs=1e-5)
        assert model.self_loop_tid[tstate] in tids
        assert model.tstate_of[tuple(model.tuples[tstate - 1].tolist())] == tstate


def test_update_equals_gmm_est(golden):
    model = read_transition_model(golden("gmm/mono/final.mdl"))
    counts = np.zeros(model.num_tids + 1)
    with gzip.open(golden("gmm/mono/ali_final.gz"), "rt") as stream:
        for line in stream:
            counts += np.bincount(np.array(line.split()[1:], int), minlength=len(counts))
    improvement = model.update(counts)
    expected = read_transition_model(golden("gmm/units/mono_est.mdl"))
    np.testing.assert_allclose(model.log_prob, expected.log_prob, atol=1e-6)
    assert improvement > 0


def test_update_floors_and_keeps_rare_states():
    model = TransitionModel(make_topology([1], [2]), [(1, 0, 0, 0), (1, 1, 1, 1), (1, 2, 2, 2)])
    before = model.log_prob.copy()
    model.update(np.array([0, 1000, 0, 2, 2, 0, 0], float))
    assert np.exp(model.log_prob[2]) == pytest.approx(0.01, abs=2e-4)
    assert np.array_equal(model.log_prob[3:], before[3:])


def test_phones_of_alignments(golden):
    model = read_transition_model(golden("gmm/mono/trans_model.txt"))
    rows = [line.split() for line in golden("gmm/units/align_mono.phones_first3.txt").read_text().splitlines()]
    alignments = dict(
        line.split(None, 1) for line in golden("gmm/units/align_mono.ali.txt").read_text().splitlines() if line
    )
    for utterance, *phones in rows:
        alignment = np.array(alignments[utterance].split(), int)
        split = model.split_to_phones(alignment)
        assert [str(p) for start, end, p in split for _ in range(start, end)] == phones
        assert (split[0][0], split[-1][1]) == (0, len(alignment))


def test_both_orders_of_self_loops():
    model = TransitionModel(make_topology([1], [2]), [(1, 0, 0, 0), (1, 1, 1, 1), (1, 2, 2, 2)])
    assert model.split_to_phones([2, 1, 1, 4, 6, 5, 2, 4, 6]) == [(0, 6, 1), (6, 9, 1)]
    assert model.split_to_phones([1, 1, 2, 4, 5, 6, 2, 4, 6]) == [(0, 6, 1), (6, 9, 1)]
    assert model.split_to_phones([]) == []
    with pytest.raises(PymavgError, match="stops inside a phone"):
        model.split_to_phones([2, 4])
    with pytest.raises(PymavgError, match="1 to 6"):
        model.split_to_phones([2, 7])


def test_standard_topology_is_prepare_langs(golden, tmp_path):
    save_topology(tmp_path / "topo", make_topology(range(11, 87), range(1, 11)))
    assert (tmp_path / "topo").read_text() == golden("gmm/lang/topo").read_text()


ENTRY = "<Topology> <TopologyEntry> <ForPhones> 1 </ForPhones> {} </TopologyEntry> </Topology>"


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("<State> 0 <PdfClass> 0 <Transition> 0 1.0 </State>", "last, a state without pdf class"),
        ("<State> 0 <PdfClass> 0 <Transition> 3 1.0 </State> <State> 1 </State>", r"transitions to \[3\]"),
        ("<State> 0 <PdfClass> 0 <Transition> 1 1.5 </State> <State> 1 </State>", "probability"),
        ("<State> 0 <Transition> 1 1.0 </State> <State> 1 </State>", "no pdf class"),
        ("<State> 0 <PdfClass> 0 <Transition> 2 1 </State> <State> 1 <PdfClass> 1 <Transition> 2 1 </State> "
         "<State> 2 </State>", "state 1 cannot be reached"),
        ("<State> 1 <PdfClass> 0 </State>", "state 0 expected, found 1"),
    ],
)  # fmt: skip
def test_faulty_topologies(states, message):
    with pytest.raises(PymavgError, match=message):
        read_topology(KaldiReader(ENTRY.format(states).encode(), "topo"))


def test_two_pdf_classes_are_read_and_written_but_not_trained(golden):
    states = "<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>"
    states += " <State> 1 </State>"
    topology = read_topology(KaldiReader(ENTRY.format(states).encode(), "topo"))
    model = TransitionModel(topology, [(1, 0, 4, 7)])
    assert model.tid_pdf.tolist() == [0, 7, 4]
    again = read_transitions(KaldiReader(written(model, binary=True), "x"))
    assert np.array_equal(again.tuples, model.tuples) and again.topology == topology
    with pytest.raises(PymavgError, match="cannot be trained"):
        TransitionModel.from_tree(topology, read_tree(golden("gmm/mono/tree")))


def test_damage_is_told(golden):
    data = written(read_transition_model(golden("gmm/mono/trans_model.txt")), binary=True)
    rng = np.random.default_rng(1)
    for trial in range(300):
        damaged = bytearray(data[: rng.integers(2, len(data))] if trial % 3 == 0 else data)
        damaged[rng.integers(2, len(damaged))] ^= 1 << rng.integers(8)
        try:
            model = read_transitions(KaldiReader(bytes(damaged), "x.mdl"))
        except PymavgError as error:
            assert "x.mdl" in str(error) or "topology" in str(error)
        else:
            assert model.num_tids == 636
