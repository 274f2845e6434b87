"""Random faults in random runs: every result is there exactly once. `make faults` tries more."""

from __future__ import annotations

import gc

import pytest

import eddy
from tests.faults.world import tried

GROUPS, WORLDS, FAULTS = 8, 16, 25
"""Groups of worlds, the worlds that one has at the most, and the faults after which it is over: 200 altogether."""


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Children are forks, which begin with what is loaded here."""
    eddy.compile_kernels()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("first", range(0, GROUPS * WORLDS, WORLDS))
def test_random_faults(first, tmp_path):
    """Kills at any step and any moment, torn writes, full disks, broken connections, damaged checkpoints; with another
    plan, more threads and other batches after each."""
    faults = 0
    for seed in range(first, first + WORLDS):
        if faults >= FAULTS:
            break
        folder = tmp_path / str(seed)
        folder.mkdir()
        faults += tried(folder, seed).total()
    assert faults >= FAULTS
