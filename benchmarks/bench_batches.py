"""What a batch costs beside its events: 4 streams, batches from one row to 16,384 events."""

from __future__ import annotations

import pytest

from benchmarks.sides import race
from benchmarks.workloads import Workload

BATCHES = {1: 1000, 64: 64, 1024: 16, 4096: 8, 16384: 2}
"""How many batches make a chunk."""


@pytest.mark.parametrize("size", BATCHES)
def test_batches(size, contest, ratio_row, row):
    """One row goes through `push`, the others through `push_all`; the limits take the chunk as a whole."""
    contestants, events = race(Workload(4, 10_000, 10_000), size=size, batches=BATCHES[size])
    timings = contest(contestants, events)
    ratio_row("batches, million events/s", f"{size:,} events a batch", timings)
    row("batches, microseconds", "", "a batch")
    row("batches, microseconds", f"{size:,} events a batch", size / timings.rate("eddy"))
