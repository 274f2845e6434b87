"""The fast path: batches of plain arrays that kernels take in by themselves.

What a batch costs in Python is the same for ten rows and for ten thousand, and in a fast engine it is much of the
whole. So while an engine is in its ordinary state - one plan of probes, no holes, nothing that waits - a push of numpy
arrays of the declared types goes to two kernels. Everything else takes the long way, through `Intake` and `Router`:
other batches, wrong ones, an engine that is changing its plan. Both ways lead to the same state, so a push may take
either.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eddy.fast.tables import PushTables, RouterTables
from eddy.intake.intake import Arrivals
from eddy.results.result import Result
from eddy.router.ordinary import can_run_in_kernels
from eddy.router.router import Router
from eddy.store.leaves import REVIEW
from stairs.lowlevel.address import OPEN

if TYPE_CHECKING:
    from eddy.state import EngineState

PATIENCE = 16
"""Pushes that go the long way before another try, where the first batch could not take the short one."""


class FastPath:
    """Takes what it can of an engine's pushes."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._tables: PushTables | None = None
        self._wait = 0
        """Pushes until it is worth a look whether the engine is in its ordinary state."""
        self._never = not is_plain(state)

    def push(self, batches: Mapping[str, Any]) -> Result | None:
        """The results of a push; None, and nothing has changed, if it must take the long way."""
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
        handles, held = _handles(tables, batches)
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

    def _process(
        self, tables: PushTables, handles: list[int], held: list[Any], opened: bool
    ) -> Result | None:
        """Take a batch in, as `pushing.take` and `batch.process` would. While others work on it, it is written down."""
        state = self._state
        handout, start = state.handout, time.perf_counter()
        handout.make_way()
        try:
            if not tables.begin(handles, held, state.intake.now, handout.next_ring):
                wider = None if tables.fits() else _tables_of(state)  # tables with more room have been made
                if wider is not None:
                    return self._process(wider, handles, held, opened)
                self._refused(opened)
                return None
            self._tables, m = tables, tables.events
            lows, counts = tables.begun()
            tables.make_room(handout.turn(lows))
            arrivals = Arrivals(tables.order[:m], None if tables.times is None else tables.times[:m], ())
            state.intake.accept(arrivals)
            state.history.note(state.events, counts, lows, arrivals, state.executor.plan)
            while not tables.finish(handout.ring):
                state.access.pause()
            result = state.output.of(state.executor, handout.ring, state.streams, state.fetch)
        except BaseException as error:
            tables.give_up()
            state.broken = error
            raise
        tables.review()
        state.events += m
        state.batches += tables.portions
        state.results += result.count
        state.seconds += time.perf_counter() - start
        return handout.give(result)


def _handles(tables: PushTables, batches: Mapping[str, Any]) -> tuple[list[int] | None, list[Any]]:
    """The handles of the columns of all streams, and the columns: kept for as long as their handles are used.

    No handles if there is anything else in the batches, or less.
    """
    handles: list[int] = []
    held: list[Any] = []
    for name, columns, absent in tables.columns:
        batch = batches.get(name)
        if batch is None:
            handles += absent
            continue
        if type(batch) is not dict or len(batch) != len(absent):
            return None, held
        try:
            values = columns(batch)
        except KeyError:
            return None, held
        held.append(values)
        handles += map(id, values)
    return (handles if len(held) == len(batches) else None), held


def is_plain(state: EngineState) -> bool:
    """Whether a query, and what is asked of its results, leaves nothing to do but to join arrays as they are."""
    return (
        OPEN
        and not state.output.signed
        and state.output.number is None
        and state.budget is None
        and state.intake.is_plain
    )


def _tables_of(state: EngineState) -> PushTables | None:
    """Tables for the kernels, if they alone can do a batch as things are now."""
    executor = state.executor
    if executor.shards:
        from eddy.threads.crew import Crew  # its kernels are compiled only where there are threads
        from eddy.threads.fast import CrewTables

        assert isinstance(executor, Crew)
        return None if executor.fast is None else CrewTables(state, executor, executor.fast)
    if not isinstance(executor, Router) or not can_run_in_kernels(executor):
        return None
    return RouterTables(state, executor)
