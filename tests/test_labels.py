import gzip

import numpy as np
import pytest
from toy_corpus import make

from pymavg.data.labels import check_outputs, match_lengths, pdf_counts, read_pdf_labels, write_counts
from pymavg.errors import PymavgError
from pymavg.kaldi.stream import open_reader
from pymavg.kaldi.tables import IntVectorWriter


def lengths(features, labels, **options):
    frames = {f"u{i}": n for i, n in enumerate(features)}
    labels = {f"u{i}": np.zeros(n, np.int32) for i, n in enumerate(labels) if n is not None}
    return match_lengths(frames, labels, "data/train", **options)


def test_small_differences_are_cut_large_ones_left_out_by_name(capsys):
    found = lengths([415, 415, 415] + [100] * 40, [412, 200, None] + [100] * 40)
    assert found["u0"] == 412 and "u1" not in found and "u2" not in found
    told = capsys.readouterr().err
    assert "u1 (200 labels for 415 frames)" in told
    assert "41 of 43 utterances aligned (4.7% without; first: u2)" in told


def test_too_many_missing_is_an_error_with_its_remedy():
    with pytest.raises(PymavgError, match=r"2 of 4 utterances aligned .*first: u2.*--max-missing 0.50"):
        lengths([90] * 4, [90, 90, None, None])
    assert len(lengths([90] * 4, [90, 90, None, None], max_missing=0.5)) == 2


@pytest.mark.parametrize(("factor", "number"), [(0.5, 150), (2.0, 600)])
def test_another_frame_shift_is_recognised(factor, number):
    with pytest.raises(PymavgError, match=rf"{factor} × the frames .*frame shift"):
        lengths([300] * 10, [number] * 10)


def test_labels_outside_of_network_or_model_are_named(tmp_path):
    with pytest.raises(PymavgError, match="utterance u1 has pdf 8912, but final.mdl has 8900 outputs"):
        check_outputs({"u0": np.array([1]), "u1": np.array([3, 8912])}, 8900, "exp/ali", "final.mdl")
    make(tmp_path)
    with IntVectorWriter(tmp_path / "ali" / "ali.2.gz") as writer:
        writer.write("late", np.array([1, 999], np.int32))
    with pytest.raises(PymavgError, match=r"ali.2.gz: utterance late has transition-id 999, .*has 1 to 12"):
        read_pdf_labels(tmp_path / "ali")


def test_no_alignment_is_an_error(tmp_path):
    with pytest.raises(PymavgError, match="no ali"):
        read_pdf_labels(tmp_path)


def test_pdf_labels_of_kaldi_alignments(golden, tmp_path):
    ali = tmp_path / "ali"
    ali.mkdir()
    (ali / "final.mdl").symlink_to(golden("gmm/tri1/final.mdl"))
    lines = golden("gmm/units/align_tri1.ali.txt").read_text()
    with gzip.open(ali / "ali.1.gz", "wt") as stream:
        stream.write(lines)
    labels, num_pdfs = read_pdf_labels(ali)
    assert num_pdfs == 104
    for line in golden("gmm/units/align_tri1.pdfs_first3.txt").read_text().splitlines():
        utterance, *pdfs = line.split()
        assert labels[utterance].tolist() == [int(p) for p in pdfs]


def test_counts_as_kaldi_writes_them(golden, tmp_path):
    lines = golden("nnet1/ali.txt").read_text().splitlines()
    labels = {line.split()[0]: np.array(line.split()[1:], np.int32) for line in lines}
    write_counts(tmp_path / "counts", pdf_counts(labels, 20))
    found = open_reader(tmp_path / "counts").vector()
    np.testing.assert_array_equal(found, open_reader(golden("nnet1/class.counts")).vector())


def test_a_pdf_never_seen_has_a_count(tmp_path):
    counts = pdf_counts({"u": np.array([0, 0, 1], np.int32)}, 4)
    assert counts.tolist() == [2.5, 1.5, 0.5, 0.5]
    write_counts(tmp_path / "counts", counts * 1e7)
    np.testing.assert_allclose(open_reader(tmp_path / "counts").vector(), counts * 1e7)


def test_the_remedy_for_missing_alignments_works():
    labels = [90] * 2 + [None]
    with pytest.raises(PymavgError, match=r"--max-missing 0.34"):
        lengths([90] * 3, labels)
    assert len(lengths([90] * 3, labels, max_missing=0.34)) == 2
    with pytest.raises(PymavgError, match=r"data/train: none of its 2 .*first: u0; first aligned: none"):
        lengths([90] * 2, [None] * 2, max_missing=1.0)


def test_an_utterance_in_two_files_is_refused(tmp_path):
    make(tmp_path)
    with IntVectorWriter(tmp_path / "ali" / "ali.2.gz") as writer:  # as an earlier run with more jobs leaves it
        writer.write("train-001", np.array([1, 2], np.int32))
    with pytest.raises(PymavgError, match=r"ali.2.gz: utterance train-001 is in ali.1.gz, too; remove"):
        read_pdf_labels(tmp_path / "ali")
