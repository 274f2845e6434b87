"""``eddy demo --synthetic``: four live streams, a feed that drifts, a plan that follows it, a count that checks it all.

The feed is cut into slices. Each goes through the engine, then through the audit. The engine chooses its plan by
itself (`policies.Auto`). It goes on with the next slice at once: STAIRs that a new plan brings are all holes, and fill
as it runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

import attrs
import numpy as np
from rich.console import Console

from eddy.demo.audit import Audit, LastRows, LastTime
from eddy.demo.feed import MOST_ROWS, PHASES, QUERY, ROWS_A_SLICE, SCHEMA, STREAMS, Feed, Slice
from eddy.demo.view import Change, LiveView, Moment, Pace, Phase, PlainView, Stair, Verdict, View
from eddy.engine.eddy import Eddy
from eddy.query.sql import sql
from eddy.statistics import Statistics
from eddy.steering.decisions import Decision
from policies import Auto, Jisc

SLICES_A_SECOND = 60
"""The pace of the feed. The engine is several times as fast: the rest is audit, view and idle time."""

COLUMNS = 46
"""Little bars of speed by which the run is shown."""

BACKGROUND = 256
"""Keys filled in each batch that nobody asked for yet: a new STAIR is complete within a second or so."""

EVERY = 65_536
"""Events between two looks at the feed, where windows have MOST_ROWS rows; where they have fewer, fewer."""


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
    _slices: int = attrs.field(init=False)
    _rows: int = attrs.field(init=False)
    """Of a window: it turns over twice in a phase, or more often."""
    _changes: list[Change] = attrs.field(init=False, factory=list)
    _marks: list[int] = attrs.field(init=False, factory=list)
    _busy: list[float] = attrs.field(init=False, factory=list)
    _sizes: list[int] = attrs.field(init=False, factory=list)
    _start: float = attrs.field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        self._slices = max(len(PHASES), round(self.seconds * SLICES_A_SECOND))
        phase = self._slices // len(PHASES) * ROWS_A_SLICE
        self._rows = min(MOST_ROWS, max(ROWS_A_SLICE, phase // 2))
        query = sql(QUERY.format(rows=self._rows), schemas=dict.fromkeys(STREAMS, SCHEMA))
        every = max(ROWS_A_SLICE, EVERY * self._rows // MOST_ROWS)
        auto = Auto(
            every=every, shape="bushy", clock=lambda seen: 0.0
        )  # so that a seed decides, and not the clock
        self.engine = Eddy(query, routing=auto, migration=Jisc(background=BACKGROUND))
        rows, span = LastRows(self._rows), LastTime(1_000 * self._rows)
        self.audit = Audit({"clicks": rows, "orders": rows, "payments": span, "parcels": span})

    def run(self) -> bool:
        """Run to the end and say whether every result came exactly once. Ctrl-C ends it early."""
        feed, slices = Feed(self.seed, self._rows), self._slices
        self._start = self.clock()
        shown, phase = -1.0, 0
        try:
            for i in range(slices):
                phase = i * len(PHASES) // slices
                self._push(feed.next(PHASES[phase]), i * COLUMNS // slices)
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
        decided = len(self.engine.decisions)
        before = self.clock()
        rows = self.engine.push_all(batch).rows
        took = self.clock() - before
        self._note(self.engine.decisions[decided:], column)
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

    def _note(self, decisions: Iterable[Decision], column: int) -> None:
        """Remember which plans were changed to, for the view."""
        for decision in decisions:
            if decision.outcome == "changed":
                at = self.clock() - self._start
                self._changes.append(Change(at, decision.former, decision.plan, decision.thinking))
                self._marks.append(column)

    def _moment(self, phase: int) -> Moment:
        statistics = self.engine.statistics()
        speeds = [size / busy for size, busy in zip(self._sizes, self._busy, strict=True)]
        elapsed, audit = self.clock() - self._start, self.audit
        return Moment(
            phase=Phase(phase + 1, len(PHASES), PHASES[phase].title),
            pace=Pace(elapsed, self.seconds, sum(self._busy), sum(self._sizes), speeds, tuple(self._marks)),
            plan=statistics.plan,
            stairs=stairs(statistics),
            changes=tuple(self._changes),
            bytes=statistics.bytes,
            verdict=Verdict(audit.seen, audit.expected, audit.lost, audit.repeated, audit.wrong),
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
