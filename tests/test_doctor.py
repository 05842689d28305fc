"""pymavg doctor: what is missing is told with its remedy and makes the exit status 1."""

import pytest

from pymavg import doctor
from pymavg.tools import doctor as tool


@pytest.fixture
def without_mpi(monkeypatch):
    """Leave out the starting of ranks, which takes seconds."""
    monkeypatch.setattr(doctor, "find_mpirun", lambda: None)


def test_report_names_all_parts_in_one_screen(capsys, without_mpi):
    tool.main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    for part in ("python", "numpy", "kaldifst", "mpi launcher", "gpu", "blas", "sclite", "hubscr.pl", "disk"):
        assert sum(part in line for line in lines) >= 1, part


def test_missing_parts_make_it_fail(capsys, without_mpi, monkeypatch):
    monkeypatch.setitem(doctor.PACKAGES, "no-such-package", "no_such_module")
    assert tool.main([]) == 1
    shown = capsys.readouterr().out
    assert "MISSING no-such-package     cannot be imported" in shown and "remedy: make venv" in shown
    assert "MISSING mpi launcher" in shown
    assert shown.splitlines()[-1].startswith("missing: no-such-package, mpi launcher")


def test_all_there_is_0(monkeypatch):
    monkeypatch.setattr(
        tool, "examine", lambda: [doctor.Finding("ok", "a", "1"), doctor.Finding("none", "gpu", "none")]
    )
    assert tool.main([]) == 0


@pytest.mark.parametrize(
    ("printed", "state", "told"),
    [
        ("size 2 Open MPI v5\nsize 2 Open MPI v5\n", "ok", "2 ranks found each other"),
        ("size 1 MPICH\nsize 1 MPICH\n", "MISSING", "MPICH: not the launcher's, 2 ranks are each alone"),
        ("ImportError: libmpi.so.40: cannot open\n", "MISSING", "libmpi.so.40: cannot open"),
    ],
)
def test_launcher_and_library_must_match(monkeypatch, printed, state, told):
    monkeypatch.setattr(doctor, "find_mpirun", lambda: "/opt/mpi/bin/mpirun")
    monkeypatch.setattr(doctor, "cores", lambda: 2)
    monkeypatch.setattr(doctor, "_output", lambda command, *_: "mpirun 5.0" if "--version" in command else printed)
    launcher, library = doctor._mpi()
    assert launcher.found == "/opt/mpi/bin/mpirun, mpirun 5.0"
    assert (library.state, told in library.found) == (state, True)
