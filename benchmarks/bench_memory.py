"""Memory: bytes for a live row and join attribute, and for a live composite of k streams."""

from __future__ import annotations

import pytest

from benchmarks.memory import ROW, composite, steady
from benchmarks.workloads import SHAPES, Workload

# Rings are powers of two: a window just above one has the most slack, one just below has the least.
WINDOWS = (8_000, 10_000, 17_000, 100_000)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_memory(shape, window, benchmark, row):
    """As the engine's statistics tell it, in its steady state."""
    work = Workload(4, window, window, shape=shape)
    memory, statistics = benchmark.pedantic(steady, args=(work,), rounds=1, iterations=1)
    benchmark.extra_info.update(
        {"row": memory.row, "composites": memory.composites, "bytes": statistics.bytes}
    )
    title = f"bytes (allowed: {ROW} a row and attribute, {composite(2)} and {composite(3)} a composite)"
    row(title, "", "a row", "a composite of 2", "of 3", "all, of what is allowed")
    row(title, f"{shape}, {window:,} rows", memory.row, *memory.composites.values(), memory.total)
