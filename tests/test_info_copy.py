"""`pymavg info`, `copy` and `show-alignments` on files that Kaldi wrote."""

import gzip

import numpy as np
import pytest

from pymavg.cli import main
from pymavg.errors import PymavgError
from pymavg.formats.kinds import copy, describe
from pymavg.formats.recognise import recognise
from pymavg.kaldi.tables import MatrixScp, MatrixWriter, read_int_vectors, read_matrices, read_vectors

FREE = ("FST", "FSTs", "lattices")  # headers and the order of states are left to the writer
WITHOUT_FORM = ("text", "audio", "ARPA")


def files(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


def plain(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def as_text(path, tmp_path):
    copy(str(path), tmp_path / "text", binary=False)
    return (tmp_path / "text").read_bytes()


@pytest.mark.parametrize("folder", ["gmm", "graph"])
def test_every_golden_file_is_read_shown_and_rewritten_equal(shared, tmp_path, folder):
    found = files(shared(f"golden/{folder}"))
    assert len(found) > 100
    for path in found:
        kind, head, compressed = recognise(path)
        title, *_ = describe(path)
        assert title.startswith(f"{path}: ")
        if kind in WITHOUT_FORM:
            continue
        out = tmp_path / ("out.gz" if compressed else "out")
        copy(str(path), out, binary=b"\0" in head)
        if plain(out) != plain(path):
            assert kind in FREE or b" \0BCM " in head, f"{path}: the copy differs"
            assert as_text(out, tmp_path) == as_text(path, tmp_path)


@pytest.mark.parametrize(
    ("binary", "text"),
    [
        ("nnet1/nnet_coef.init", "nnet1/nnet_coef.init.txt"),
        ("nnet1/rbm_gauss.init", "nnet1/rbm_gauss.init.txt"),
        ("gmm/tri2/final.mat", "gmm/tri2/final.mat.txt"),
        ("gmm/units/tree", "gmm/units/tree.txt"),
        ("gmm/units/init.mdl", "gmm/units/init.txt"),
        ("gmm/mono/final.mdl", "gmm/mono/final.txt"),
        ("graph/fst/L.fst", "graph/fst/L.txt"),
        ("graph/fst/LG.fst", "graph/fst/LG.txt"),
        ("graph/fst/HCLG_tri1.fst", "graph/fst/HCLG_tri1.txt.gz"),
    ],
)
def test_text_is_kaldis_to_the_byte(golden, tmp_path, binary, text):
    assert as_text(golden(binary), tmp_path) == plain(golden(text))


@pytest.mark.parametrize(
    "name",
    [
        "gmm/tri3/final.mdl",
        "gmm/tri3/tree",
        "gmm/units/questions.qst",
        "gmm/units/treeacc",
        "gmm/units/mllt.acc",
        "gmm/units/init.acc",
        "graph/fst/ilabels_3_1",
    ],
)
def test_text_says_all_that_is_needed_to_write_binary_again(golden, tmp_path, name):
    copy(str(golden(name)), tmp_path / "text", binary=False)
    kind = recognise(golden(name))[0]
    if kind in ("ilabels", "vector"):  # text of these has no mark of its own
        return
    assert recognise(tmp_path / "text")[0] == kind
    copy(str(tmp_path / "text"), tmp_path / "binary")
    copy(str(tmp_path / "binary"), tmp_path / "again", binary=False)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "text").read_bytes()


def test_real_archives_in_many_encodings(shared):
    folder = shared("data/interop/kaldi_io_tests/tests/data")
    archives = [path for path in files(folder) if path.suffix != ".scp"]
    titles = {path.name: describe(path)[0].partition(": ")[2] for path in archives}
    assert titles["feats.ark"] == "archive of 10 matrices (binary)"
    assert titles["feats_compressed.ark"] == "archive of 10 matrices (binary)"
    assert titles["feats_ascii.ark"].endswith("matrices (text)")
    assert titles["ali.ark"].endswith("integer vectors, as alignments are (binary)")
    assert titles["ali_ascii.ark"].endswith("integer vectors, as alignments are (text)")
    assert titles["conf.ark"] == "archive of 10 vectors (binary)"
    assert titles["conf_ascii.ark"] == "archive of 10 vectors (text)"
    assert titles["1.cnet"] == "archive of 20 posteriors (binary)"
    assert titles["1.cntime"].startswith("archive of 368 vectors of number pairs")


def test_binary_text_and_compressed_archives_say_the_same(shared):
    folder = shared("data/interop/kaldi_io_tests/tests/data")
    feats = dict(read_matrices(folder / "feats.ark"))
    for name, tolerance in (("feats_ascii.ark", 1e-4), ("feats_compressed.ark", 0.5)):
        for key, matrix in read_matrices(folder / name):
            np.testing.assert_allclose(matrix, feats[key], rtol=0, atol=tolerance)
    for name, read in (("ali", read_int_vectors), ("conf", read_vectors)):
        text = dict(read(folder / f"{name}_ascii.ark"))
        for key, values in read(folder / f"{name}.ark"):
            np.testing.assert_allclose(values, text[key], rtol=1e-5)


def test_ranges_of_a_real_script_file(shared, tmp_path):
    folder = shared("data/interop/kaldi_io_tests")
    lines = (folder / "tests/data/feats_ascii.scp").read_text().splitlines()
    (tmp_path / "x.scp").write_text("".join(f"{n}{line}\n" for n, line in enumerate(lines)))  # three keys are equal
    table = MatrixScp(tmp_path / "x.scp", root=str(folder))
    first, again, whole, rows, *python_ranges = table
    assert table[first].shape == (285, 13) and table[again].shape == (199, 13)
    np.testing.assert_array_equal(table[whole], table[again])
    np.testing.assert_array_equal(table[rows], table[again][:6])
    for key in python_ranges:  # to column 13 of 13: in Kaldi's ranges both ends count
        with pytest.raises(PymavgError, match="is out of range, the whole is"):
            table[key]


def test_a_real_experiment(shared):
    exp = shared("data/interop/kaldi_punjabi")
    wanted = {
        "exp/tri4_ali/final.mdl": "acoustic model",
        "exp/tri4_ali/tree": "phonetic decision tree",
        "exp/tri4_ali/final.mat": "matrix 40 x 117",
        "exp/tri4_ali/trans.1": "archive of 1 matrices",
        "exp/tri4_ali/ali.1.gz": "archive of 80 integer vectors",
        "exp/tri4_ali/fsts.1.gz": "archive of",
        "exp/tri4/decode/lat.1.gz": "archive of 80 lattices",
        "exp/tri4/graph/HCLG.fst": "FST",
        "data/train/utt2spk": "utt2spk of 320 lines",
        "data/train/feats.scp": "script file (scp) of 320 entries",
        "data/lang_bigram/words.txt": "symbol table",
    }
    for name, title in wanted.items():
        assert title in describe(exp / name)[0]
    assert "  4 speakers" in describe(exp / "data/train/utt2spk")


def test_values_that_are_not_finite_are_told(tmp_path):
    with MatrixWriter(tmp_path / "x.ark") as writer:
        writer.write("good", np.ones((3, 2), np.float32))
        writer.write("bad", np.array([[1, np.nan], [np.inf, 2]], np.float32))
    assert "  finite: NO, 2 of 10 values are not, first in bad" in describe(tmp_path / "x.ark")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\0B<Nnet3> ", "an nnet3 network"),
        (b"\0Bjunk ", "begins with 'junk'"),
        (b"\1\2\0\3", "binary data without a header"),
        (b"utt1 \0BFM \4\2\0\0\0\4\2\0\0\0abc", "2x2 floats expected"),
        (b"\xd6\xfd\xb2\x7e\6\0\0\0vector", "expected"),
        (b"\x1f\x8bjunk", "cannot be read"),
    ],
)
def test_damage_is_one_line_and_status_1(tmp_path, capsys, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert main(["info", str(path)]) == 1
    told = capsys.readouterr().err
    assert message in told and str(path) in told and len(told.splitlines()) == 1


def test_a_model_of_nnet2_is_told(shared):
    with pytest.raises(PymavgError, match=r"nnet_tanh.0.mdl:\d+: a model of nnet2, which pymavg does not read"):
        describe(shared("golden/ng_sgd/nnet2/nnet_tanh.0.mdl"))


def test_info_goes_on_after_a_bad_file(tmp_path, capsys):
    (tmp_path / "words.txt").write_text("<eps> 0\na 1\n")
    assert main(["info", str(tmp_path / "none"), str(tmp_path / "words.txt"), str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "symbol table" in told.out
    assert "no such file" in told.err and "is a directory" in told.err


def test_copy_makes_an_index_and_compresses(tmp_path, golden, capsys):
    source = golden("feats/mfcc.ark")
    assert main(["copy", "--scp", str(tmp_path / "x.scp"), "--compress", "true", str(source), str(tmp_path / "x")]) == 0
    wanted = dict(read_matrices(source))
    found = dict(read_matrices(f"scp:{tmp_path}/x.scp"))
    assert found.keys() == wanted.keys()
    assert max(np.abs(found[key] - wanted[key]).max() for key in wanted) < 1.5
    assert main(["copy", f"scp:{tmp_path}/x.scp", str(tmp_path / "y.ark")]) == 0
    assert list(dict(read_matrices(tmp_path / "y.ark"))) == list(wanted)
    assert "matrices, 6 entries" in capsys.readouterr().err
    sixteen = ["copy", "--compress", "true", "--compression-method"]
    assert main([*sixteen, "3", str(source), str(tmp_path / "z.ark")]) == 0
    assert (tmp_path / "z.ark").read_bytes() == golden("feats/mfcc_compressed_m3.ark").read_bytes()
    assert main([*sixteen, "8", str(source), str(tmp_path / "z.ark")]) == 1
    assert "--compression-method: invalid choice: 8" in capsys.readouterr().err


def test_copy_takes_kaldis_forms_of_an_output(tmp_path, golden, capsys):
    source = str(golden("feats/mfcc.ark"))
    assert main(["copy", source, f"ark,scp:{tmp_path}/x.ark,{tmp_path}/x.scp"]) == 0
    assert main(["copy", f"scp:{tmp_path}/x.scp", f"ark,t:{tmp_path}/x.txt"]) == 0
    assert main(["copy", f"scp:{tmp_path}/x.scp", f"ark:{tmp_path}/y.ark"]) == 0
    assert b"\0" not in (tmp_path / "x.txt").read_bytes()
    assert (tmp_path / "y.ark").read_bytes() == (tmp_path / "x.ark").read_bytes()
    for wrong in ("scp:x", "ark,scp:x", "ark:", "ark:-", "ark,x:y", "ark:x,y"):
        assert main(["copy", source, wrong]) == 1, wrong
        assert "expected a file, or ark:FILE" in capsys.readouterr().err


def test_copy_refuses_what_has_no_other_form(tmp_path):
    (tmp_path / "utt2spk").write_text("a-1 a\n")
    with pytest.raises(PymavgError, match="copy it with cp"):
        copy(str(tmp_path / "utt2spk"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_alignments_as_phones(shared, capsys):
    gmm = shared("golden/gmm")
    arguments = [str(gmm / "lang/phones.txt"), str(gmm / "tri1/final.mdl"), str(gmm / "units/align_tri1.ali.txt")]
    assert main(["show-alignments", "--form", "phones", *arguments]) == 0
    shown = dict(line.split(" ", 1) for line in capsys.readouterr().out.splitlines())
    names = dict(line.split()[::-1] for line in (gmm / "lang/phones.txt").read_text().splitlines())
    for line in (gmm / "units/align_tri1.phones_first3.txt").read_text().splitlines():
        utterance, *phones = line.split()
        spans = [part.split() for part in shown[utterance].split(" ; ")]
        assert [name for name, frames in spans for _ in range(int(frames))] == [names[p] for p in phones]


def test_the_forms_of_shown_alignments(shared, capsys):
    gmm = shared("golden/gmm")
    arguments = [str(gmm / "lang/phones.txt"), str(gmm / "tri1/final.mdl"), str(gmm / "units/align_tri1.ali.txt")]
    assert main(["show-alignments", "--form", "ctm", *arguments]) == 0
    first = capsys.readouterr().out.splitlines()[0].split()
    assert first[:3] == ["george-test-000", "1", "0.000"] and first[4] == "SIL"
    assert main(["show-alignments", *arguments]) == 0
    above, below, blank, *_ = capsys.readouterr().out.split("\n")
    assert above.startswith("george-test-000  [ 4 1 1 ") and below.split()[1] == "SIL" and blank == ""


def test_alignments_of_another_model_are_refused(shared, capsys):
    gmm = shared("golden/gmm")
    status = main(
        ["show-alignments", *(str(gmm / f) for f in ("lang/phones.txt", "mono/final.mdl", "units/align_tri2.ali.txt"))]
    )
    assert status == 1
    assert "mono/final.mdl has 1 to 636" in capsys.readouterr().err
