"""The experiments of the papers on migration: `python -m benchmarks.techniques [--write] [--only word] [--quick]`.

Every figure is a ratio within this run, or says what its unit is. `--only words` measures the groups whose name has
these words, and a name that no group has lists them all; `--quick` takes small windows, to see that it works; `--write`
keeps the figures in `benchmarks/results_migration.json`, beside those of groups that were measured before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks import cheapest_figures
from benchmarks.hybmig_figures import SHAPES, SWEPT, VARIANTS, background, median, output, sharing, sweep
from benchmarks.jisc_figures import CASES, FEEDS, batches, frequency, latency, many_joins, transitions
from benchmarks.migration_workloads import left_deep, swapped
from benchmarks.report import Report, command
from benchmarks.stages import Arena, middle
from benchmarks.workloads import Workload
from eddy import Eddy
from policies import EagerStairs, Ghm, Gms, Gpt, HybMig, Jisc, Migration, MovingState, ParallelTrack

RESULTS = Path(__file__).with_name("results_migration.json")

CONTROL = "Jisc again"
TECHNIQUES: Mapping[str, Migration] = {
    "Jisc": Jisc(),
    CONTROL: Jisc(),
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


def idle(report: Report) -> None:
    """An engine that is not migrating: no technique may cost anything, before a migration or after."""
    report.tell("not migrating: filling windows")
    arena = standing(500 if report.quick else 10_000)
    for when in ("before any migration", "after two migrations"):
        if when.startswith("after"):
            there_and_back(arena)
        report.tell(f"not migrating: {when}")
        timings = arena.steady(4 if report.quick else 60)
        for name in TECHNIQUES:
            if name == "Jisc":
                continue
            speed = middle(timings.seconds["Jisc"] / timings.seconds[name])
            head = ("technique", "when", "speed, of Jisc's")
            report.row("Not migrating", head, name, when, speed)
            if name != CONTROL:
                note = f"quartiles {speed.low:.3f}-{speed.high:.3f}"
                report.reach(f"{when}, {name}: speed, of Jisc's", speed.median, "times", 0.98, True, note)


GROUPS: Mapping[str, Callable[[Report], None]] = {
    **{f"transitions, {feed} keys": partial(transitions, feed=feed) for feed in FEEDS},
    **{
        f"transitions, {joins} joins, {case}": partial(many_joins, joins=joins, case=case)
        for joins in (50, 100)
        for case in CASES
    },
    "normal operation by size of batch": batches,
    **{f"first output, {joins}": partial(latency, joins=joins) for joins in ("hash", "nested")},
    **{f"frequent transitions, {case}": partial(frequency, case=case) for case in CASES},
    **{f"output, {variant}": partial(output, variant=variant) for variant in VARIANTS},
    "median on top": median,
    **{
        f"settings, {what}, {shape}": partial(sweep, what=what, shape=shape)
        for what in SWEPT
        for shape in SHAPES
    },
    "sharing": sharing,
    "background": background,
    **{f"cheapest, {feed} keys": partial(cheapest_figures.transitions, feed=feed) for feed in FEEDS},
    **{f"cheapest, frequent, {case}": partial(cheapest_figures.frequency, case=case) for case in CASES},
    "cheapest, clique": cheapest_figures.cliques,
    "not migrating": idle,
}


def main() -> int:
    return command("benchmarks.techniques", __doc__, GROUPS, RESULTS)


if __name__ == "__main__":
    sys.exit(main())
