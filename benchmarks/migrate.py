"""What a plan change costs under JISC: the call, the batches after it, and the time after those."""

from __future__ import annotations

import gc
import time

import numpy as np
from attrs import frozen

from benchmarks.ratio import Race
from benchmarks.sides import BATCH, build, push_all
from benchmarks.workloads import Workload
from policies import Jisc


@frozen
class Change:
    """One call of `migrate`."""

    seconds: float
    longest: float
    """The longest batch until all STAIRs are complete, over the median batch without a change."""
    batches: int
    """How many batches that took."""


def changes(
    streams: int = 4, window: int = 100_000, background: int = 0, times: int = 3
) -> tuple[list[Change], Race, int]:
    """Change the plan back and forth, each time until all STAIRs are complete.

    A second engine never changes its plan: it gives the median batch, and the race that is returned is
    between the two, under the same plan again.
    """
    work = Workload(streams, window, window)
    other = Workload(streams, window, window).plan.translate(
        str.maketrans(work.names, work.names[:1] + work.names[:0:-1])
    )
    engine, still = build(work, migration=Jisc(background=background)), build(work)
    sides = {"migrated": push_all(engine), "never migrated": push_all(still)}

    def prepare() -> dict[str, object]:
        batches = work.batches(work.chunk(BATCH))
        return dict.fromkeys(sides, batches)

    fill = Race(sides, prepare)
    fill.run(-(-work.warm // BATCH))
    made = []
    for k in range(2 * times):
        gc.disable()
        start = time.thread_time()
        engine.migrate(other if k % 2 == 0 else work.plan)
        seconds = time.thread_time() - start
        gc.enable()
        after = Race(sides, prepare)
        batches = 0
        while batches == 0 or not engine.statistics().complete:
            after.run(4)
            batches += 4
            if batches * BATCH > 4 * work.warm:
                raise AssertionError("the STAIRs are not complete although the windows have turned over")
        took = after.timings(BATCH).seconds
        median = float(np.median(took["never migrated"]))
        made.append(Change(seconds, float(took["migrated"].max()) / median, batches))
    events = 8 * BATCH
    contestants = Race(sides, lambda: dict.fromkeys(sides, work.batches(work.chunk(events))))
    contestants.warm(2)
    return made, contestants, events
