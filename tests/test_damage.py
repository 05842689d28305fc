"""Damaged files of real experiments: a clear error or a whole result, within limits of time and memory."""

from damage import shape, try_all


def test_damaged_files_are_refused_or_read(shared):
    folders = [shared(name) for name in ("data/interop", "golden/gmm", "golden/graph", "golden/nnet1")]
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    large = [path for path in files if path.stat().st_size > 200_000]
    binary = [path for path in files if path not in large and b"\0" in path.read_bytes()]
    text = [path for path in files if path not in large and path not in binary]
    assert min(map(len, (large, binary, text))) > 25
    outcomes = list(try_all([binary, binary, text, large], 240, seed=1))
    wrong = [outcome for outcome in outcomes if outcome[3] not in ("read", "refused")]
    assert not wrong, wrong
    assert sum(outcome == "refused" for *_, outcome, _ in outcomes) > 100


def test_another_shape_is_seen(tmp_path):
    told = [f"{tmp_path}/m: matrix 3 x 4, single precision (binary)", "  values: 0 to 1, mean 0.5", "  finite: yes"]
    other = [told[0].replace("3 x 4", "4 x 3"), *told[1:]]
    assert shape(told, tmp_path / "m") == shape([told[0], "  values: 0 to 2, mean 1", told[2]], tmp_path / "m")
    assert shape(told, tmp_path / "m") != shape(other, tmp_path / "m")
