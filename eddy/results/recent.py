"""Handing results out: what a result still reads of the engine, and until when.

A result is counted at once and fetches its columns when somebody asks. Until then it reads the ring that the last
stop wrote to and the payload of its rows. So there are more result rings than one, used in turn, and payload is
kept, for the results of the last pushes; when their turn is over, those that somebody still holds are materialised.
Whoever reads one meanwhile, in whatever thread, goes through the engine's `Access`.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence

from eddy.access import Access
from eddy.query.query import Query
from eddy.results.contents import Contents, Fetch, Number
from eddy.results.result import Result
from eddy.router.executor import Executor
from eddy.router.reading import reading
from eddy.store.stream import StoredStream
from eddy.tracks.tracks import RESULT_RINGS
from stairs import Ring


class RecentResults:
    """The results of the last pushes."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pushes = 0
        self._held: deque[tuple[list[weakref.ref[Result]], list[int]]] = deque()

    @property
    def ring(self) -> int:
        """Which of the router's result rings this push writes to."""
        return self._pushes % RESULT_RINGS

    @property
    def next_ring(self) -> int:
        """Which of them the next push writes to."""
        return (self._pushes + 1) % RESULT_RINGS

    def make_way(self) -> None:
        """A push may begin: materialise the results that somebody still holds, and that it would write over."""
        if len(self._held) >= RESULT_RINGS - 1:
            for reference in self._held[0][0]:
                result = reference()
                if result is not None:
                    result.contents.materialise()

    def begin(self, streams: Sequence[StoredStream], lows: list[int]) -> None:
        """A push begins; ``lows`` are the low-water rows until now. Payload that nobody can ask for is let go."""
        oldest = self.turn(lows)
        for stream in streams:
            stream.payload.retain_from(oldest[stream.number])

    def turn(self, lows: list[int]) -> list[int]:
        """A push begins; ``lows`` are the low-water rows until now. Returns the first rows that somebody can ask
        for: the caller lets go of the payload before these."""
        self._pushes += 1
        while len(self._held) >= RESULT_RINGS - 1:
            for reference in self._held.popleft()[0]:
                result = reference()
                if result is not None:
                    result.contents.materialise()
        self._held.append(([], lows))
        return self._held[0][1]

    def seal(self) -> None:
        """Read now what results still need of the engine: its rows are about to be others."""
        for references, _ in self._held:
            for reference in references:
                result = reference()
                if result is not None:
                    result.contents.materialise()

    def give(self, result: Result) -> Result:
        """Hand out a result of this push."""
        result.access = self._access
        self._held[-1][0].append(weakref.ref(result))
        return result


def emit(query: Query, router: Executor, ring: Ring, fetch: Fetch, number: Number | None = None) -> Result:
    """The combinations in a result ring, in the order of their latest events; ``number`` says what rows are called."""
    return Result(Contents(query, *reading(ring, router.moment), fetch, None, number))
