"""Engines that differ in their migration technique only, and are not migrating."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.migration_workloads import left_deep, swapped
from benchmarks.stages import Arena
from benchmarks.workloads import Workload
from eddy import Eddy
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack

TECHNIQUES: Mapping[str, Migration] = {
    "Jisc": Jisc(),
    "Jisc again": Jisc(),
    "MovingState": MovingState(),
    "EagerStairs": EagerStairs(),
    "ParallelTrack": ParallelTrack(),
    "ParallelTrack(pt)": ParallelTrack(order="pt"),
    "HybMig": HybMig(),
    "HybMig(background)": HybMig(background=256),
    "Gms": Gms(),
    "Gpt": Gpt(),
    "Ghm": Ghm(),
}


def standing(window: int = 10_000) -> Arena:
    """Engines of 4 streams that differ in their technique only."""
    work = Workload(4, window, window)
    engines = {name: Eddy(work.query(), plan=work.plan, migration=t) for name, t in TECHNIQUES.items()}
    arena = Arena.of(work, engines, held=("ParallelTrack(pt)",))
    arena.warm()
    return arena


def there_and_back(arena: Arena) -> None:
    """Change the plan and change it back, each time until everybody is done."""
    for order in (swapped(arena.work.names, "worst"), arena.work.names):
        arena.stage(dict.fromkeys(arena.contenders, left_deep(order)))
