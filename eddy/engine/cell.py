"""One cell of a partitioning: an `Eddy` over the rows that were sent to it.

Its rows are numbered by themselves, 0, 1, 2, ...; what they are called in the whole of their streams, and where windows
that count rows stand, comes with them. Results are those that belong to this cell, with the numbers of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.engine import passing
from eddy.engine.batch import process
from eddy.engine.build import build, started, steered
from eddy.engine.eddy import EngineOver
from eddy.engine.options import checked
from eddy.engine.pushing import and_released, prepare, push, take
from eddy.errors import BatchError, EddyError
from eddy.intake.columns import _mapping
from eddy.intake.intake import Arrivals, Travel
from eddy.intake.travel import EVENT, ROW, Share, mark_column
from eddy.partition.marks import counted
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.statistics import Statistics
from eddy.values.conversion import convert
from eddy.values.types import INT64, Array

if TYPE_CHECKING:
    from eddy.partition.choice import Partitioning


class Cell:
    """Joins the rows that `Partitioning.deal` sends to cell ``number``; ``options`` are those of `Eddy`.

    Batches have the columns of their stream and those that travel with them: see `eddy.partition`. Where nothing does,
    say so, ``travels=False``: results are the same but for `Result.rows`, the cell's own numbers, and rows are taken in
    as an `Eddy` takes them, by its fast path too.
    """

    def __init__(
        self, query: Query, partitioning: Partitioning, number: int, travels: bool = True, **options: Any
    ) -> None:
        if not 0 <= number < partitioning.cells:
            raise EddyError(f"there is no cell {number}: the partitioning has {partitioning.cells}")
        if partitioning.cells > 1 and options.get("retractions"):
            raise EddyError("a cell cannot withdraw results: events of other cells may end a window")
        if options.get("lateness") is not None:
            raise EddyError("a cell takes rows in order of time: put them in order before they are dealt out")
        reserved = [c for s in query.streams.values() for c in s.columns if c.startswith("__")]
        if reserved:
            raise EddyError(
                f"column {reserved[0]!r}: names that begin with two underscores are for what travels with rows"
            )
        self.query = query
        self.partitioning = partitioning
        self.number = number
        self.counted = counted(query)
        if self.counted and not travels and (partitioning.cells > 1 or not query.attachments):
            raise EddyError(
                f"the window of {self.counted[0]} counts rows, so their numbers must travel with them"
            )
        if query.attachments and travels:
            raise EddyError(f"with {query.attachments[0]} nothing travels with the rows: give travels=False")
        self.travels = travels
        share = Share(frozenset(self.counted)) if travels else None
        self._state = started(steered(build(checked(query, **options), options.get("plan"), share)))
        self.engine = EngineOver(self._state)
        self._next_row = dict.fromkeys(query.names, 0)
        self._event: int | None = None
        slices = partitioning.slices
        self._begin = None if slices is None or number == 0 else (slices.by, slices.starts[number])
        self.dropped = 0
        """Events before the slice, whose results belong to others."""

    def push(self, batches: Mapping[str, Any]) -> Result:
        """Rows arrive, of any streams, later than all before; returns the results that belong to this cell.

        There may be none: a stretch of the feed need not have rows for every cell.
        """
        if not isinstance(batches, Mapping):
            raise EddyError(f"push takes a dict of stream name to batch, not {type(batches).__name__}")
        state = self._state
        if not self.travels and self._begin is None:
            given = push(state, batches, None)
            assert isinstance(given, Result)
            return given
        arrivals, travel, order = self._admit(batches)
        if not len(arrivals.streams):
            return and_released(state, state.output.nothing(state.fetch))
        before = self._before(arrivals, order)
        if before == 0:
            result = take(state, arrivals, None)
            assert isinstance(result, Result)
            self._begin = None  # so will all that follow
        else:
            result = self._take_from(before, arrivals)
        # Not sooner: what was refused, or what a policy's error has stopped, may be pushed again.
        if order is not None:
            self._event = int(order[-1])
        for name, brought in travel.items():
            if len(brought.rows):
                self._next_row[name] = int(brought.rows[-1]) + 1
        state.faults.warn()
        return result

    def _take_from(self, before: int, arrivals: Arrivals) -> Result:
        """Take rows in, of which so many come before the slice."""
        state = self._state
        state.recent.begin(*state.kept_from())
        state.intake.accept(arrivals)
        parts = []
        for piece in _cut_at(arrivals, before, state.batch_length):
            own = before <= 0
            part = process(state, piece, results=own)
            if own:
                part.contents.rows()  # the next piece uses the ring again
                parts.append(part)
            else:
                state.changes.work(0)
            before -= len(piece.streams)
        nothing = state.output.nothing(state.fetch)
        return state.recent.give(Result.concat([nothing, *parts]))

    def close(self) -> Result:
        """All windows end: what an outer or an anti join still owes. The cell takes no more rows."""
        state = self._state
        last = (
            state.output.nothing(state.fetch) if state.closed else passing.owed(state, passing.flush(state))
        )
        self._state = passing.ended(state)
        self.engine = EngineOver(self._state)
        return last

    def migrate(self, plan: str) -> None:
        """Change the plan of this cell now. No row moves to another cell."""
        self.engine.migrate(plan)

    @property
    def plan(self) -> str:
        return self.engine.plan

    def statistics(self) -> Statistics:
        return self.engine.statistics()

    def lows(self) -> dict[str, int]:
        """For each stream the number, in the whole stream, of the first row that this cell still needs.

        Rows below are dead for all events to come: a checkpoint is the rows from here on, to be pushed again.
        """
        state, found = self._state, {}
        if self.query.attachments:
            raise EddyError(
                f"with {self.query.attachments[0]} rows cannot be pushed again: which of them had a partner is not in "
                "them"
            )
        if not self.travels:
            return dict(zip(self.query.names, state.lowwater.lows.tolist(), strict=True))
        lows, counts = state.row_numbers.lows.tolist(), state.row_numbers.counts.tolist()
        for i, name in enumerate(self.query.names):
            if lows[i] < counts[i]:
                found[name] = int(state.streams[i].payload.storage(ROW, np.array([lows[i]])).values[0])
            else:
                found[name] = self._next_row[name]
        return found

    def _admit(self, batches: Mapping[str, Any]) -> tuple[Arrivals, dict[str, Travel], Array | None]:
        """Check the batches; what travels with them, and the event numbers in arrival order, where they are given."""
        state = self._state
        prepare(state)
        if not self.travels:
            return state.intake.admit(batches), {}, None
        own: dict[str, dict[str, Any]] = {}
        travel: dict[str, Travel] = {}
        for name, batch in batches.items():
            columns = dict(_mapping(name, batch))
            if name not in self.query.streams:
                own[name] = columns
                continue
            n = len(next(iter(columns.values()))) if columns else 0
            rows = self._taken(name, columns, ROW, bool(self.counted))
            events = self._taken(name, columns, EVENT, not self.query.timed)
            marks = [self._taken(name, columns, mark_column(c), True) for c in self.counted]
            if rows is None:
                rows = np.arange(self._next_row[name], self._next_row[name] + n)
            own[name] = columns
            stacked = (
                np.stack([mark for mark in marks if mark is not None], axis=1)
                if marks
                else np.empty((n, 0), np.int64)
            )
            travel[name] = Travel(rows, np.ascontiguousarray(stacked), events)
        with_events = [brought.events is not None for brought in travel.values() if len(brought.rows)]
        if any(with_events) and not all(with_events):
            raise BatchError(
                f"some batches have {EVENT} and some have not: give it to all of them, or to none"
            )
        arrivals = state.intake.admit(own, travel)
        order = None
        if with_events and with_events[0] and arrivals.given is not None:
            order = np.empty(len(arrivals.streams), np.int64)
            for part in arrivals.parts:
                order[part.events] = travel[self.query.names[part.stream]].events  # type: ignore[assignment]
            if self._event is not None and order[0] <= self._event:
                raise BatchError(
                    f"event {order[0]} comes after event {self._event}: push events in their order"
                )
        return arrivals, travel, order

    def _taken(self, name: str, columns: dict[str, Any], column: str, needed: bool) -> Array | None:
        """A column that travels, taken out of the batch."""
        if column not in columns:
            if needed:
                raise BatchError(
                    f"stream {name}: column {column!r} is missing, which travels with the rows: see eddy.partition"
                )
            return None
        values: Array = convert(f"stream {name}, column {column!r}", INT64, columns.pop(column)).values
        return values

    def _before(self, arrivals: Arrivals, order: Array | None) -> int:
        """How many of the events come before the slice."""
        if self._begin is None:
            return 0
        by, start = self._begin
        along = arrivals.times if by == "time" else order
        if along is None:
            if len(arrivals.streams):
                raise BatchError(f"a slice of events needs {EVENT} with the rows")
            return 0
        before = int(np.searchsorted(along, start))
        self.dropped += before
        return before


def _cut_at(arrivals: Arrivals, place: int, size: Callable[[], int]) -> Iterator[Arrivals]:
    """The arrivals in batches, of at most as many events as ``size`` says, none of which goes across a place."""
    for first in arrivals.cut(lambda: max(1, place)):
        yield from first.cut(size)
