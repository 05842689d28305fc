import gzip
import io

import numpy as np
import pytest

from pymavg.errors import PymavgError
from pymavg.kaldi.stream import KaldiReader, KaldiWriter, open_reader

MATRIX = np.array([[1.5, -2.25, 3e-8], [1e10, 0.0, -7.0]], np.float32)


def written(binary, write):
    stream = io.BytesIO()
    write(KaldiWriter(stream, binary))
    return stream.getvalue()


def write_all(w):
    w.token("<Tag>")
    w.int32(-5)
    w.float32(0.125)
    w.int_vector([3, -1, 2])
    w.vector([0.5, -1.0])
    w.vector(np.zeros(0))
    w.matrix(MATRIX)
    w.matrix(MATRIX, double=True)
    w.matrix(np.zeros((0, 0)))
    w.token("</Tag>")


def check_all(r):
    assert r.peek() == "<Tag>"
    r.expect("<Tag>")
    assert r.int32() == -5
    assert r.float32() == 0.125
    assert r.int_vector().tolist() == [3, -1, 2]
    assert r.vector().tolist() == [0.5, -1.0]
    assert r.vector().shape == (0,)
    np.testing.assert_array_equal(r.matrix(), MATRIX)
    assert r.matrix(np.float64).dtype == np.float64
    assert r.matrix().shape == (0, 0)
    assert not r.at_end
    assert r.token() == "</Tag>"
    assert r.at_end and r.peek() == ""


class Trickle(io.RawIOBase):
    """A stream that gives 7 bytes at a time, as a slow pipe may."""

    def __init__(self, data):
        self._stream = io.BytesIO(data)

    def read(self, n=-1):
        return self._stream.read(min(n, 7))


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("source", [bytes, io.BytesIO, Trickle])
def test_everything_comes_back(binary, source):
    check_all(KaldiReader(source(written(binary, write_all)), "x"))


def test_bytes_are_kaldis():
    data = written(True, lambda w: (w.token("<A>"), w.int32(1), w.float32(1), w.int_vector([2]), w.vector([3.0])))
    assert data == b"\0B<A> \4\1\0\0\0\4\0\0\x80?\4\1\0\0\0\2\0\0\0FV \4\1\0\0\0\0\0@@"
    assert written(True, lambda w: w.basic_vector([7])) == b"\0B\4\1\0\0\0\4\7\0\0\0"
    text = written(False, lambda w: (w.vector([1 / 3, 1e-9]), w.matrix(MATRIX), w.int_vector([1, 2])))
    assert text == b" [ 0.3333333 1e-09 ]\n [\n  1.5 -2.25 3e-08 \n  1e+10 0 -7 ]\n[ 1 2 ]\n"


@pytest.mark.parametrize(
    ("data", "call", "message"),
    [
        (b"\0BFM \4\0\0\0\x7f\4\0\0\0\x7f123", "matrix", "floats expected, 0 of"),
        (b"\0BFM \4\xff\xff\xff\xff\4\1\0\0\0", "matrix", "found -1"),
        (b"\0BFM \4\2\0\0\0\4\2\0\0\0" + bytes(12), "matrix", "2x2 floats expected, 3 of 4 present"),
        (b"\0BXM \4\2\0\0\0", "matrix", "FM or DM or CM or CM2 or CM3 expected, found 'XM'"),
        (b"\0BCM \0\0\0\0\0\0\x80?\0\0\0\x7f\1\0\0\x7f", "matrix", "expected"),
        (b"\0B\x08\0\0\0\0\0\0\0\0", "int32", "size byte 8"),
        (b"\0B\4\0", "int32", "2 of 5 bytes present"),
        (b"\0B\4\0\0\0\x7f1234", "int_vector", "integers expected"),
        (b"x1", "int32", "a whole number expected, found 'x1'"),
        (b" [ 1 2\n 3 ]", "matrix", "row 2 of a matrix has 1 numbers"),
        (b" [ 1 2", "vector", "']' at the end"),
        (b" [ 1 b ]", "vector", "numbers expected"),
        (b" 1 2 ]", "vector", "'[' at the start"),
        (b"", "token", "end of the file"),
        (b"\0B" + b"x" * 9999, "token", "without a space"),
        (b"\0B\xff\xfe ", "token", "a word expected"),
    ],
)
@pytest.mark.parametrize("source", [bytes, io.BytesIO])
def test_damage_is_named(data, call, message, source):
    with pytest.raises(PymavgError, match="^f.ark:[0-9]+: ") as error:
        getattr(KaldiReader(source(data), "f.ark"), call)()
    assert message in str(error.value)


def test_random_damage_never_gets_out_of_hand():
    good = written(True, write_all)
    random = np.random.default_rng(1)
    outcomes = set()
    for _ in range(500):
        bad = bytearray(good[: random.integers(1, len(good))] if random.random() < 0.3 else good)
        for _ in range(random.integers(1, 4)):
            bad[random.integers(len(bad))] = random.integers(256)
        reader = KaldiReader(bytes(bad), "x")
        try:
            for call in ("token", "int32", "float32", "int_vector", *["vector"] * 2, *["matrix"] * 3, "token"):
                getattr(reader, call)()
            outcomes.add("read")
        except PymavgError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_open_reader(tmp_path):
    path = tmp_path / "m.gz"
    path.write_bytes(gzip.compress(written(True, lambda w: w.matrix(MATRIX))))
    np.testing.assert_array_equal(open_reader(path).matrix(), MATRIX)
    path.write_bytes(gzip.compress(bytes(1000))[:20])
    with pytest.raises(PymavgError, match="cannot be read"):
        open_reader(path)
    with pytest.raises(PymavgError, match="no such file"):
        open_reader(tmp_path / "missing")
    (tmp_path / "empty").touch()
    with pytest.raises(PymavgError, match="empty"):
        open_reader(tmp_path / "empty")
