"""An engine of several queries, as a run sees it: it gives tables for the sinks, and one account of all queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from eddy.log.events import RUN, Log
from eddy.query.query import Query
from eddy.running.gathered import Gathered
from eddy.several.overall import Overall
from eddy.several.query_doors import few
from eddy.several.results import Results
from eddy.several.shared_eddy import SharedEddy
from eddy.values.types import Values

CORES = 3
"""Plans that are told of many."""


class SharedEngine:
    """Stands for `SharedEddy` where a run asks an engine for something."""

    several: ClassVar[bool] = True

    def __init__(self, engine: SharedEddy, feed: Query, gathered: Callable[[Results], Gathered]) -> None:
        """``feed``: all streams, side by side; ``gathered``: results as they are written."""
        self.engine, self.query = engine, feed
        self._gathered = gathered
        self.log = Log(RUN)
        self._late = {stream.name: stream.late for stream in engine.overall().streams}
        """Late rows that were told of; those before a restart were."""
        for log in engine.log.values():
            log.name = RUN

    # -- rows --------------------------------------------------------------------------------------------------------

    def push(self, stream: str, batch: Any) -> Gathered:
        """Rows of one stream."""
        return self._gathered(self.engine.push(stream, batch))

    def push_all(self, batches: Mapping[str, Mapping[str, Values] | pa.RecordBatch | None]) -> Gathered:
        """Rows of several streams."""
        return self._gathered(self.engine.push_all(batches))

    def advance(self, ts: Any, *, stream: str) -> Gathered:
        """Nothing older comes any more."""
        return self._gathered(self.engine.advance(ts, stream=stream))

    def flush(self) -> Gathered:
        """Nothing waits any longer."""
        return self._gathered(self.engine.flush())

    def settle(self) -> Gathered:
        """No change of plan is under way."""
        return self._gathered(self.engine.settle())

    def close(self) -> Gathered:
        """Let go of all rows."""
        self._last = self.plan
        return self._gathered(self.engine.close())

    def table(self, query: str) -> pa.Table:
        """The groups of a query as they are."""
        return self.engine.table(query).to_arrow()

    def late(self) -> dict[str, pa.Table]:
        """Late rows that were kept."""
        return self.engine.late()

    def save(self, path: str) -> None:
        """Write all of it to a file."""
        self.engine.save(path)

    # -- what it tells -------------------------------------------------------------------------------------------------

    _last: str | None = None
    """The plans when it was closed."""

    def statistics(self) -> Overall:
        """Of all queries together."""
        return self.engine.overall()

    def tell_late(self) -> None:
        """Tell the log of late rows that have come since the last time."""
        for stream in self.statistics().streams:
            more = stream.late - self._late.get(stream.name, 0)
            if more:
                self._late[stream.name] = stream.late
                self.log.count("late rows", stream.name, more)

    @property
    def plan(self) -> str:
        """The plans, each with its queries."""
        if self._last is not None:
            return self._last
        plans = [(core.queries, core.engine.plan) for core in self.engine.cores_with_queries()]
        if len({plan for _, plan in plans}) == 1:
            return plans[0][1]
        told = [f"{few(queries)}: {plan}" for queries, plan in plans]
        return "; ".join(told[:CORES]) + (f"; {len(told) - CORES} more plans" if len(told) > CORES else "")
