"""FST files: every form read, written as Kaldi reads it, and damage told instead of a crash."""

import gzip
import struct
import subprocess
import sys

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.kaldi.fst import Fst, FstWriter, from_kaldifst, read_fst, read_fsts, to_kaldifst, write_fst
from pymavg.kaldi.openfst import IS_ALIGNED, SYMBOL_MAGIC, parse, serialise

NAMES = ["L", "L_disambig", "G", "LG", "CLG_3_1", "Ha_tri1", "HCLGa_mono", "HCLG_mono", "HCLG_tri1"]
FIELDS = ("start", "final", "offset", "ilabel", "olabel", "weight", "target")


def same(a, b):
    return all(np.array_equal(getattr(a, field), getattr(b, field)) for field in FIELDS)


def small():
    final = [np.inf, 0.5, np.inf]
    return Fst.from_arcs(0, final, [2, 0, 0], [1, 2, 3], [4, 5, 6], [0.25, 1.0, 2.0], [1, 1, 2])


def const_bytes(fst, aligned):
    """The const form, put together here from OpenFst's description."""
    header = struct.pack("<i", 2125659606) + struct.pack("<i5si8s", 5, b"const", 8, b"standard")
    flags = IS_ALIGNED if aligned else 0
    header += struct.pack("<iiQqqq", 2, flags, 0, fst.start, fst.num_states, fst.num_arcs)
    pad = (lambda data: data + bytes(-len(data) % 16)) if aligned else (lambda data: data)
    data = pad(header)
    for s in range(fst.num_states):
        count = int(fst.offset[s + 1] - fst.offset[s])
        data += struct.pack("<fIIII", fst.final[s], int(fst.offset[s]), count, 0, 0)
    data = pad(data)
    for arc in zip(fst.ilabel, fst.olabel, fst.weight, fst.target, strict=True):
        data += struct.pack("<iifi", *(x.item() for x in arc))
    return data


def test_arcs_are_grouped_by_state_in_their_order():
    fst = small()
    assert fst.offset.tolist() == [0, 2, 2, 3]
    assert fst.ilabel.tolist() == [2, 3, 1] and fst.source.tolist() == [0, 0, 2]
    assert fst.arcsorted("olabel").olabel.tolist() == [5, 6, 4]


@pytest.mark.parametrize("name", NAMES)
def test_kaldi_files_survive_reading_and_writing(golden, tmp_path, name):
    fst = read_fst(golden(f"graph/fst/{name}.fst"))
    write_fst(tmp_path / "x.fst", fst)
    assert same(read_fst(tmp_path / "x.fst"), fst)
    assert same(from_kaldifst(to_kaldifst(fst)), fst)


def test_numbers_are_those_of_the_printed_form(golden):
    fst = read_fst(golden("graph/fst/HCLG_tri1.fst"))
    with gzip.open(golden("graph/fst/HCLG_tri1.txt.gz"), "rt") as stream:
        rows = [line.split("\t") for line in stream.read().splitlines()]
    arcs = np.array([[float(x) for x in row] + [0.0] * (5 - len(row)) for row in rows if len(row) > 2])
    mine = np.stack([fst.source, fst.target, fst.ilabel, fst.olabel, fst.weight], axis=1)
    order, expected = (np.lexsort(a[:, :4].T) for a in (mine, arcs))
    np.testing.assert_allclose(mine[order], arcs[expected], atol=1e-5)
    assert np.isfinite(fst.final).sum() == sum(len(row) <= 2 for row in rows) == 18


@pytest.mark.parametrize("aligned", [False, True])
def test_const_form(tmp_path, aligned):
    (tmp_path / "c.fst").write_bytes(const_bytes(small(), aligned))
    assert same(read_fst(tmp_path / "c.fst"), small())


def test_symbol_tables_are_skipped():
    data = bytearray(serialise(small()))
    flags_at = 4 + 4 + 6 + 4 + 8 + 4
    data[flags_at] = 1
    table = struct.pack("<ii3sqq", SYMBOL_MAGIC, 3, b"sym", 2, 1) + struct.pack("<i1sq", 1, b"a", 1)
    header = flags_at + 4 + 8 + 24
    fields, end = parse(bytes(data[:header]) + table + bytes(data[header:]))
    assert same(Fst(**fields), small()) and end == len(data) + len(table)


def test_archive(tmp_path):
    with FstWriter(tmp_path / "fsts.gz") as writer:
        writer.write("utt-a", small())
        writer.write("utt-b", small().arcsorted("olabel"))
    for name in (f"ark:{tmp_path}/fsts.gz", tmp_path / "fsts.gz", f"ark:gunzip -c {tmp_path}/fsts.gz |"):
        found = dict(read_fsts(name))
        assert list(found) == ["utt-a", "utt-b"] and same(found["utt-a"], small())


def test_the_library_reads_our_archive(tmp_path):
    kaldifst = pytest.importorskip("kaldifst")
    with FstWriter(tmp_path / "fsts.ark") as writer:
        writer.write("utt-a", small())
    reader = kaldifst.SequentialVectorFstReader(f"ark:{tmp_path}/fsts.ark")
    assert reader.key == "utt-a" and reader.value.num_states == 3


@pytest.mark.parametrize("name", ["HCLG_mono", "LG"])
def test_damage_is_an_error_or_a_valid_fst(golden, tmp_path, name):
    """The library crashes or hangs on such files; whatever passes here has all states and labels in range."""
    data = golden(f"graph/fst/{name}.fst").read_bytes()
    rng = np.random.default_rng(0)
    told = 0
    for trial in range(400):
        damaged = bytearray(data)
        if trial % 4 == 0:
            damaged = damaged[: rng.integers(len(data))]
        else:
            place = rng.integers(80 if trial % 4 == 1 else len(data))
            damaged[place] ^= 1 << rng.integers(8)
        path = tmp_path / "d.fst"
        path.write_bytes(bytes(damaged))
        try:
            fst = read_fst(path)
        except PymavgError as error:
            assert str(path) in str(error)
            told += 1
        else:
            fst.check("d")
    assert told > 150


def test_cut_archive_names_the_utterance(tmp_path):
    with FstWriter(tmp_path / "fsts.ark") as writer:
        writer.write("utt-a", small())
        writer.write("utt-b", small())
    data = (tmp_path / "fsts.ark").read_bytes()
    (tmp_path / "cut.ark").write_bytes(data[:-7])
    with pytest.raises(PymavgError, match=r"cut.ark: utterance utt-b: byte \d+: .*do not fit"):
        list(read_fsts(tmp_path / "cut.ark"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": [1, 2, 7]}, "leads to state 7 of 3"),
        ({"ilabel": [2, 3, -1]}, "label -1 is negative"),
        ({"weight": [0.0, np.nan, 1.0]}, "not a number"),
        ({"weight": [0.0, -np.inf, 1.0]}, "minus infinity"),
        ({"start": 3}, "start state 3 of 3"),
    ],
)
def test_check(tmp_path, change, message):
    fst = small()
    for field, value in change.items():
        setattr(fst, field, np.array(value, getattr(fst, field).dtype) if field != "start" else value)
    with pytest.raises(PymavgError, match=message):
        write_fst(tmp_path / "x.fst", fst)
    assert not list(tmp_path.iterdir())


def test_other_types_are_refused_by_name(tmp_path):
    data = serialise(small()).replace(b"standard", b"lattice4")
    (tmp_path / "lat.fst").write_bytes(data)
    with pytest.raises(PymavgError, match="type 'vector' with 'lattice4' arcs"):
        read_fst(tmp_path / "lat.fst")
    (tmp_path / "text.fst").write_text("0 1 2 3\n1\n")
    with pytest.raises(PymavgError, match="no OpenFst header"):
        read_fst(tmp_path / "text.fst")
    with pytest.raises(PymavgError, match="no such file"):
        read_fst(tmp_path / "absent.fst")
    empty = Fst.from_arcs(-1, [], [], [], [], [], [])
    write_fst(tmp_path / "empty.fst", empty)
    with pytest.raises(PymavgError, match="has no states"):
        read_fst(tmp_path / "empty.fst")


@pytest.mark.parametrize(
    "order", ["kaldifst,pymavg.graph.hclg,kaldi_native_fbank", "kaldi_native_fbank,numba,kaldifst"]
)
def test_import_order(order):
    """Some orders of importing the compiled wheels were once seen to hang."""
    lines = "; ".join(f"import {name}" for name in order.split(","))
    program = f"{lines}; from pymavg.graph.algorithms import connect"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
