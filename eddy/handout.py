"""Handing results out: what a result still reads of the engine, and until when.

A result is counted at once and fetches its columns when somebody asks. Until then it reads the ring that the last
stop wrote to and the payload of its rows. So there are more result rings than one, used in turn, and payload is
kept, for the results of the last pushes; when their turn is over, those that somebody still holds are sealed.
"""

from __future__ import annotations

import weakref
from collections import deque

import numpy as np
from numpy.typing import NDArray

from eddy.leaf import StreamState
from eddy.query import Query
from eddy.result import Fetch, Number, Result
from eddy.router import Router
from eddy.tracks import RESULT_RINGS
from stairs import Ring
from stairs.ring_kernels import order_of, read_rows


class Handout:
    """The results of the last pushes."""

    def __init__(self) -> None:
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
        """A push may begin: seal the results that somebody still holds, and that it would write over."""
        if len(self._held) >= RESULT_RINGS - 1:
            for reference in self._held[0][0]:
                result = reference()
                if result is not None:
                    result.seal()

    def begin(self, streams: list[StreamState], lows: list[int]) -> None:
        """A push begins; ``lows`` are the low-water rows until now. Payload that nobody can ask for is let go."""
        oldest = self.turn(lows)
        for stream in streams:
            stream.payload.retain_from(oldest[stream.number])

    def turn(self, lows: list[int]) -> list[int]:
        """The same, but payload is left to the caller: returns the first rows that somebody can ask for."""
        self._pushes += 1
        while len(self._held) >= RESULT_RINGS - 1:
            for reference in self._held.popleft()[0]:
                result = reference()
                if result is not None:
                    result.seal()
        self._held.append(([], lows))
        return self._held[0][1]

    def seal(self) -> None:
        """Read now what results still need of the engine: its rows are about to be others."""
        for references, _ in self._held:
            for reference in references:
                result = reference()
                if result is not None:
                    result.seal()

    def give(self, result: Result) -> Result:
        """Hand out a result of this push."""
        self._held[-1][0].append(weakref.ref(result))
        return result


def emit(query: Query, router: Router, ring: Ring, fetch: Fetch, number: Number | None = None) -> Result:
    """The combinations in a result ring, in the order of their latest events; ``number`` says what rows are called."""
    newest, events = router.newest, len(router.marks)
    state, start, count = ring.state, ring.base, len(ring)

    def rows() -> NDArray[np.int64]:
        out, order = np.empty((count, len(newest)), np.int64), np.empty(count, np.int64)
        order_of(state[2], events, order)
        read_rows(state, start, order, np.arange(len(newest)), newest, out)
        return out

    return Result(query, count, rows, fetch, None, number)
