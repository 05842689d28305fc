import gzip
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.formats import copier as grammar
from pymavg.formats.archives import entries
from pymavg.kaldi import inputs
from pymavg.kaldi.tables import (
    IntVectorWriter,
    MatrixScp,
    MatrixWriter,
    VectorWriter,
    read_int_vectors,
    read_matrices,
    read_token_map,
    read_vectors,
)


@pytest.fixture
def matrices():
    random = np.random.default_rng(0)
    return {f"utt{i}": random.normal(size=(20 + i, 3)).astype(np.float32) for i in range(5)}


@pytest.fixture
def table(tmp_path, matrices, monkeypatch):
    """Write feats.ark and feats.scp into a directory that becomes the current one."""
    monkeypatch.chdir(tmp_path)
    write("feats.ark", matrices, scp="feats.scp")
    return tmp_path


def write(path, matrices, **options):
    with MatrixWriter(path, **options) as writer:
        for key, matrix in matrices.items():
            writer.write(key, matrix)


def assert_same(found, wanted, tolerance=0.0):
    found = dict(found)
    assert list(found) == list(wanted)
    for key in wanted:
        assert found[key].dtype == np.float32
        np.testing.assert_allclose(found[key], wanted[key], rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "specifier",
    [
        "ark:feats.ark",
        "feats.ark",
        "scp:feats.scp",
        "feats.scp",
        "scp:grep utt feats.scp |",
        "ark:cat feats.ark |",
        "ark:cat feats.ark|",
        "ark,s,cs:feats.ark",
        "scp,s:feats.scp",
        "ark:gunzip -c feats.ark.gz |",
        "ark:feats.ark.gz",
    ],
)
def test_ways_to_name_a_table(table, matrices, specifier):
    (table / "feats.ark.gz").write_bytes(gzip.compress((table / "feats.ark").read_bytes()))
    assert_same(read_matrices(specifier), matrices)


@pytest.mark.parametrize(
    ("options", "tolerance"), [({}, 0), ({"double": True}, 0), ({"binary": False}, 1e-6), ({"compress": True}, 0.03)]
)
def test_encodings(table, matrices, options, tolerance):
    write("x.ark", matrices, scp="x.scp", **options)
    assert_same(read_matrices("ark:x.ark"), matrices, tolerance)
    assert_same(MatrixScp("x.scp").items(), matrices, tolerance)


def test_short_matrices_are_compressed_to_16_bits(table):
    matrices = {"a": np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3), "b": np.full((2, 2), 5, np.float32)}
    write("x.ark", matrices, compress=True)
    assert b"\0BCM2 " in (table / "x.ark").read_bytes()
    assert_same(read_matrices("x.ark"), matrices, 5e-5)


@pytest.mark.parametrize(
    ("method", "kind", "step", "whole"),  # step: of the values in [0, 1]; whole: what the range is made for
    [
        (1, b"CM2", 1 / 65535, None),
        (2, b"CM", 1 / 63, None),
        (3, b"CM2", 1 / 65535, None),
        (4, b"CM2", 1, [[-32768, -1, 0, 1, 32767]]),
        (5, b"CM3", 1 / 255, None),
        (6, b"CM3", 1, [[0, 1, 77, 255]]),
        (7, b"CM3", 1 / 255, [[0, 0.2, 1]]),
    ],
)
def test_compression_methods(table, method, kind, step, whole):
    for rows in (1, 2, 3, 4, 5, 8):
        matrix = np.random.default_rng(rows).uniform(size=(rows, 9)).astype(np.float32)
        write("x.ark", {"a": matrix}, compress=method)
        assert (table / "x.ark").read_bytes().startswith(b"a \0B" + kind + b" ")
        assert_same(read_matrices("x.ark"), {"a": matrix}, 0.51 * step)
    if whole:
        write("x.ark", {"a": np.array(whole, np.float32)}, compress=method)
        assert_same(read_matrices("x.ark"), {"a": np.array(whole, np.float32)}, 1e-7)


def test_eight_bits_in_rows(table):
    header = np.array([-1, 510], "<f4").tobytes() + np.array([2, 3], "<i4").tobytes()
    (table / "x.ark").write_bytes(b"a \0BCM3 " + header + bytes([0, 1, 2, 3, 4, 255]))
    assert_same(read_matrices("x.ark"), {"a": np.array([[-1, 1, 3], [5, 7, 509]])})


def test_standard_input(table):
    command = (
        "from pymavg.kaldi.tables import read_matrices; print([(k, m.shape) for k, m in read_matrices('ark:-')][1])"
    )
    with open("feats.ark") as stream:
        done = subprocess.run([sys.executable, "-c", command], stdin=stream, capture_output=True, text=True, check=True)
    assert done.stdout == "('utt1', (21, 3))\n"


def test_ranges(table, matrices):
    lines = (table / "feats.scp").read_text().splitlines()
    (table / "part.scp").write_text(f"{lines[0]}[0:9]\n{lines[1]}[2:3,1:2]\n{lines[2]}[,0:0]\n")
    wanted = {"utt0": matrices["utt0"][:10], "utt1": matrices["utt1"][2:4, 1:3], "utt2": matrices["utt2"][:, :1]}
    assert_same(read_matrices("part.scp"), wanted)
    for bad in ("[0:99]", "[5:2]", "[1:2,0:3]", "[a]", "[1:2,0:1,0:1]"):
        (table / "bad.scp").write_text(f"{lines[0]}{bad}\n")
        with pytest.raises(PymavgError, match=r"range") as error:
            list(read_matrices("bad.scp"))
        assert "bad.scp" in str(error.value)


def test_scp_of_another_system(table, matrices):
    text = (table / "feats.scp").read_text()
    (table / "crlf.scp").write_bytes(text.replace(" ", "\t", 1).replace("\n", "\r\n").encode())
    assert_same(read_matrices("crlf.scp"), matrices)
    (table / "pipe.scp").write_text("utt0 head -c 999999 feats.ark | tail -c +6 |\n")
    assert_same(read_matrices("pipe.scp"), {"utt0": matrices["utt0"]})


def test_relative_paths_start_from_the_current_directory_or_a_root(table, matrices, monkeypatch):
    monkeypatch.chdir("/")
    with pytest.raises(PymavgError, match=r"feats.scp:1: utt0: feats.ark: no such file"):
        list(read_matrices(f"scp:{table}/feats.scp"))
    assert_same(read_matrices(f"scp:{table}/feats.scp", root=table), matrices)


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_few_files_are_open(table, matrices):
    with open("many.scp", "w") as stream:
        for i in range(60):
            write(f"{i}.ark", {f"u{i:02}": matrices["utt0"]})
            stream.write(f"u{i:02} {i}.ark:4\n")
    before = open_files()
    scp = MatrixScp("many.scp")
    for _ in range(2):
        assert all(len(matrix) == 20 for matrix in scp.values())
    assert open_files() <= before + inputs.OPEN_FILES
    scp.close()
    assert open_files() == before


def test_a_cut_archive(table):
    data = (table / "feats.ark").read_bytes()
    (table / "feats.ark").write_bytes(data[:-40])
    message = r"feats.ark( \|')?:\d+ utterance utt4: 24x3 floats expected, 62 of 72 present"
    for specifier in ("feats.ark", "ark:cat feats.ark |", "feats.scp"):
        with pytest.raises(PymavgError, match=message):
            list(read_matrices(specifier))
    (table / "feats.ark.gz").write_bytes(gzip.compress(data)[:-40])
    with pytest.raises(PymavgError, match="feats.ark.gz"):
        list(read_matrices("feats.ark.gz"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("utt1 feats.ark:6", r"bad.scp:1: utt1: feats.ark:\d+ utterance utt1: "),
        ("utt1 feats.ark:99999", "bytes, the scp file says offset 99999"),
        ("utt1 gone.ark:5", "gone.ark: no such file"),
        ("utt1 .:5", "cannot be read"),
        ("utt1", r"bad.scp:1: '<key> <file>' expected, found 'utt1'"),
        ("utt1 cat nothing |", "failed with status 1.*nothing"),
        ("utt1 -", "standard input"),
    ],
)
def test_a_bad_scp_line(table, line, message):
    (table / "bad.scp").write_text(line + "\n")
    with pytest.raises(PymavgError, match=message):
        list(read_matrices("bad.scp"))


def test_empty_or_missing_tables(table):
    (table / "empty").touch()
    for specifier in ("ark:empty", "scp:empty", "ark:gone", "scp:gone", "ark:true |", "scp:true |"):
        with pytest.raises(PymavgError, match="empty|no such file"):
            list(read_matrices(specifier))
    (table / "twice.scp").write_text("a feats.ark:5\na feats.ark:5\n")
    with pytest.raises(PymavgError, match=r"twice.scp:2: key 'a' was on line 1"):
        list(read_matrices("twice.scp"))
    for bad in ("ark,p:feats.ark", "scp,zz:feats.scp", "ark:"):
        with pytest.raises(PymavgError, match=bad):
            list(read_matrices(bad))


def test_a_pipe_that_fails_after_good_output(table):
    seen = []
    with pytest.raises(PymavgError, match=r"'cat feats.ark; echo disk broken >&2; exit 3' .* status 3: disk broken"):
        for key, _ in read_matrices("ark:cat feats.ark; echo disk broken >&2; exit 3 |"):
            seen.append(key)
    assert len(seen) == 5
    with pytest.raises(PymavgError, match="status 127"):
        list(read_matrices("ark:no-such-program |"))


def test_a_reader_may_stop_early(table):
    assert next(read_matrices("ark:cat feats.ark; sleep 60 |"))[0] == "utt0"
    (table / "pipe.scp").write_text("utt0 tail -c +6 feats.ark; head -c 9999999 /dev/zero |\n")  # more than is wanted
    assert len(dict(read_matrices("pipe.scp"))["utt0"]) == 20


def test_a_writer_leaves_nothing_half_written(tmp_path, matrices):
    ark, scp = tmp_path / "a.ark", tmp_path / "a.scp"
    with pytest.raises(RuntimeError), MatrixWriter(ark, scp) as writer:
        writer.write("utt0", matrices["utt0"])
        raise RuntimeError("stopped")
    with pytest.raises(PymavgError, match="nothing to write"), MatrixWriter(ark, scp):
        pass
    with pytest.raises(PymavgError, match="written twice"), MatrixWriter(ark, scp) as writer:
        writer.write("a", matrices["utt0"])
        writer.write("a", matrices["utt0"])
    with pytest.raises(PymavgError, match="without spaces"), MatrixWriter(ark) as writer:
        writer.write("a b", matrices["utt0"])
    with pytest.raises(PymavgError, match="not finite"), MatrixWriter(ark, compress=True) as writer:
        writer.write("a", np.full((9, 2), np.nan))
    with pytest.raises(PymavgError, match="compressed archive"):
        MatrixWriter(tmp_path / "a.ark.gz", scp)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(tmp_path, matrices, monkeypatch):
    (tmp_path / f".a.ark.{os.getpid()}.tmp").symlink_to("/dev/full")
    with pytest.raises(PymavgError, match="cannot be written.*space"), MatrixWriter(tmp_path / "a.ark") as writer:
        writer.write("utt0", matrices["utt0"])
    assert not (tmp_path / "a.ark").exists()


def test_vectors(tmp_path):
    numbers = {"a": np.array([1, -2, 3], np.int32), "b": np.zeros(0, np.int32), "c": np.arange(1000, dtype=np.int32)}
    for name, binary in (("x.ark", True), ("x.gz", True), ("t.ark", False), ("t.gz", False)):
        with IntVectorWriter(tmp_path / name, binary=binary) as writer:
            for key, values in numbers.items():
                writer.write(key, values)
        found = dict(read_int_vectors(f"ark:{tmp_path / name}"))
        assert list(found) == list(numbers)
        for key in numbers:
            np.testing.assert_array_equal(found[key], numbers[key])
    (tmp_path / "empty.ark").write_text("a\nb 1 2\r\nc \n")
    assert {k: v.tolist() for k, v in read_int_vectors(tmp_path / "empty.ark")} == {"a": [], "b": [1, 2], "c": []}
    with VectorWriter(tmp_path / "v.ark", tmp_path / "v.scp") as writer:
        writer.write("a", np.array([0.5, 2]))
    assert dict(read_vectors(tmp_path / "v.scp"))["a"].tolist() == [0.5, 2]
    with pytest.raises(PymavgError, match="whole numbers"), IntVectorWriter(tmp_path / "y") as writer:
        writer.write("a", np.array([0.5]))


def test_token_map(tmp_path):
    path = tmp_path / "text"
    path.write_text("a one  two\nb\n")
    assert read_token_map(path) == {"a": "one  two", "b": ""}
    path.write_text("a one\n\n")
    with pytest.raises(PymavgError, match="text:2: "):
        read_token_map(path)
    path.write_text("a one\na two\n")
    with pytest.raises(PymavgError, match="text:2: key 'a' comes twice"):
        read_token_map(path)


def test_compression_is_kaldis(golden, tmp_path):
    original = dict(read_matrices(golden("feats/mfcc.ark")))
    for method, suffix in ((1, ""), (3, "_m3")):
        write(tmp_path / "x.ark", original, compress=method)
        assert (tmp_path / "x.ark").read_bytes() == golden(f"feats/mfcc_compressed{suffix}.ark").read_bytes()
    write(tmp_path / "y.ark", original)
    assert (tmp_path / "y.ark").read_bytes() == golden("feats/mfcc.ark").read_bytes()


def test_matrices_as_text_are_kaldis(golden, tmp_path):
    ((key, matrix),) = read_matrices(golden("feats/mfcc_first.txt"))
    np.testing.assert_allclose(matrix, dict(read_matrices(golden("feats/mfcc.ark")))[key], rtol=5e-6)  # 7 digits
    write(tmp_path / "x.txt", {key: matrix}, binary=False)
    shape = [line.split() for line in golden("feats/mfcc_first.txt").read_text().splitlines()]
    written = [line.split() for line in (tmp_path / "x.txt").read_text().splitlines()]
    assert [len(words) for words in written] == [len(words) for words in shape]
    assert written[0] == shape[0] == [key, "["] and written[-1][-1] == shape[-1][-1] == "]"
    assert_same(read_matrices(tmp_path / "x.txt"), {key: matrix})


@pytest.mark.parametrize(("suffix", "tolerance"), [("", 1e-6), ("_m3", 1e-6)])
def test_decompression_is_kaldis(golden, suffix, tolerance):
    wanted = dict(read_matrices(golden(f"feats/mfcc_decompressed{suffix}.ark")))
    for key, matrix in read_matrices(golden(f"feats/mfcc_compressed{suffix}.ark")):
        np.testing.assert_allclose(matrix, wanted[key], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "read", "reference"),
    [
        ("feats.ark", read_matrices, "read_mat_ark"),
        ("feats_ascii.ark", read_matrices, "read_mat_ark"),
        ("ali.ark", read_int_vectors, "read_ali_ark"),
        ("ali_ascii.ark", read_int_vectors, "read_ali_ark"),
        ("conf.ark", read_vectors, "read_vec_flt_ark"),
        ("conf_ascii.ark", read_vectors, "read_vec_flt_ark"),
    ],
)
def test_archives_that_kaldi_io_reads_too(shared, monkeypatch, name, read, reference):
    path = shared(f"data/interop/kaldi_io_tests/tests/data/{name}")
    monkeypatch.setenv("KALDI_ROOT", "/")
    monkeypatch.setenv("PATH", os.environ["PATH"])  # importing kaldi_io changes it
    kaldi_io = pytest.importorskip("kaldi_io")
    wanted = dict(getattr(kaldi_io, reference)(str(path)))
    found = dict(read(path))
    assert list(found) == list(wanted)
    for key in wanted:
        np.testing.assert_allclose(found[key], wanted[key], rtol=1e-6)


def test_confusion_networks_and_scores_that_kaldi_io_reads_too(shared, monkeypatch):
    folder = shared("data/interop/kaldi_io_tests/tests/data")
    monkeypatch.setenv("KALDI_ROOT", "/")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    kaldi_io = pytest.importorskip("kaldi_io")
    for name, rule, read in (
        ("1.cnet", grammar.posteriors, kaldi_io.read_cnet_ark),
        ("1.cntime", grammar.number_pairs, kaldi_io.read_cntime_ark),
    ):
        wanted, found = dict(read(str(folder / name))), dict(entries(f"ark:{folder / name}", rule))
        assert list(found) == list(wanted) and len(found) > 10
        for key in wanted:
            assert [len(part) for part in found[key]] == [len(part) for part in wanted[key]]
            for ours, theirs in zip(found[key], wanted[key], strict=True):
                np.testing.assert_array_equal(np.array(ours, float), np.array(theirs, float))
    whole = dict(read_vectors(folder / "conf.ark"))
    monkeypatch.chdir(folder.parents[1])
    by_index = dict(read_vectors("scp:tests/data/conf.scp"))
    assert list(by_index) == list(whole)
    for key in whole:
        np.testing.assert_array_equal(by_index[key], whole[key])


def test_compressed_archive_of_kaldi_io(shared):
    folder = shared("data/interop/kaldi_io_tests/tests/data")
    wanted = dict(read_matrices(folder / "feats.ark"))
    for key, matrix in read_matrices(folder / "feats_compressed.ark"):
        assert matrix.shape == wanted[key].shape
        assert np.abs(matrix - wanted[key]).max() < 1


def test_a_real_experiment(shared):
    root = shared("data/interop/kaldi_punjabi")
    lengths = read_token_map(root / "data/train/utt2num_frames")
    found = {key: len(matrix) for key, matrix in read_matrices(root / "data/train/feats.scp", root=root)}
    assert found == {key: int(text) for key, text in lengths.items()}


def test_threads_may_read_one_scp_together(tmp_path):
    with MatrixWriter(tmp_path / "f.ark", tmp_path / "f.scp") as writer:
        for i in range(40):
            writer.write(f"utt{i}", np.full((200, 20), i, np.float32))
    scp = MatrixScp(tmp_path / "f.scp")
    keys = [f"utt{i}" for i in range(40)] * 20
    with ThreadPoolExecutor(4) as pool:
        for key, matrix in zip(keys, pool.map(scp.__getitem__, keys), strict=True):
            assert (matrix == int(key[3:])).all()
