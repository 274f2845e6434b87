"""Handing results out: what a result still reads of the engine, and until when.

A result is counted at once and fetches its columns when somebody asks. Until then it reads the ring that the last
stop wrote to and the payload of its rows. So there are more result rings than one, and payload is kept, for the results
of the last pushes; when their turn is over, those that somebody still holds are materialised. Whoever reads one
meanwhile, in whatever thread, goes through the engine's `Access`.

A ring whose results nobody holds any more is used again at once: it is in the cache, or at least in memory, where those
of another ring may have to be made first. A large push can have more results than all else that an engine holds.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence

from attrs import define, field

from eddy.access import Access
from eddy.query.query import Query
from eddy.results.contents import Contents, Fetch, Number
from eddy.results.result import Result
from eddy.router.executor import Executor
from eddy.router.reading import reading
from eddy.store.stream import HeldStream
from eddy.tracks.tracks import RESULT_RINGS
from stairs import Ring


@define
class Push:
    """What the results of a push read of the engine."""

    lows: list[int]
    """The first rows that they can ask for."""
    ring: int
    contents: list[weakref.ref[Contents]] = field(factory=list)
    """What somebody may hold: a result, or one that is strung together of several."""

    @property
    def held(self) -> bool:
        """Whether somebody does, and will ask the engine for it."""
        for reference in self.contents:
            one = reference()
            if one is not None and one.fetch is not None:
                return True
        return False

    def materialise(self) -> None:
        """Read now what is held."""
        for reference in self.contents:
            found = reference()
            if found is not None:
                found.materialise()


class RecentResults:
    """The results of the last pushes."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pushes: deque[Push] = deque()
        self._next: int | None = None
        """The ring of the next push, once that was chosen: it stays free, as only a push uses one."""
        self.turns = 0
        """Pushes so far."""
        self.ring = 0
        """Which of the router's result rings this push writes to."""

    @property
    def next_ring(self) -> int:
        """Which of them the next push writes to: this one again, if nobody needs it any more."""
        if self._next is None:
            self._next = self.ring
            if self._pushes:
                busy = {push.ring for push in self._pushes if push.held}
                self._next = next(ring for ring in (self.ring, *range(RESULT_RINGS)) if ring not in busy)
        return self._next

    def make_way(self) -> None:
        """A push may begin: materialise the results that somebody still holds, and that it would write over."""
        pushes = self._pushes
        while pushes and not pushes[0].held:
            pushes.popleft()
        if len(pushes) >= RESULT_RINGS - 1:
            pushes[0].materialise()

    def oldest(self, lows: list[int]) -> list[int]:
        """The first rows that a push from these low-water rows on may ask for, or a result that is held."""
        self.make_way()
        return next((push.lows for push in self._pushes if push.held), lows)

    def begin(self, streams: Sequence[HeldStream], lows: list[int]) -> None:
        """A push begins; ``lows`` are the low-water rows until now. Payload that nobody can ask for is let go."""
        oldest = self.turn(lows)
        for stream in streams:
            stream.payload.retain_from(oldest[stream.number])

    def turn(self, lows: list[int]) -> list[int]:
        """A push begins; ``lows`` are the low-water rows until now. Returns the first rows that somebody can ask
        for: the caller lets go of the payload before these."""
        pushes = self._pushes
        if pushes:
            self.make_way()
            if len(pushes) >= RESULT_RINGS - 1:
                pushes.popleft()
        self.turns += 1
        self.ring, self._next = self.next_ring, None
        pushes.append(Push(lows, self.ring))
        return pushes[0].lows

    def seal(self) -> None:
        """Read now what results still need of the engine: its rows are about to be others."""
        for push in self._pushes:
            push.materialise()

    def give(self, result: Result) -> Result:
        """Hand out a result of this push."""
        result.access = self._access
        self._pushes[-1].contents.append(weakref.ref(result.contents))
        return result

    def derive(self, contents: Contents, of: Contents) -> None:
        """``contents`` were made of others, which still read the engine: they are read when those are, or before."""
        for push in self._pushes:
            if any(reference() is of for reference in push.contents):
                push.contents.append(weakref.ref(contents))
                return


def emit(query: Query, router: Executor, ring: Ring, fetch: Fetch, number: Number | None = None) -> Result:
    """The combinations in a result ring, in the order of their latest events; ``number`` says what rows are called."""
    return Result(Contents(query, *reading(ring, router.moment), fetch, None, number))
