"""Bytes for each live row and each live composite, by the engine's own statistics, slack included."""

from __future__ import annotations

from attrs import frozen

from benchmarks.sides import BATCH, build, push_all
from benchmarks.workloads import Workload
from eddy import Statistics

ROW = 128
"""Allowed for a live row and join attribute, beside the payload."""


def composite(streams: int) -> int:
    """Allowed for a live composite of so many streams."""
    return 64 + 16 * streams


@frozen
class Memory:
    """One engine in its steady state."""

    row: float
    """Bytes for a live row and join attribute: the largest of all streams. Payload is taken off at its bare
    size, so its slack counts here."""
    composites: dict[int, float]
    """Bytes for a live composite of so many streams."""
    total: float
    """All bytes of the engine, over what the two allowances and the bare payload come to."""


def weigh(work: Workload, statistics: Statistics) -> Memory:
    """Relate the bytes of an engine to what is live in it."""
    rows = 0.0
    allowed = 0.0
    for s, stream in enumerate(statistics.streams):
        columns = len(work.columns(s))
        payload = 8 * (columns + 1) * stream.live
        rows = max(rows, (stream.bytes - payload) / (stream.live * columns))
        allowed += payload + ROW * stream.live * columns
    composites = {len(stair.streams): stair.bytes / max(stair.live, 1) for stair in statistics.stairs}
    allowed += sum(composite(len(stair.streams)) * stair.live for stair in statistics.stairs)
    return Memory(rows, composites, statistics.bytes / allowed)


def steady(work: Workload) -> tuple[Memory, Statistics]:
    """Fill an engine until rows and composites leave as fast as they come."""
    engine = build(work)
    push_all(engine)(work.batches(work.chunk(max(work.warm, 16 * BATCH))))
    statistics = engine.statistics()
    return weigh(work, statistics), statistics
