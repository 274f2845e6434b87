"""``eddy demo --synthetic``: four live streams, a feed that drifts, a plan that follows it, a count that checks it all.

The feed is cut into slices. Each goes through the engine, then through the audit; now and then the newest
slices are looked at, and when another plan would hold far fewer composites, the engine is told to migrate. It
goes on with the next slice at once: STAIRs that a new plan brings are all holes, and fill as it runs.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable

import attrs
import numpy as np
from rich.console import Console

from eddy.demo_audit import Audit, LastRows, LastTime
from eddy.demo_choice import Sample, Tree, text
from eddy.demo_feed import (
    LAST_MICROSECONDS,
    LAST_ROWS,
    PHASES,
    QUERY,
    ROWS_A_SLICE,
    SCHEMA,
    STREAMS,
    Feed,
    Slice,
)
from eddy.demo_view import Change, LiveView, Moment, PlainView, Stair, View
from eddy.engine import Eddy
from eddy.sql import sql
from eddy.statistics import Statistics
from policies import Jisc

SLICES_A_SECOND = 60
"""The pace of the feed. The engine is several times as fast: the rest is audit, view and idle time."""

COLUMNS = 46
"""The run is shown as so many little bars of speed."""

SAMPLED = 16
"""How many slices are looked at when the plan is reviewed."""

BACKGROUND = 256
"""Keys filled in each batch that nobody asked for yet: a new STAIR is complete within a second or so."""

GAIN = 1.5
"""A change must promise so many times fewer composites: a little more than noise can."""


@attrs.define(eq=False)
class Demo:
    """One run. Same seed and same length: the same feed, the same plans, the same results."""

    seconds: float
    seed: int
    view: View
    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    engine: Eddy = attrs.field(init=False)
    audit: Audit = attrs.field(init=False)
    _tree: Tree = attrs.field(init=False)
    _changes: list[Change] = attrs.field(init=False, factory=list)
    _marks: list[int] = attrs.field(init=False, factory=list)
    _busy: list[float] = attrs.field(init=False, factory=list)
    _sizes: list[int] = attrs.field(init=False, factory=list)
    _start: float = attrs.field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        first, second, third, fourth = STREAMS
        self._tree = (((first, second), third), fourth)
        query = sql(QUERY, schemas=dict.fromkeys(STREAMS, SCHEMA))
        self.engine = Eddy(query, plan=text(self._tree), migration=Jisc(background=BACKGROUND))
        rows, span = LastRows(LAST_ROWS), LastTime(LAST_MICROSECONDS)
        self.audit = Audit({"clicks": rows, "orders": rows, "payments": span, "parcels": span})

    def run(self) -> bool:
        """Run to the end and say whether every result came exactly once. Ctrl-C ends it early."""
        slices = max(len(PHASES), round(self.seconds * SLICES_A_SECOND))
        review = max(1, min(SAMPLED, slices // (4 * len(PHASES))))
        feed, newest = Feed(self.seed), deque[Slice](maxlen=review)
        self._start = self.clock()
        shown, phase = -1.0, 0
        try:
            for i in range(slices):
                phase = i * len(PHASES) // slices
                column = i * COLUMNS // slices
                newest.append(feed.next(PHASES[phase]))
                self._push(newest[-1], column)
                if (i + 1) % review == 0:
                    self._review(newest, column)
                ahead = self._start + (i + 1) * self.seconds / slices - self.clock()
                if ahead > 0:
                    self.sleep(ahead)
                if self.clock() - shown >= 0.1:
                    shown = self.clock()
                    self.view.show(self._moment(phase))
        except KeyboardInterrupt:
            pass
        self.view.end(self._moment(phase))
        return self.audit.clean

    def _push(self, batch: Slice, column: int) -> None:
        """One slice through the engine, on the clock, and through the audit, off it."""
        before = self.clock()
        rows = self.engine.push_all(batch).rows
        took = self.clock() - before
        if column == len(self._busy):
            self._busy.append(0.0)
            self._sizes.append(0)
        self._busy[-1] += took
        self._sizes[-1] += ROWS_A_SLICE * len(STREAMS)
        self.audit.check(
            {name: columns["customer"].view(np.int64) for name, columns in batch.items()},
            {name: columns["ts"].view(np.int64) for name, columns in batch.items()},
            rows,
        )

    def _review(self, newest: deque[Slice], column: int) -> None:
        """Change the plan if the newest slices say that another would hold far fewer composites."""
        keys = {name: np.concatenate([batch[name]["customer"] for batch in newest]) for name in STREAMS}
        sample = Sample(keys, LAST_ROWS)
        best = sample.cheapest()
        if sample.cost(self._tree) <= GAIN * sample.cost(best):
            return
        plan = self.engine.plan
        before = self.clock()
        self.engine.migrate(text(best))
        after = self.clock()
        self._tree = best
        self._changes.append(Change(after - self._start, str(plan), str(self.engine.plan), after - before))
        self._marks.append(column)

    def _moment(self, phase: int) -> Moment:
        statistics = self.engine.statistics()
        return Moment(
            elapsed=self.clock() - self._start,
            seconds=self.seconds,
            phase=phase + 1,
            phases=len(PHASES),
            title=PHASES[phase].title,
            speeds=[size / busy for size, busy in zip(self._sizes, self._busy, strict=True)],
            plan=statistics.plan,
            stairs=stairs(statistics),
            changes=tuple(self._changes),
            marks=tuple(self._marks),
            bytes=statistics.bytes,
            busy=sum(self._busy),
            events=sum(self._sizes),
            results=self.audit.seen,
            expected=self.audit.expected,
            lost=self.audit.lost,
            repeated=self.audit.repeated,
            wrong=self.audit.wrong,
        )


def stairs(statistics: Statistics) -> list[Stair]:
    """The STAIRs of the current plan as the view shows them: the streams' own, then the composites'."""
    leaves = [Stair((stream.name,), stream.live, 1.0) for stream in statistics.streams]
    return leaves + [
        Stair(stair.streams, stair.live, 1.0 if stair.complete else stair.fraction)
        for stair in statistics.stairs
    ]


def demo(seconds: float = 20.0, seed: int = 7, console: Console | None = None) -> int:
    """Run the demo, live if the console is a terminal; the exit status is 0 if all results were right."""
    console = console or Console(highlight=False)
    if console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf"):
        with LiveView(console, " = ".join(f"{name}.customer" for name in STREAMS)) as view:
            exact = Demo(seconds, seed, view).run()
    else:
        exact = Demo(seconds, seed, PlainView(console.file)).run()
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(demo())
