"""Engines that differ in their migration technique only, and are not migrating."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.migration_workloads import left_deep, swapped
from benchmarks.stages import Arena
from benchmarks.techniques import (
    EAGER,
    GHM,
    GMS,
    GPT,
    HELD,
    HYBRID,
    HYBRID_SOON,
    JISC,
    MOVING,
    TECHNIQUES,
    TRACKS,
    named,
)
from benchmarks.workloads import Workload
from eddy import Eddy
from policies import Migration

SIDES: Mapping[str, Migration] = {
    **named(JISC, MOVING, EAGER, TRACKS, HELD, HYBRID, HYBRID_SOON, GMS, GPT, GHM),
    "Jisc again": TECHNIQUES[JISC],
}


def standing(window: int = 10_000) -> Arena:
    """Engines of 4 streams that differ in their technique only."""
    work = Workload(4, window, window)
    engines = {name: Eddy(work.query(), plan=work.plan, migration=t) for name, t in SIDES.items()}
    arena = Arena.of(work, engines, held=(HELD,))
    arena.warm()
    return arena


def there_and_back(arena: Arena) -> None:
    """Change the plan and change it back, each time until everybody is done."""
    for order in (swapped(arena.work.names, "worst"), arena.work.names):
        arena.stage(dict.fromkeys(arena.contenders, left_deep(order)))
