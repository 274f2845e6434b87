"""An engine and the limits as sides of a race over one workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.limit_numba import NumbaLimit
from benchmarks.limits import Cpp, compiler
from benchmarks.ratio import Race, Timings
from benchmarks.workloads import Batch, Workload
from eddy import Eddy

BATCH = 4096
EDDY, CPP, NUMBA = "eddy", "C++", "Numba"


def push_all(engine: Eddy) -> Callable[[list[Batch]], int]:
    """The side of an engine that is given batches and counts its results."""

    def step(batches: list[Batch]) -> int:
        return sum(len(engine.push_all(batch)) for batch in batches)

    return step


def push(engine: Eddy) -> Callable[[list[tuple[str, Any]]], int]:
    """The side of an engine that is given one row at a time."""

    def step(rows: list[tuple[str, Any]]) -> int:
        return sum(len(engine.push(stream, row)) for stream, row in rows)

    return step


def build(work: Workload, size: int = BATCH, **options: Any) -> Eddy:
    """An engine for the workload, with its left-deep plan unless another is given."""
    return Eddy(work.query(), batch_size=max(BATCH, size), **{"plan": work.plan, **options})


def race(
    work: Workload, size: int = BATCH, batches: int = 8, limits: tuple[str, ...] = (CPP, NUMBA)
) -> tuple[Race, int]:
    """An engine, warm, against the limits there are; returns the race and the events of a chunk.

    Windows are filled, with large batches, until composites expire as fast as they are made.
    """
    engine = build(work, size)
    others = {name: make(work) for name, make in _limits(limits).items()}

    def forms(events: int, size: int) -> Mapping[str, Any]:
        chunk = work.chunk(events)
        own: Any = list(work.rows(chunk)) if size == 1 else work.batches(chunk, size)
        return {EDDY: own, **dict.fromkeys(others, chunk)}

    steps = {name: limit.push for name, limit in others.items()}
    fill = Race({EDDY: push_all(engine), **steps}, lambda: forms(8 * BATCH, BATCH))
    fill.run(-(-work.warm // (8 * BATCH)))
    events = size * batches
    contest = Race(
        {EDDY: push(engine) if size == 1 else push_all(engine), **steps}, lambda: forms(events, size)
    )
    contest.warm(2)
    return contest, events


def _limits(names: tuple[str, ...]) -> dict[str, Callable[[Workload], Any]]:
    known: dict[str, Callable[[Workload], Any]] = {CPP: Cpp, NUMBA: NumbaLimit}
    return {name: known[name] for name in names if name != CPP or compiler() is not None}


def measure(work: Workload, rounds: int = 30, **options: Any) -> Timings:
    """Race over so many chunks."""
    contest, events = race(work, **options)
    contest.run(rounds)
    return contest.timings(events)
