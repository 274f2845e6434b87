"""Steady state: streams on one key, windows of 10,000 rows, left-deep, batches of 4,096 events."""

from __future__ import annotations

import pytest

from benchmarks.sides import race
from benchmarks.workloads import Workload


@pytest.mark.parametrize("keys", [10_000, 20_000])
@pytest.mark.parametrize("streams", [3, 4, 6, 10, 20])
def test_steady(streams, keys, contest, ratio_row):
    """Million events a second through the public API, and the ratio to the hand-written joins."""
    timings = contest(*race(Workload(streams, 10_000, keys)))
    ratio_row("steady state, million events/s", f"{streams} streams, {keys:,} keys", timings)
