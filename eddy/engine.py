"""The eddy: takes batches in, keeps the streams and the router in step, hands results out."""

from __future__ import annotations

import operator
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from eddy import snapshot
from eddy.box import Batch, Box, history
from eddy.census import take_census
from eddy.chain_plan import Subtractions, parse_subtractions
from eddy.change import Change
from eddy.chunks import chunks
from eddy.errors import BatchError, EddyError, PlanError, StateError
from eddy.explain import explain
from eddy.explanation import Explanation
from eddy.handout import Handout, emit
from eddy.history import History
from eddy.intake import Arrivals, Intake, stored_columns
from eddy.itinerary import Compiler
from eddy.leaf import StreamState
from eddy.lowwater import LowWater
from eddy.output import GroupedOutput, Output, SignedOutput
from eddy.payload import Payload
from eddy.plan import Plan, connected_order, left_deep, parse_plan
from eddy.query import Query
from eddy.result import Result
from eddy.router import Router
from eddy.statistics import MigrationStatistics, Statistics
from eddy.strings import StringPool
from eddy.track import Track
from eddy.types import Column
from eddy.why import Inquiry
from eddy.windows import Unbounded
from policies import Feedback, Fixed, Jisc, Migration, NoFeedback, Routing
from stairs import SortedIndex

LOGGED = 64
"""Migrations that are remembered when they are over."""


class Eddy:
    """Joins the streams of a query, under a plan that may change at any moment.

    Every result is given exactly once, by the push that brings its latest event, in the order of these events.
    Batch size, plan, plan changes and policies never change the results.
    """

    def __init__(
        self,
        query: Query,
        plan: str | None = None,
        routing: Routing | None = None,
        migration: Migration | None = None,
        feedback: Feedback | None = None,
        batch_size: int = 4096,
        joins: str = "hash",
        seed: int = 0,
        retractions: bool = False,
        _first_row: int = 0,
    ) -> None:
        if not isinstance(query, Query):
            raise EddyError(
                f"Eddy needs an eddy.Query, not {type(query).__name__}: make one with eddy.Query or eddy.sql"
            )
        if joins not in ("hash", "nested"):
            raise EddyError(f"joins must be 'hash' or 'nested', not {joins!r}")
        self.query = query
        self.routing = _policy("routing", routing, Routing, Fixed())
        self.migration = _policy("migration", migration, Migration, Jisc())
        self.feedback = _policy("feedback", feedback, Feedback, NoFeedback())
        self.retractions = _flag("retractions", retractions)
        self._check_technique()
        self.batch_size = _whole("batch_size", batch_size)
        self.joins = joins
        self.seed = seed
        self._compiler = Compiler(query)
        self._plan = self._parse(plan)
        self._first_row = _first_row
        self._pool = StringPool()
        stored = stored_columns(query)
        self._streams = [
            self._stream(i, name, stored[name], _first_row) for i, name in enumerate(query.names)
        ]
        self._intake = Intake(query, self._pool, stored)
        self._lowwater = LowWater(*query.window_table(), _first_row)
        self._history = History()
        self._output = self._make_output()
        self._router = self._make_router(self._streams)
        self._router.install(self._plan, fresh=True)
        self._events = self._results = self._migrations = 0
        self._decided = 0
        self._handout = Handout()
        self._drawing: Generator[Result | None, None, None] | None = None
        self._broken: BaseException | None = None
        self._changes: list[Change] = []
        """Plan changes under way, oldest first."""
        self._log: deque[MigrationStatistics] = deque(maxlen=LOGGED)
        self._held: list[tuple[Track, list[Result]]] = []
        """Results that a track may not emit yet."""
        self._released: list[Result] = []
        self.routing.begin(query.names, seed)

    def _stream(self, number: int, name: str, stored: set[str], first_row: int) -> StreamState:
        query = self.query
        columns = {c: query.streams[name].columns[c] for c in query.streams[name].columns if c in stored}
        classes = tuple(c.index for c in query.key_classes if name in c.members)
        state = StreamState(number, name, classes, Payload(columns, self._pool, first_row), first_row)
        for residual in query.residuals:
            form = residual.range_for(name) if name in residual.streams and self.joins == "hash" else None
            if form is not None:
                state.indexes[residual] = (form.index, SortedIndex())
        return state

    def _make_output(self) -> Output:
        if self.query.aggregates:
            return GroupedOutput(self.query, self._pool)
        if self.retractions or self.query.minus:
            return SignedOutput(self.query, self._pool)
        return Output(self.query, self._pool)

    def _make_router(self, streams: list[StreamState]) -> Any:
        """What runs batches over these streams: a router, or for a set difference a chain, which has the same doors."""
        if self.query.minus:
            from eddy.chain import Chain  # its kernels are compiled only where they are needed

            return Chain(self.query, self._compiler, streams)
        bounded = [not isinstance(stream.window, Unbounded) for stream in self.query.streams.values()]
        return Router(self._compiler, streams, self.joins == "nested", bounded)

    def _check_technique(self) -> None:
        name = type(self.migration).__name__
        if self.query.minus and self.migration.joins_only:
            raise EddyError(
                f"{name} cannot migrate a set difference: it tells results apart by their old and new rows, but here "
                "they depend on rows that are not in them. Use Jisc, MovingState, EagerStairs, Gms, Gpt or Ghm"
            )
        if getattr(self.migration, "order", "max") == "pt" and (self.retractions or self.query.aggregates):
            raise EddyError(
                f'{name}(order="pt") holds results back, so they could be withdrawn before they are given: '
                'use order="max" with retractions and aggregates'
            )

    def _parse(self, plan: str | None) -> Any:
        names = self.query.names
        if self.query.minus:
            inner = [minus.stream for minus in self.query.minus]
            base = self.query.base or ""
            return Subtractions(base, tuple(inner)) if plan is None else parse_subtractions(plan, base, inner)
        if plan is None:
            return left_deep(connected_order(names[0], names, self._compiler.connected))
        return parse_plan(plan, names, self._compiler.connected)

    # -- doors -----------------------------------------------------------------------------------------------------

    @overload
    def push(self, stream: str, batch: Any) -> Result: ...
    @overload
    def push(self, stream: str, batch: Any, *, max_rows: None) -> Result: ...
    @overload
    def push(self, stream: str, batch: Any, *, max_rows: int) -> Iterator[Result]: ...

    def push(self, stream: str, batch: Any, *, max_rows: int | None = None) -> Result | Iterator[Result]:
        """Rows of one stream arrive; returns the results they bring.

        ``batch``: a dict of arrays, a structured numpy array, a pyarrow table or record batch, a pandas or polars
        frame. With ``max_rows`` the results come as an iterator of parts of at most that many rows, and no more than
        that are ever built at a time; draw it to its end before the next push. A batch that is refused (BatchError)
        changes nothing.
        """
        return self._push({stream: batch}, max_rows)

    @overload
    def push_all(self, batches: Mapping[str, Any]) -> Result: ...
    @overload
    def push_all(self, batches: Mapping[str, Any], *, max_rows: None) -> Result: ...
    @overload
    def push_all(self, batches: Mapping[str, Any], *, max_rows: int) -> Iterator[Result]: ...

    def push_all(
        self, batches: Mapping[str, Any], *, max_rows: int | None = None
    ) -> Result | Iterator[Result]:
        """Rows of several streams arrive together, merged by time; ties in the order of the query's streams.

        Where not every stream has a time column, position is the time: first every stream's first row, and so on.
        """
        if not isinstance(batches, Mapping):
            raise EddyError(f"push_all takes a dict of stream name to batch, not {type(batches).__name__}")
        return self._push(batches, max_rows)

    def run(self, source: Iterable[tuple[str, Any]]) -> Iterator[Result]:
        """Push every (stream, batch) of a source and yield what each brings."""
        for item in source:
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise BatchError(
                    f"run takes a source of (stream name, batch) pairs, but it gave a {type(item).__name__}: "
                    "for batches of several streams at once call push_all"
                )
            yield self.push(*item)

    def _push(self, batches: Mapping[str, Any], max_rows: int | None) -> Result | Iterator[Result]:
        if max_rows is not None:
            max_rows = _whole("max_rows", max_rows)
        self._check_ready("push more")
        if self._pool.wants_sweep:  # before the batch is encoded: its codes are in no payload yet
            in_use = [codes for stream in self._streams for codes in stream.payload.codes_in_use()]
            self._pool.sweep((*in_use, *self._output.codes_in_use()))
        self._decide()
        arrivals = self._intake.admit(batches)
        self._handout.begin(self._streams, self._lowwater.lows.tolist())
        self._intake.accept(arrivals)
        if max_rows is not None:
            if len(arrivals.streams) > self.batch_size:
                arrivals = (
                    arrivals.copied()
                )  # it is read after this call, when the caller may use his arrays again
            self._drawing = self._draw(arrivals, max_rows)
            next(self._drawing)
            return cast(Iterator[Result], self._drawing)
        if len(arrivals.streams) <= self.batch_size:
            return self._give_released(self._process(arrivals))
        parts = []
        for piece in arrivals.cut(self.batch_size):
            part = self._process(piece)
            _ = part.rows  # read now: the next piece uses the ring again
            parts.append(self._give_released(part))
        return self._handout.give(Result.concat(parts))

    @property
    def pending(self) -> Iterator[Result] | None:
        """The results of the last ``push(..., max_rows=...)`` that are still to be drawn, if there are any."""
        return cast("Iterator[Result] | None", self._drawing)

    def _check_ready(self, what: str) -> None:
        if self._broken is not None:
            raise StateError(
                f"the engine stopped in the middle of a batch ({self._broken!r}), so its state is not to be trusted: "
                "make a new one, or load the last snapshot"
            ) from self._broken
        if self._drawing is not None:
            raise StateError(
                "the results of the last push(..., max_rows=...) are not all drawn: draw the iterator, which is also "
                f"engine.pending, to its end, then {what}"
            )

    # -- a batch ---------------------------------------------------------------------------------------------------

    def _process(self, arrivals: Arrivals, results: bool = True) -> Result:
        """Take a batch in; returns its results, or none of them if they are drawn in another way."""
        try:
            return self._route(arrivals, results)
        except BaseException as error:
            self._broken = error
            raise

    def _route(self, arrivals: Arrivals, results: bool) -> Result:
        arrivals = self.feedback.sift(arrivals)
        router, ring = self._router, self._handout.ring
        lows, counts = self._lowwater.lows.copy(), self._lowwater.counts.copy()
        marks, first, _ = self._lowwater.advance(arrivals.streams, arrivals.times)
        self._history.note(self._events, counts.tolist(), lows.tolist(), arrivals, self._plan)
        router.begin(first, lows, counts, ring)
        router.leaves.append(arrivals.parts)
        router.newest = self._lowwater.counts.copy()
        router.run(marks, ring, results)
        for change in self._changes:
            if change.boxed is not None:
                change.boxed.feed(Batch(arrivals.copied(), marks.copy(), lows, counts))
        self._events += len(arrivals.streams)
        if not results:
            return self._nothing()
        emitted = self._handout.give(self._output.of(router, ring, self._streams, self._fetch))
        self._results += len(emitted)
        self._finish(len(emitted))
        return emitted

    def _finish(self, results: int = 0) -> None:
        """After a batch: migration goes on."""
        if not self._changes:
            return
        held = self._hold()
        change = self._changes[-1]
        change.note(len(self._router.marks), results, held)
        change.dropped = []
        self._pump(change, self.migration.work)

    def _hold(self) -> int:
        """Put results by that a track may not emit yet; how many."""
        count = 0
        for track in self._router.tracks:
            if track.held is not None and len(track.held):
                result = emit(self.query, self._router, track.held, self._fetch)
                result.seal()
                if not self._held or self._held[-1][0] is not track:
                    self._held.append((track, []))
                next(parts for of, parts in self._held if of is track).append(result)
                count += len(result)
        return count

    def _pump(self, change: Change, call: Callable[[Change], None]) -> None:
        """Let the technique go on, and see what has come of it."""
        start = time.perf_counter()
        call(change)
        change.seconds += time.perf_counter() - start
        change.look()
        if change.adopted is not None:
            self._adopt(change.adopted)
        holding = {id(track) for track in self._router.tracks if track.held is not None}
        while self._held and id(self._held[0][0]) not in holding:
            self._released += self._held.pop(0)[1]
        if self.migration.done(change):
            for open_change in self._changes:
                open_change.ended = self._events
                self._log.append(open_change.statistics())
            self._changes = []

    def _box(self, plan: Plan, firsts: Sequence[int]) -> Box:
        def stream(number: int, first: int) -> StreamState:
            name = self.query.names[number]
            return self._stream(number, name, set(self._streams[number].payload.columns), first)

        streams = [stream(number, first) for number, first in enumerate(firsts)]
        router = self._make_router(streams)
        router.install(plan, fresh=True)
        return Box(streams, router, np.array(firsts, np.int64))

    def _adopt(self, box: Box) -> None:
        """Another plan takes over with rows of its own."""
        self._handout.seal()
        box.router.filled_before = self._router.keys_filled
        box.router.composites_built = self._router.composites_built
        self._router, self._streams = box.router, box.streams
        self._router.newest = self._lowwater.counts.copy()
        for change in self._changes:
            change.adopted, change.boxed = None, None
            change.use(box.router)

    def settle(self) -> Result:
        """Finish a migration now; returns the results that it has held back (`ParallelTrack(order="pt")` does).

        States that the current plan lacks are computed at once. There is no need to call this: migrations end by
        themselves. Without one under way it does nothing.
        """
        self._check_ready("settle")
        if self._changes:
            self._pump(self._changes[-1], lambda change: change.finish())
        return self._give_released(self._nothing())

    def _nothing(self) -> Result:
        rows = np.empty((0, len(self.query.names)), np.int64)
        return Result(self.query, 0, lambda: rows, self._fetch)

    def _give_released(self, result: Result) -> Result:
        """A result and, after it, what need not be held any longer."""
        if not self._released:
            return result
        released, self._released = self._released, []
        self._results += sum(len(part) for part in released)
        return self._handout.give(Result.concat([result, *released] if len(result) else released))

    def _decide(self) -> None:
        """Before a push, when the results of the last are handed out: routing may choose another plan."""
        if self.routing.period is not None and self._events - self._decided >= self.routing.period:
            self._decided = self._events
            plan = self.routing.choose(self.statistics())
            if plan is not None:
                self._change(self._parse(plan))

    def _draw(self, arrivals: Arrivals, max_rows: int) -> Generator[Result | None, None, None]:
        """Yields nothing once, when the first rows are stored, then the results in parts.

        Closing it gives up the results that are left, but never a row.
        """
        pieces = arrivals.cut(self.batch_size)
        primed = False
        try:
            for piece in pieces:
                whole = self._process(piece, results=self._output.signed)
                if not primed:
                    primed = True
                    yield None
                if self._output.signed:  # withdrawals are found for a batch at a time
                    yield from self._give_released(whole).pieces(max_rows)
                    continue
                made = 0
                for ring in chunks(self._router, max_rows, self._handout.ring):
                    made += len(ring)
                    self._results += len(ring)
                    result = self._handout.give(emit(self.query, self._router, ring, self._fetch))
                    _ = result.rows  # read now: the next part uses the ring again
                    yield result
                self._finish(made)
                if self._released:
                    yield from self._give_released(self._nothing()).pieces(max_rows)
        except GeneratorExit:
            self._store(pieces)
            raise
        except BaseException as error:
            self._broken = error
            raise
        finally:
            self._drawing = None

    def _store(self, pieces: Iterator[Arrivals]) -> None:
        """Process what is left of a push whose results nobody wants."""
        try:
            self._finish()
            for piece in pieces:
                self._process(piece, results=self._output.signed)
                self._finish()
        except BaseException as error:
            self._broken = error
            raise

    def _fetch(self, stream: str, column: str, rows: NDArray[np.int64]) -> Column:
        return self._streams[self.query.names.index(stream)].payload.take(column, rows)

    # -- plans -----------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> str:
        """The current plan."""
        return str(self._plan)

    def migrate(self, plan: str) -> None:
        """Change the plan now. STAIRs that both plans have are kept; the others fill as the technique says."""
        self._check_ready("change the plan")
        if not isinstance(plan, str):
            raise PlanError(f"a plan is a string such as {self.plan!r}, not {type(plan).__name__}")
        self._change(self._parse(plan))

    def _change(self, plan: Plan) -> None:
        if plan == self._plan:
            return
        change, tracks = self._new_change(plan), self._router.tracks
        try:
            self._changes.append(change)
            self._pump(change, self.migration.begin)
        except BaseException as error:
            self._changes.remove(change)
            if self._router.tracks is not tracks:
                self._broken = error
            raise
        for other in self._changes[:-1]:
            other.boxed = None  # a black box for a plan that nobody wants any more
        self._plan = plan
        self._migrations += 1

    def _resume(self) -> None:
        """After loading a snapshot, composites are holes: that is a change under way, to the plan itself."""
        change = self._new_change(self._plan)
        if change.running:
            self._changes.append(change)
            self._pump(change, self.migration.resume)

    def _recall(self) -> None:
        """After loading a snapshot: what stands follows from the live rows, so it is made again from them."""
        if not self._output.signed:
            return
        lows = self._lowwater.lows.copy()
        box = self._box(self._plan, lows.tolist())
        standing: list[NDArray[np.int64]] = [np.empty((0, len(self.query.names)), np.int64)]
        for batch in history(self._streams, lows):
            box.feed(batch)
            box.drain()
            if not self.query.minus:
                standing.append(emit(self.query, box.router, box.router.results[0], self._fetch).rows)
        if self.query.minus:  # its chain has no other way to learn of the rows
            self._router, self._streams = box.router, box.streams
            standing.append(box.router.standing())
        self._output.restore(np.concatenate(standing), self._streams)

    def _new_change(self, plan: Plan) -> Change:
        technique = type(self.migration).__name__
        return Change(plan, self._plan, technique, self._events, self._router, self._lowwater, self._box)

    # -- snapshots -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot: the live rows and the plan, in one file that replaces an older one in a single step.

        It is as large as the windows; composites are not in it. The engine goes on as if nothing had happened.
        """
        self._check_ready("save")
        if self._held:
            raise StateError(
                "results are held back until the former plan has gone, and a snapshot has no place for them: "
                "call settle(), which returns them, then save"
            )
        snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        query: Query | None = None,
        *,
        plan: str | None = None,
        routing: Routing | None = None,
        migration: Migration | None = None,
        feedback: Feedback | None = None,
        batch_size: int | None = None,
        joins: str | None = None,
        seed: int | None = None,
        retractions: bool | None = None,
    ) -> Eddy:
        """An engine that goes on where the saved one stood, and gives exactly the results that it would have given.

        Composites are holes at first and fill as they are needed. ``query`` is needed only if the saved one has
        predicates of your own (`eddy.predicate`). Plan, batch size, joins and seed are the saved ones unless given;
        policies are not saved, only what they were called, so pass them again. StateError if there is no snapshot
        to read, or not a whole one.
        """
        options: dict[str, Any] = {
            "plan": plan,
            "routing": routing,
            "migration": migration,
            "feedback": feedback,
        }
        options |= {"batch_size": batch_size, "joins": joins, "seed": seed, "retractions": retractions}
        return snapshot.load(cls, path, query, options)

    # -- what goes on ----------------------------------------------------------------------------------------------

    def statistics(self) -> Statistics:
        """Counts and sizes, as a frozen value."""
        return take_census(self)

    def explain(self) -> str:
        """The plan, its STAIRs and how full each is, as text."""
        return explain(self.query, self._plan, self.statistics())

    def table(self) -> Result:
        """The groups of an aggregate as they are now, one row each; without GROUP BY one row, always."""
        if not isinstance(self._output, GroupedOutput):
            raise EddyError("table() shows the groups of an aggregate: give the query aggregates")
        self._check_ready("ask")
        return self._output.table()

    def why_not(self, /, **rows: int) -> Explanation:
        """Why these rows, one of each stream by number, gave no result: `print(engine.why_not(A=12, B=40, C=7))`.

        The answer gives the first reason there is: a row has not arrived, was filtered out, had left its window and at
        which event, or predicates fail. Where the rows did give a result, it says so. The last million events are
        remembered; about what is further back, and rows whose values are gone, it may say that it cannot tell.
        """
        if self._broken is not None:
            self._check_ready("ask")
        if self.query.minus:
            raise EddyError(
                "why and why_not explain joins, not set differences: read the signs of its results"
            )
        inquiry = Inquiry(
            self.query, self._streams, self._lowwater, self._history, self._events, self._first_row
        )
        return inquiry.explain(rows)

    def why(self, /, **rows: int) -> Explanation:
        """When these rows, one of each stream by number, gave a result, and under which plan.

        Where they gave none, the answer is that of `why_not`: its `verdict` tells them apart.
        """
        return self.why_not(**rows)

    def __repr__(self) -> str:
        return f"<Eddy {self.plan}: {self._events} events, {self._results} results>"


def _whole(what: str, given: Any) -> int:
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if number < 1 or isinstance(given, bool):
        raise EddyError(f"{what} must be a whole number of at least 1, not {given!r}")
    return number


def _flag(what: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise EddyError(f"{what} is True or False, not {given!r}")
    return given


def _policy(what: str, given: Any, kind: type, default: Any) -> Any:
    if given is None:
        return default
    if not isinstance(given, kind):
        hint = f": pass an instance, {given.__name__}()" if isinstance(given, type) else ""
        raise EddyError(f"{what} must be a policies.{kind.__name__}, not {given!r}{hint}")
    return given
