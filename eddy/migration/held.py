"""Results that a track may not emit yet, and those that it may now."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.query.query import Query
from eddy.results.contents import Fetch, Number
from eddy.results.recent import emit
from eddy.results.result import Result
from eddy.router.executor import PlanExecutor
from eddy.tracks.track import Track
from stairs import Ring


class HeldResults:
    """The results of tracks that have an outbox (Parallel Track, ``order="pt"``), oldest track first."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._held: list[tuple[Track, list[Result]]] = []
        self._released: list[Result] = []

    def __bool__(self) -> bool:
        """Whether there are any that nobody has taken."""
        return bool(self._held or self._released)

    def collect(self, router: PlanExecutor, fetch: Fetch, number: Number | None) -> int:
        """Empty the outboxes of the ``router``; returns how many results that were.

        They are read at once, by ``fetch``, with ``number`` saying what rows are called: the engine goes on.
        """
        count = 0
        for track, outbox in _outboxes(router):
            if len(outbox):
                result = emit(self._query, router, outbox, fetch, number)
                result.seal()
                if all(of is not track for of, _ in self._held):
                    self._held.append((track, []))
                    self._held.sort(key=lambda held: router.tracks.index(held[0]))  # oldest first
                next(parts for of, parts in self._held if of is track).append(result)
                outbox.clear()  # each of them once, whoever asks again
                count += len(result)
        return count

    def release(self, router: PlanExecutor) -> None:
        """Let go of the results of tracks that have no outbox any more."""
        holding = {id(track) for track, _ in _outboxes(router)}
        while self._held and id(self._held[0][0]) not in holding:
            self._released += self._held.pop(0)[1]

    def take(self) -> list[Result]:
        """Results that were let go, each once."""
        released, self._released = self._released, []
        return released

    def put_back(self, results: list[Result]) -> None:
        """``results`` were taken, but could not be given."""
        self._released = results + self._released


def _outboxes(router: PlanExecutor) -> Iterator[tuple[Track, Ring]]:
    """The tracks whose results wait, the oldest first, and where they are."""
    for track in router.tracks:
        if isinstance(track, Track) and track.role.outbox is not None:
            yield track, track.role.outbox
