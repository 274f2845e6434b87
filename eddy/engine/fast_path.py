"""The fast path: batches of plain arrays that kernels take in by themselves.

What a batch costs in Python is the same for ten rows and for ten thousand, and in a fast engine it is much of the
whole. So while an engine is in its ordinary state - one plan of probes, no holes, nothing that waits - a push of numpy
arrays of the declared types goes to two kernels. Everything else takes the long way, through `Intake` and `Router`:
other batches, wrong ones, an engine that is changing its plan. Both ways lead to the same state, so a push may take
either.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from eddy.fast.router_tables import RouterTables
from eddy.fast.tables import SEGMENT, PushTables
from eddy.intake.columns import plain_columns
from eddy.intake.intake import Arrivals
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.router.router import Router
from eddy.store.leaves import REVIEW
from stairs.lowlevel.address import OPEN

if TYPE_CHECKING:
    from eddy.state import EngineState

PATIENCE = 16
"""Pushes that go the long way before another try, where the first batch could not take the short one."""


Taken = tuple[list[Result], Arrivals | None]
"""What was made of a push: its results, in parts, and what is left of it and must take the long way, if anything."""


class FastPath:
    """Takes what it can of an engine's pushes."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._tables: PushTables | None = None
        self._wait = 0
        """Pushes until it is worth a look whether the engine is in its ordinary state."""
        self._never = not is_plain(state)

    def push(self, batches: Mapping[str, Any]) -> Taken | None:
        """Take a push in; None, and nothing has changed, if it must take the long way."""
        state, tables, opened = self._state, self._tables, False
        if tables is not None:
            tables.rouse()
        if self._never or state.row_numbers.thin or type(batches) is not dict:
            return None
        if not state.changes.quiet:
            return None
        if tables is None or not tables.fits():
            self._tables, tables, opened = None, self._open(), True
        if tables is None or state.executor.reviews_next:
            return None
        handles, held = _handles(tables, state.query, batches)
        now = state.intake.now
        if handles is not None and state.steering.due:
            if not tables.admit(handles, held, now):
                self._refused(opened and tables.fits())
                return None
            state.steering.decide()
            if not state.changes.quiet or not tables.fits():  # nothing of the batch has been taken in yet
                return None
        if handles is None:
            self._refused(opened)
            return None
        return self._process(tables, handles, held, opened)

    def _refused(self, opened: bool) -> None:
        """A batch must take the long way; if it is the first for its tables, others are likely to."""
        self._wait = PATIENCE if opened else 0

    @property
    def nbytes(self) -> int:
        """Bytes that it holds for itself; tables that fit no more are as good as gone."""
        return 0 if self._tables is None or not self._tables.fits() else self._tables.nbytes

    def _open(self) -> PushTables | None:
        """New tables, if kernels alone can do a batch as things are now, and it is worth a try."""
        router = self._state.executor
        if isinstance(router, Router) and not router.at_ease:
            return None
        self._wait -= 1
        if self._wait > 0:
            return None
        tables = _tables_of(self._state)
        if tables is None and self._state.options.threads == 1:
            self._wait = REVIEW
        return tables

    def _process(self, tables: PushTables, handles: list[int], held: list[Any], opened: bool) -> Taken | None:
        """Take a push in; where the policy is due in the middle of it and changes the plan, the rest is left."""
        state, parts = self._state, list[Result]()
        recent, start = state.recent, time.perf_counter()
        recent.make_way()
        try:
            if not tables.begin(handles, held, state.intake.now, recent.next_ring):
                wider = None if tables.fits() else _tables_of(state)  # tables with more room have been made
                if wider is not None:
                    return self._process(wider, handles, held, opened)
                self._refused(opened)
                return None
            self._tables = tables
            before = tables.begun()
            tables.make_room(recent.turn(before[0]))
            if tables.shared:
                self._note(tables, before, tables.events)
            while not tables.finish(recent.ring):
                state.access.pause()
                done = tables.done - tables.first
                if done >= SEGMENT and state.steering.due_after(done):
                    parts.append(self._emit(tables, before, tables.cut(), start))
                    tables.begin_segment()
                    if not self._ask(parts[-1]) or not tables.fits():
                        return parts, tables.rest()
                    tables.go_on()
                    before, start = tables.begun(), time.perf_counter()
            parts.append(self._emit(tables, before, tables.events, start))
        except BaseException as error:
            tables.give_up()
            state.broken = error
            raise
        tables.review()
        return parts, None

    def _note(self, tables: PushTables, before: tuple[list[int], list[int]], stop: int) -> None:
        """Write down the events up to ``stop``; ``before`` are low-water rows and next rows before them."""
        state, first, times = self._state, tables.first, tables.times
        if times is not None:
            times = times[first:stop]
            state.intake.now = int(times[-1])
        state.history.note(
            state.events, before[1], before[0], tables.order[first:stop], times, state.executor.plan
        )

    def _emit(
        self, tables: PushTables, before: tuple[list[int], list[int]], stop: int, start: float
    ) -> Result:
        """The results of the events up to ``stop``, taken in since the time ``start``, as `batch.process` has them."""
        state = self._state
        if not tables.shared:
            self._note(tables, before, stop)
        result = state.output.of(state.executor, state.recent.ring, state.streams, state.fetch)
        state.events += stop - tables.first
        state.batches += tables.portions(stop)
        state.results += result.count
        state.seconds += time.perf_counter() - start
        return state.recent.give(result)

    def _ask(self, part: Result) -> bool:
        """Ask the routing policy in the middle of a push, after ``part`` of its results; whether it may go on here."""
        state = self._state
        if not state.output.signed:
            part.contents.rows()  # what follows uses the ring again
        state.steering.decide(between=True)
        return state.changes.quiet


def _handles(
    tables: PushTables, query: Query, batches: Mapping[str, Any]
) -> tuple[list[int] | None, list[Any]]:
    """The handles of the columns of all streams, and the columns: kept for as long as their handles are used.

    No handles if there is anything else in the batches, or less, or something that is no plain array.
    """
    handles: list[int] = []
    held: list[Any] = []
    for name, columns, absent in tables.columns:
        batch = batches.get(name)
        if batch is None:
            handles += absent
            continue
        values: Sequence[Any] | None = None
        if type(batch) is dict and len(batch) == len(absent):
            try:
                values = columns(batch)
            except KeyError:
                return None, held
        if values is None or type(values[0]) is not ndarray:  # kernels look at the others
            values = plain_columns(name, query.streams[name], batch)
            if values is None:
                return None, held
        held.append(values)
        handles += map(id, values)
    return (handles if len(held) == len(batches) else None), held


def is_plain(state: EngineState) -> bool:
    """Whether a query, and what is asked of its results, leaves nothing to do but to join arrays as they are."""
    if state.query.in_order:
        return False  # rows have a column that no batch brings
    return OPEN and state.output.number is None and state.budget is None and state.intake.is_plain


def _tables_of(state: EngineState) -> PushTables | None:
    """Tables for the kernels, if they alone can do a batch as things are now."""
    executor = state.executor
    if executor.shards:
        from eddy.threads.crew import Crew  # its kernels are compiled only where there are threads
        from eddy.threads.fast import CrewTables

        assert isinstance(executor, Crew)
        return None if executor.fast is None else CrewTables(state, executor, executor.fast)
    if not isinstance(executor, Router):
        return None
    sequence = executor.kernels
    if sequence is None or any(len(key.classes) != 1 for _, key in sequence.leaves):
        return None
    return RouterTables(state, executor, sequence)
