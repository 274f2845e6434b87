"""Shards: one engine whose rows are dealt out to several routers, each run by a thread of its own.

What comes in is checked, coded, filtered, merged and counted once; the values that results show are kept once, by the
numbers of the whole. A shard is an engine for the joins alone: it has the keys of its rows, the columns that predicates
read, and the marks that come with its events. So a shard never asks another, plans change in each by themselves, and a
result is made in one of them. Kernels run without the interpreter lock.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy import shards_results as results
from eddy.budget import Budget
from eddy.intake import Part
from eddy.marks import Share
from eddy.partition_choice import Partitioning
from eddy.program import Program
from eddy.result import Fetch, Result
from eddy.shard import NONE, Shard
from eddy.shards_deal import Deal
from eddy.shards_fast import Fast, ordinary
from eddy.shards_layout import FIRST_KEPT, SENT
from eddy.shards_stream import CrewStream
from eddy.shards_team import Team
from eddy.shards_team_kernels import FEW
from eddy.tracks import RESULT_RINGS
from eddy.types import Array
from eddy.windows import Unbounded
from stairs.program_kernels import JOB, copy_columns

if TYPE_CHECKING:
    from eddy.engine import Eddy

LEAST = 256
"""Events of a batch that tables have room for at the least."""
REVIEW = 256
"""Pushes between two looks at whether rings have become too large."""


class Crew:
    """Several shards in place of a router, with the same doors."""

    suspension = None

    def __init__(self, engine: Eddy, partitioning: Partitioning) -> None:
        self.query, self.partitioning = engine.query, partitioning
        self._engine = engine
        self.portion = engine.batch_size
        """Events that are joined at a time."""
        self.most = self._largest = 0
        """Events of the largest batch that kernels should have room for, and of the largest since the last review."""
        self.deal = Deal(partitioning)
        bounded = [n for n, s in engine.query.streams.items() if not isinstance(s.window, Unbounded)]
        self.given = [engine.query.names.index(name) for name in bounded]
        share = Share(frozenset(bounded), engine._pool, engine._faults)
        options = {"batch_size": 1 << 30, "joins": engine.joins, "_first_row": engine._first_row}
        self.shards = [
            Shard(
                engine,
                share,
                engine.plan,
                {
                    **options,
                    "migration": copy.deepcopy(engine.migration),
                    "feedback": copy.deepcopy(engine.feedback),
                },
            )
            for _ in range(partitioning.cells)
        ]
        self.streams = [
            CrewStream(self, state.number, state.name, state.classes, state.payload)
            for state in engine._streams
        ]
        self.newest = engine._numbers.counts.copy()
        self._width = len(self.streams)
        self.marks = np.empty((0, len(self.streams)), np.int32)
        self._sent = np.zeros(len(self.streams), np.int64)
        """Copies of each stream's rows that were dealt out."""
        self._told: Array | None = None
        """What kernels have told of the batch, if they did all of it."""
        self._made = 0
        self._ring = -1
        self.kept = np.empty((0, len(self.shards), self._width), np.int64)
        """Low-water rows of every shard and stream when the last pushes began, the oldest first."""
        self._fast: Fast | None = None
        self._batches = 0
        self.team = Team(engine.threads - 1)
        self._pool: ThreadPoolExecutor | None = None
        self.begun: tuple[Array, Array] = (engine._numbers.lows.copy(), engine._numbers.counts.copy())
        self._parts: Sequence[Part] = ()

    # -- the doors of a router -------------------------------------------------------------------------------------

    @property
    def tracks(self) -> Any:
        return self.shards[0].router.tracks

    @property
    def programs(self) -> tuple[Program, ...]:
        return tuple(program for shard in self.shards for program in shard.router.programs)

    @property
    def matches_made(self) -> int:
        return sum([shard.router.matches_made for shard in self.shards])

    @property
    def keys_filled(self) -> int:
        return sum(shard.router.keys_filled for shard in self.shards)

    @property
    def composites_built(self) -> int:
        return sum(shard.router.composites_built for shard in self.shards)

    @property
    def nbytes(self) -> int:
        fast = 0 if self._fast is None else self._fast.nbytes
        return fast + sum(shard.router.nbytes for shard in self.shards)

    def rouse(self) -> None:
        """A push begins: helpers should be awake when there is something to do, if it may be worth their while."""
        if len(self.marks) >= FEW:  # as many events as in the last batch are to be expected
            self.team.rouse()

    def begin(self, floor: Array, low_rows: Array, next_rows: Array, ring: int) -> None:
        """Begin a batch; results go to ring number ``ring`` of every shard."""
        if ring != self._ring:
            self._ring = ring
            self._turn(ring)
        self.begun = low_rows, next_rows

    def _turn(self, ring: int) -> None:
        """A push begins: rows that no result can name any more are forgotten, and now and then memory is given back."""
        fast, self._batches = self._fast, self._batches + 1
        lows = self._lows() if fast is None else fast.lows
        if len(self.kept):
            self.kept[:-1], self.kept[-1] = self.kept[1:], lows
        else:
            self.kept = np.stack([lows] * (RESULT_RINGS - 1))
        if fast is not None and self._batches % REVIEW:
            kept = fast.streams[:, :, FIRST_KEPT]  # a technique may have left fewer rows than there were
            np.maximum(kept, self.kept[0], out=kept)
            return
        self.settle()
        if fast is not None:
            if self._largest < self.most:
                self._engine._lowwater.shrink()
            self.most, self._largest = self._largest, 0
        for shard, oldest in zip(self.shards, self.kept[0].tolist(), strict=True):
            for stream in shard.engine._streams:
                stream.payload.retain_from(oldest[stream.number])
            if fast is not None:
                shard.router._review(shard.engine._lowwater.lows, ring)
                for stream in shard.engine._streams:
                    stream.review()

    def turned(self, ring: int, before: Array) -> None:
        """Kernels have begun a push; ``before`` are low-water rows and next rows."""
        self._ring = ring
        self._batches += 1
        self.begun = before[0], before[1]

    def _lows(self) -> Array:
        return np.array([shard.engine._lowwater.lows for shard in self.shards])

    def settle(self) -> None:
        """From here on shards are used one by one, until the next batch."""
        if self._fast is not None:
            if self._told is not None:
                self._tell()
            self._fast.settle()
            self._fast = None

    def forked(self) -> None:
        """This is a forked child, in which the parent's threads are not: it has its own as soon as it needs them."""
        self._pool = None
        self.team.forked()

    def look(self, every: int, limit: int) -> None:
        """Keep within a number of bytes: what the shards may hold is what the whole leaves them."""
        own = sum(stream.payload.nbytes for stream in self.streams) + self._engine._output.nbytes
        for shard in self.shards:
            if shard.engine._budget is None:
                shard.engine._budget = Budget(1)
            shard.engine._budget.every = every
            shard.engine._budget.limit = max(1, (limit - own) // len(self.shards))

    def foresee(self, parts: Sequence[Part]) -> None:
        """Shards do that by themselves."""

    def store(self, parts: Sequence[Part]) -> None:
        """These rows are to be taken in."""
        self._parts = parts

    def run(self, marks: NDArray[np.int32], ring: int, results: bool = True) -> None:
        """Deal the batch out, and let every shard process what it got."""
        self.marks = marks
        self._told = None
        if results and (self._fast is not None or all(map(ordinary, self.shards))):
            untouched = self._run_fast(marks, ring)
            if not untouched:
                return
        else:
            untouched = []
            self._keep()
        self._run_rest(untouched, marks, ring, results)

    def _run_rest(self, untouched: list[int], marks: NDArray[np.int32], ring: int, results: bool) -> None:
        """Let shards that kernels alone could not do process what they got; no number: all of them."""
        self.settle()
        given = self.deal.batch(self._parts, *self.begun, marks, self.given)
        if not untouched:
            untouched = list(range(len(self.shards)))
            for own in (part for arrivals, _ in given for part in arrivals.parts):
                self._sent[own.stream] += len(own.events)
        self._each([partial(self.shards[c].process, *given[c], ring, results) for c in untouched])

    def _each(self, calls: Sequence[Callable[[], None]]) -> None:
        """Do all of them, several at a time."""
        if len(calls) == 1:
            calls[0]()
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._engine.threads - 1, "eddy-shard")
        waiting = [self._pool.submit(call) for call in calls[1:]]
        try:
            calls[0]()
        finally:
            errors = [future.exception() for future in waiting]  # waits for all of them
        for error in errors:
            if error is not None:
                raise error

    def _run_fast(self, marks: NDArray[np.int32], ring: int) -> list[int]:
        """Let kernels do the batch; returns the shards with which they could not begin."""
        fast, m = self._fast, len(marks)
        if fast is None or fast.most < m:
            self.settle()
            fast = self._fast = Fast(self, max(LEAST, self.most, 1 << (m - 1).bit_length()))
        told = self.questions()
        fast.begin(self._parts, marks, ring)
        try:
            self._keep()
        except BaseException:  # nobody may be at work on arrays that are given up
            self.team.call_off()
            raise
        self._made, untouched = fast.finish(told)
        self._told = told
        if untouched:
            self._tell()
        return untouched

    # -- the express lane ------------------------------------------------------------------------------------------

    @property
    def fast(self) -> Fast | None:
        """The shards as tables, while kernels alone do their batches."""
        return self._fast

    @property
    def reviews_next(self) -> bool:
        """Whether the next push gives memory back."""
        return (self._batches + 1) % REVIEW == 0

    def widen(self, events: int) -> None:
        """Let kernels have room for batches of so many events, from now on."""
        self.settle()
        self.most = max(self.most, 1 << (events - 1).bit_length())
        self.begun = self._engine._numbers.lows.copy(), self._engine._numbers.counts.copy()
        self._fast = Fast(self, self.most)

    def questions(self) -> Array:
        """Room for what kernels tell of a batch."""
        return np.empty((len(self.shards), 2 + self._width), np.int64)

    def taken(
        self, made: int, told: Array, marks: NDArray[np.int32], ring: int, parts: Callable[[], Sequence[Part]]
    ) -> None:
        """Kernels have done a batch, or could not begin it in some shards; ``parts`` are made for these only."""
        assert self._fast is not None
        self.marks, self._told = marks, told
        self._largest = max(self._largest, 1 << (len(marks) - 1).bit_length())
        self.newest = self._engine._lowwater.counts.copy()
        self._made, untouched = self._fast.complete(made, told)
        if untouched:
            self._tell()
            self._parts = parts()
            self._run_rest(untouched, marks, ring, True)

    def _tell(self) -> None:
        """Tell the shards what kernels have made of the batch."""
        assert self._fast is not None and self._told is not None
        events = np.arange(len(self.marks), dtype=np.int32)
        for c, shard in enumerate(self.shards):
            got, shard.made = self._told[c, :2].tolist()
            shard.events, shard.newest = events if got else NONE, self._told[c, 2:]
        self._tell_sent()
        self._told = None

    def _tell_sent(self) -> None:
        if self._fast is not None:
            self._sent += self._fast.streams[:, :, SENT].sum(axis=0)
            self._fast.streams[:, :, SENT] = 0

    def _keep(self) -> None:
        """Keep what results show of the rows."""
        jobs: list[int] = []
        for part in self._parts:
            jobs += self.streams[part.stream].payload.reserve(part.columns, len(part.events))
        copy_columns(np.array(jobs, np.int64).reshape(-1, JOB))

    def explain(self) -> str:
        """How the rows are dealt out."""
        rows = self._engine._lowwater.counts - self._engine._first_row
        self._tell_sent()
        sent = zip(self.query.names, zip(rows.tolist(), self._sent.tolist(), strict=True), strict=True)
        return f"{len(self.shards)} shards in {self._engine.threads} threads, {self.partitioning.explain(dict(sent))}"

    def restore(self, wholes: Sequence[Part], lows: Sequence[int], first_row: int) -> None:
        """Begin with these live rows of the streams, of which the first have these numbers."""
        for shard, (parts, numbers) in zip(self.shards, self.deal.wholes(wholes, lows), strict=True):
            shard.restore(parts, numbers, first_row)

    # -- results ---------------------------------------------------------------------------------------------------

    def emit(self, ring: int, fetch: Fetch) -> Result:
        """The results of all shards in the order of their latest events."""
        told, number = self._told, self._engine._output.number
        made = self._made if told is not None else sum([shard.made for shard in self.shards])
        reading = results.Reading(self.shards, ring, len(self.marks), told)
        return Result(self.query, made, reading.rows, fetch, None, number)

    def signed(self, ring: int) -> tuple[Array, Array]:
        """Rows and events of the results of a batch."""
        events, rows = results.Reading(self.shards, ring, len(self.marks), self._told)()
        return rows, events

    def parts(self, max_rows: int, ring: int, fetch: Fetch) -> Iterator[Result]:
        """The results of a batch that was run without them, in parts of bounded size."""
        number = self._engine._output.number
        for piece in results.pieces(self.shards, self._width, max_rows, ring):
            yield Result(self.query, len(piece), lambda piece=piece: piece, fetch, None, number)  # type: ignore[misc]
