"""Small files are read without waiting for the compiler."""

import os
import subprocess
import sys

import numpy as np
from numba import njit

from pymavg.compiled import PATIENCE, patient


def test_compiles_when_the_work_is_worth_it():
    @patient(lambda values: values.size)
    @njit
    def total(values):
        found = 0
        for value in values:
            found += int(value)
        return found

    kernel = total._kernel
    assert total(np.arange(1000)) == 499500 and not kernel.signatures
    large = np.ones(PATIENCE, np.int32)
    assert total(large) == PATIENCE and kernel.signatures
    assert total(np.arange(4)) == 6


def test_lattices_and_graphs_are_told_without_a_compiler(golden, tmp_path):
    files = [str(golden(f"graph/{name}")) for name in ("mono.lat.ark", "fst/HCLG_mono.fst")]
    command = [sys.executable, "-m", "pymavg.cli", "info", *files]
    run = subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True)
    assert run.returncode == 0 and "lattices" in run.stdout, run.stderr
    assert not list(tmp_path.rglob("*.nbi"))
