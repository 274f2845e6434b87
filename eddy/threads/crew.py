"""Shards: one engine whose rows are dealt out to several routers, each run by a thread of its own.

What comes in is checked, coded, filtered, merged and counted once; the values that results show are kept once, by the
numbers of the whole. A shard is an engine for the joins alone: it has the keys of its rows, the columns that predicates
read, and the marks that come with its events. So a shard never asks another, plans change in each by themselves, and a
result is made in one of them. Kernels run without the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.fast.tables import SEGMENT
from eddy.intake.intake import Part
from eddy.partition.choice import Partitioning
from eddy.query.query import Query
from eddy.query.windows import Unbounded
from eddy.router.budget import Budget
from eddy.router.executor import Executor, Made
from eddy.router.router import Router
from eddy.threads import results as results
from eddy.threads.deal import Deal
from eddy.threads.shard import NONE, Shard
from eddy.threads.stream import CrewStream
from eddy.threads.tables import Fast, ordinary
from eddy.threads.team import Team
from eddy.threads.team_kernels import FEW
from eddy.tracks.moment import Moment
from eddy.tracks.program import Program
from eddy.tracks.track import Track
from eddy.tracks.tracks import RESULT_RINGS
from eddy.values.types import Array
from stairs.program_kernels import JOB, copy_columns

if TYPE_CHECKING:
    from eddy.state import EngineState

LEAST = 256
"""Events of a batch that tables have room for at the least."""
REVIEW = 256
"""Pushes between two looks at whether rings have become too large."""


def bounded_streams(query: Query) -> list[str]:
    """The streams whose rows leave their windows: their low-water rows come to a shard with its events."""
    return [name for name, stream in query.streams.items() if not isinstance(stream.window, Unbounded)]


class Crew(Executor):
    """Several shards in place of a router."""

    def __init__(self, state: EngineState, partitioning: Partitioning, shards: Sequence[EngineState]) -> None:
        self.query, self.partitioning = state.query, partitioning
        self.state = state
        self.access = state.access
        self.portion = state.options.batch_size
        """Events that are joined at a time."""
        self.most = self._largest = 0
        """Events of the largest batch that kernels should have room for, and of the largest since the last review."""
        self.deal = Deal(partitioning)
        self.given = [state.query.names.index(name) for name in bounded_streams(state.query)]
        self.shards = [Shard(state, own) for own in shards]
        self.streams = [
            CrewStream(self, stream.number, stream.name, stream.classes, stream.payload)
            for stream in state.streams
        ]
        self._width = len(self.streams)
        self.moment = Moment(np.empty((0, self._width), np.int32), state.row_numbers.counts.copy())
        self._sent = np.zeros(len(self.streams), np.int64)
        """Copies of each stream's rows that were dealt out."""
        self._told: Array | None = None
        """What kernels have told of the batch, if they did all of it."""
        self._made = 0
        self._turned = 0
        """Pushes for which rows were forgotten: see `_turn`."""
        self.kept = np.empty((0, len(self.shards), self._width), np.int64)
        """Low-water rows of every shard and stream when the last pushes began, the oldest first."""
        self._fast: Fast | None = None
        self._batches = 0
        self.team = Team(state.options.threads - 1)
        self._pool: ThreadPoolExecutor | None = None
        self.begun: tuple[Array, Array] = (state.row_numbers.lows.copy(), state.row_numbers.counts.copy())
        self._parts: Sequence[Part] = ()

    # -- the doors of a router -------------------------------------------------------------------------------------

    @property
    def tracks(self) -> list[Track]:
        return self.shards[0].router.tracks

    @property
    def programs(self) -> tuple[Program, ...]:
        return tuple(program for shard in self.shards for program in shard.router.programs)

    @property
    def matches_made(self) -> int:
        return sum([shard.router.matches_made for shard in self.shards])

    @property
    def probed(self) -> int:
        return sum([shard.router.probed for shard in self.shards])

    @property
    def keys_filled(self) -> int:
        return sum(shard.router.keys_filled for shard in self.shards)

    @property
    def routers(self) -> tuple[Router, ...]:
        return tuple(shard.router for shard in self.shards)

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

    def longest(self, events: int, results: bool = True) -> int:
        if results and self._fast is not None:  # kernels cut a batch into portions by themselves
            return max(events, SEGMENT)
        return min(shard.router.longest(events, results) for shard in self.shards)

    def begin(self, floor: Array, low_rows: Array, next_rows: Array, ring: int) -> None:
        """Begin a batch; results go to ring number ``ring`` of every shard."""
        if self.state.recent.turns != self._turned:
            self._turned = self.state.recent.turns
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
            kept = fast.streams["first_kept"]  # a technique may have left fewer rows than there were
            np.maximum(kept, self.kept[0], out=kept)
            return
        self.write_back()
        if fast is not None:
            if self._largest < self.most:
                self.state.lowwater.shrink()
            self.most, self._largest = self._largest, 0
        for shard, oldest in zip(self.shards, self.kept[0].tolist(), strict=True):
            for stream in shard.state.streams:
                stream.payload.retain_from(oldest[stream.number])
            if fast is not None:
                shard.router.beginning.review(shard.state.lowwater.lows, ring)
                for stream in shard.state.streams:
                    stream.review()

    def turned(self, before: Array) -> None:
        """Kernels have begun a push, the next one; ``before`` are low-water rows and next rows."""
        self._turned = self.state.recent.turns + 1
        self._batches += 1
        self.begun = before[0], before[1]

    def _lows(self) -> Array:
        return np.array([shard.state.lowwater.lows for shard in self.shards])

    def write_back(self) -> None:
        """From here on shards are used one by one, until the next batch."""
        if self._fast is not None:
            if self._told is not None:
                self._tell()
            self._fast.write_back()
            self._fast = None

    def forked(self) -> None:
        """This is a forked child, in which the parent's threads are not: it has its own as soon as it needs them."""
        self._pool = None
        self.team.forked()

    def keep_to(self, budget: Budget, others: Callable[[], int]) -> None:
        """What the shards may hold is what the whole leaves them."""
        own = sum(stream.payload.nbytes for stream in self.streams) + self.state.output.nbytes
        for shard in self.shards:
            if shard.state.budget is None:
                shard.state.budget = Budget(1)
            shard.state.budget.every = budget.every
            shard.state.budget.limit = max(1, (budget.limit - own) // len(self.shards))
        if budget.due:
            demoted = sum(shard.state.budget.demoted for shard in self.shards if shard.state.budget)
            budget.note(demoted - budget.demoted)
            budget.demoted = demoted
            budget.judge(
                others() + sum(s.nbytes for shard in self.shards for s in shard.router.stairs.values())
            )

    def foresee(self, parts: Sequence[Part]) -> None:
        """Shards do that by themselves."""

    def store(self, parts: Sequence[Part]) -> None:
        """These rows are to be taken in."""
        self._parts = parts

    def run(self, marks: NDArray[np.int32], ring: int, results: bool = True) -> None:
        """Deal the batch out, and let every shard process what it got."""
        self.moment.marks = marks
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
        self.write_back()
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
            self._pool = ThreadPoolExecutor(self.state.options.threads - 1, "eddy-shard")
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
            self.write_back()
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

    # -- the fast path --------------------------------------------------------------------------------------------

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
        self.write_back()
        self.most = max(self.most, 1 << (events - 1).bit_length())
        self.begun = self.state.row_numbers.lows.copy(), self.state.row_numbers.counts.copy()
        self._fast = Fast(self, self.most)

    def questions(self) -> Array:
        """Room for what kernels tell of a batch."""
        return np.empty((len(self.shards), 2 + self._width), np.int64)

    def taken(
        self, made: int, told: Array, marks: NDArray[np.int32], ring: int, parts: Callable[[], Sequence[Part]]
    ) -> None:
        """Kernels have done a batch, or could not begin it in some shards; ``parts`` are made for these only."""
        assert self._fast is not None
        self.moment.marks, self._told = marks, told
        self._largest = max(self._largest, 1 << (len(marks) - 1).bit_length())
        self.newest = self.state.lowwater.counts.copy()
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
            sent = self._fast.streams["sent"]
            self._sent += sent.sum(axis=0)
            sent[:] = 0

    def _keep(self) -> None:
        """Keep what results show of the rows."""
        jobs: list[int] = []
        for part in self._parts:
            jobs += self.streams[part.stream].payload.reserve(part.columns, len(part.events))
        copy_columns(np.array(jobs, np.int64).reshape(-1, JOB))

    def describe(self) -> list[str]:
        rows = self.state.lowwater.counts - self.state.first_row
        self._tell_sent()
        sent = zip(self.query.names, zip(rows.tolist(), self._sent.tolist(), strict=True), strict=True)
        dealt = self.partitioning.explain(dict(sent))
        return [f"{len(self.shards)} shards in {self.state.options.threads} threads, {dealt}"]

    def restore(self, wholes: Sequence[Part], lows: Sequence[int], first_row: int) -> None:
        """Begin with these live rows of the streams, of which the first have these numbers."""
        for shard, (parts, numbers) in zip(self.shards, self.deal.wholes(wholes, lows), strict=True):
            shard.restore(parts, numbers, first_row)

    # -- results ---------------------------------------------------------------------------------------------------

    def made(self, ring: int) -> Made:
        """The results of all shards in the order of their latest events."""
        told = self._told
        count = self._made if told is not None else sum([shard.made for shard in self.shards])
        return count, results.Reading(self.shards, ring, len(self.marks), told).rows

    def signed(self, ring: int) -> tuple[Array, Array]:
        events, rows = results.Reading(self.shards, ring, len(self.marks), self._told)()
        return rows, events

    def drawn(self, max_rows: int, ring: int) -> Iterator[Made]:
        for piece in results.pieces(self.shards, self._width, max_rows, ring):
            yield len(piece), lambda piece=piece: piece  # type: ignore[misc]
