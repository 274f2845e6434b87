"""One join attribute and several: all streams on one key, a chain, a star."""

from __future__ import annotations

import pytest

from benchmarks.sides import race
from benchmarks.workloads import SHAPES, Workload


@pytest.mark.parametrize("streams", [3, 4, 6])
@pytest.mark.parametrize("shape", SHAPES)
def test_attributes(shape, streams, contest, ratio_row):
    """Every probe finds one match on average, whatever the shape."""
    timings = contest(*race(Workload(streams, 10_000, 10_000, shape=shape)))
    ratio_row("join attributes, million events/s", f"{shape}, {streams} streams", timings)
