"""Random faults in random runs: every result is there exactly once. `make faults` tries more."""

from __future__ import annotations

import gc

import pytest

import eddy
from tests.faults.world import tried

WORLDS, EACH = 8, 7


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Children are forks, which begin with what is loaded here."""
    eddy.compile_kernels()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("first", range(0, WORLDS * EACH, EACH))
def test_random_faults(first, tmp_path):
    """Kills at any step and any moment, torn writes, full disks, broken connections, damaged checkpoints; with another
    plan, more threads and other batches after each."""
    faults = sum(tried(tmp_path, seed).total() for seed in range(first, first + EACH))
    assert faults > EACH
