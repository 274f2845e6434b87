"""Time that goes on: pushes of rows in any order, promises that nothing older comes, and the end of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eddy.engine.batch import pass_time
from eddy.engine.build import build
from eddy.engine.doors import check_ready
from eddy.engine.drawing import hand_over, leave
from eddy.engine.pushing import and_released, push_in_order
from eddy.errors import BatchError, EddyError, StateError
from eddy.query.query import Query
from eddy.reorder.buffer import Offer, ReorderBuffer
from eddy.results.result import Result
from eddy.shown import shown
from eddy.signals import DeferredSignals
from eddy.steering.steering import Steering
from eddy.values.conversion import convert
from eddy.values.types import ColumnType, timestamp_type

if TYPE_CHECKING:
    from eddy.state import EngineState


def push_unordered(
    state: EngineState,
    buffer: ReorderBuffer,
    batches: Mapping[str, Any],
    max_rows: int | None,
    signals: DeferredSignals,
) -> Result | Iterator[Result]:
    """Rows arrive in any order; returns what those bring that the watermark has passed now."""
    check_ready(state, "push more")
    return _release(state, buffer, buffer.offer(batches), max_rows, signals)


def advance(state: EngineState, ts: Any, stream: str | None) -> Result:
    """Nothing older than ``ts`` comes any more, of a stream or of any: what that ends and brings."""
    time = None if ts is None else time_in(state.options.query, ts, stream)
    buffer = state.reorder
    if buffer is None and (stream is not None or time is None):
        raise EddyError(
            "without lateness= all streams have one time, which their rows tell: advance(ts) moves it; "
            "with Eddy(query, lateness=0) each stream has its own"
        )
    if buffer is not None and stream is not None and stream not in buffer.numbers:
        raise EddyError(f"stream {stream} is static: it has no time")

    def work(signals: DeferredSignals) -> Result | Iterator[Result]:
        check_ready(state, "advance")
        if buffer is None:
            return passed(state, time, None)
        before, offer = buffer.watermarks.at, buffer.advanced(time, stream)
        given = _release(state, buffer, offer, None, signals)
        at = buffer.watermarks.at
        return passed(state, at, given) if at > before and isinstance(given, Result) else given

    return _entered(state, work)


def flush(state: EngineState) -> Result:
    """Process what waits for the watermark."""
    buffer = state.reorder

    def work(signals: DeferredSignals) -> Result | Iterator[Result]:
        check_ready(state, "flush")
        if buffer is None:
            return state.output.nothing(state.fetch)
        return _release(state, buffer, buffer.flushed(), None, signals)

    return _entered(state, work)


def settled(state: EngineState, flushed: Result, settle: Callable[[], Result]) -> Result:
    """What a change of plan holds back when the engine is closed, behind the results of the last flush."""
    try:
        state.changes.check_none_held()
    except StateError:
        state.access.read(flushed.contents.materialise)
        return Result.concat([flushed, settle()])
    return flushed


def owed(state: EngineState, flushed: Result) -> Result:
    """What is owed when all windows end, behind the results of the last flush: see `Output.ended`."""
    if state.attached is None:
        return flushed

    def work(signals: DeferredSignals) -> Result:
        state.access.take()
        try:
            flushed.contents.materialise()
            state.recent.begin(*state.kept_from())
            last = state.output.ended(state.streams, state.fetch)
            state.results += len(last)
            return state.recent.give(Result.concat([flushed, last]))
        finally:
            state.access.give()

    return _entered(state, work)


def ended(state: EngineState) -> EngineState:
    """What is left of an engine that is over: its options and counts, and no rows. Results that were given stay."""
    state.recent.seal()
    state.log.flush(last=True)
    over = build(state.options, str(state.plan))
    over.events, over.results, over.migrations = state.events, state.results, state.migrations
    over.refused = state.refused
    over.steering, over.closed, over.log = Steering(over), True, state.log
    if state.reorder is not None and over.reorder is not None:
        over.reorder.late_counts, over.reorder.kept = state.reorder.late_counts, state.reorder.kept
        over.reorder.watermarks = state.reorder.watermarks
    return over


def _entered(state: EngineState, work: Callable[[DeferredSignals], Any]) -> Result:
    """What a caller's work returns, while signals wait; as for `pushing.push`."""
    signals = state.access.enter()
    try:
        given = work(signals)
    except BaseException:
        leave(state, signals)
        raise
    returned: Result = hand_over(state, signals, given)
    return returned


def _release(
    state: EngineState, buffer: ReorderBuffer, offer: Offer, max_rows: int | None, signals: DeferredSignals
) -> Result | Iterator[Result]:
    """Push what has left the buffer. It is as it was if that is refused, as by an error of a policy."""
    if offer.released or max_rows is not None:
        given = push_in_order(state, offer.released, max_rows, signals)
    else:
        given = and_released(state, state.output.nothing(state.fetch))
    buffer.accept(offer)
    for number, run in offer.late.items():
        state.log.count("late rows", state.options.query.names[number], len(run))
    return given


def passed(state: EngineState, time: int | None, before: Result | None) -> Result:
    """Let windows move on to a time, if one uses time; the results of that come after ``before``."""
    nothing = state.output.nothing(state.fetch) if before is None else before
    now = state.intake.now
    if time is None or not state.intake.time_windows or (now is not None and time <= now):
        return nothing
    state.access.take()
    try:
        if before is not None:
            before.contents.materialise()
        result = pass_time(state, time)
        if before is None or not len(before):
            return result
        return state.recent.give(Result.concat([before, result])) if len(result) else before
    finally:
        state.access.give()


def time_in(query: Query, ts: Any, stream: str | None) -> int:
    """A point in time as its column takes it, in the unit of the query."""
    if stream is not None and stream not in query.streams:
        raise EddyError(f"the query has no stream {stream!r}, only {', '.join(query.names)}")
    if not query.timed:
        raise EddyError("the streams of this query have no time that could advance: give each a time column")
    name = next(n for n, s in query.streams.items() if not s.static) if stream is None else stream
    declared = query.streams[name]
    kind: ColumnType = declared.columns[declared.time or ""]
    if stream is None and query.time_unit is not None:
        kind = timestamp_type(query.time_unit, kind.zone)
    try:
        column = convert("advance", kind, [ts])
    except BatchError as error:
        raise EddyError(str(error)) from None
    if column.valid is not None:
        raise EddyError(f"advance takes a time, not {shown(ts)}")
    return int(column.values[0] if stream is None else query.time_of(name, column.values)[0])
