"""200 damaged files of real experiments: a clear error or a whole result, within limits of time and memory."""

from damage import try_all


def test_damaged_files_are_refused_or_read(shared):
    folders = [shared(name) for name in ("data/interop", "golden/gmm", "golden/graph", "golden/nnet1")]
    files = sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and 0 < path.stat().st_size < 200_000 and (b"\0" in path.read_bytes())
    )
    assert len(files) > 100
    outcomes = list(try_all(files, 200, seed=1))
    wrong = [outcome for outcome in outcomes if outcome[3] not in ("read", "refused")]
    assert not wrong, wrong
    refused = [message for *_, outcome, message in outcomes if outcome == "refused"]
    assert len(refused) > 100
    assert all("\n" not in message for message in refused)
