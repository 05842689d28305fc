"""Fixtures used by all tests: where the golden values and the real data are."""

import os
from pathlib import Path

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # small products on many threads cost several times as much
    os.environ.setdefault(name, "1")

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared"


@pytest.fixture
def shared():
    """Return the function path -> Path of real data kept beside the checkout; skips where it is absent."""

    def find(name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"needs ../shared/{name}, which lies beside the checkout of the maintainers only")
        return path

    return find


@pytest.fixture
def golden(shared):
    """Return the function path -> Path of values computed by Kaldi: tests/golden first, ../shared/golden else."""

    def find(name):
        path = HERE / "golden" / name
        return path if path.exists() else shared(f"golden/{name}")

    return find
