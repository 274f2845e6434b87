"""The order in which rows of several sources are pushed. Each way yields the result of every push.

A source is asked for more only when what it has given was pushed, so a slow sink slows all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define

from eddy.engine.eddy import Eddy
from eddy.results.result import Result
from eddy.running.feeds import Feed
from eddy.values.types import UNITS

NAP = 0.02
"""Seconds until silent sources are asked again."""
LAST = 2**62
"""A time after all others, in the unit of the query."""
MOST = 1 << 20
"""Rows that are read ahead of a silent source, about: what waits is in memory."""


@define(eq=False)
class Merge:
    """Pulls from feeds, and pushes into an engine, until all have ended."""

    engine: Eddy
    feeds: Sequence[Feed]
    over: bool = False
    """Whether all rows were pushed, and the engine is closed."""

    def results(self) -> Iterator[Result]:
        """The results of each push, and now and then one of no rows while there is nothing to push."""
        for feed in self.feeds:
            while feed.static and not feed.ended:
                if feed.pull():
                    yield self.engine.push(feed.name, feed.take(feed.count))
        yield from self._rows([feed for feed in self.feeds if not feed.static])
        last = self.engine.close()
        self.over = True
        yield last

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        raise NotImplementedError

    def _nothing(self) -> Result:
        """There was nothing to do: wait a little."""
        time.sleep(NAP)
        return self.engine.push_all({})


class Buffered(Merge):
    """The engine puts rows in order, by its lateness. Whoever is furthest behind is read first, so little waits."""

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        live, ahead = list(feeds), 0
        asked_again: dict[str, float] = {}
        while live:
            now = time.monotonic()
            ready = [feed for feed in live if asked_again.get(feed.name, now) <= now]
            if ahead > MOST and len(ready) < len(live):
                ahead = sum(stream.waiting for stream in self.engine.statistics().streams)
                ready = [] if ahead > MOST else ready
            if not ready:
                yield self._nothing()
                continue
            feed = min(ready, key=lambda feed: feed.newest)
            if feed.pull():
                ahead = ahead + feed.count if len(ready) < len(live) else 0
                yield self.engine.push(feed.name, feed.take(feed.count))
            elif feed.ended:
                live.remove(feed)
                if live:
                    yield self.engine.advance(forever(self.engine, feed.name), stream=feed.name)
            elif feed.silent:
                asked_again[feed.name] = now + NAP


class Sorted(Merge):
    """Every source is in order of time by itself, so pieces are cut at the time up to which all of them are known."""

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        while live := [feed for feed in feeds if not feed.ended]:
            behind = min(feed.newest for feed in live)
            for feed in live:
                if (
                    feed.newest == behind or feed.low
                ):  # a push of rows of all of them costs less than one of each
                    feed.pull()
            horizon = min((feed.newest for feed in live if not feed.ended), default=LAST)
            batches = {feed.name: feed.take(feed.below(horizon)) for feed in feeds}
            yield self.engine.push_all({name: rows for name, rows in batches.items() if rows is not None})
        rest = {feed.name: feed.take(feed.count) for feed in feeds if feed.count}
        yield self.engine.push_all(rest)


class InTurns(Merge):
    """Without a time that all streams have: the first row of each source, then the second of each, and so on."""

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        while True:
            for feed in feeds:
                while not feed.count and not feed.ended and (feed.pull() or not feed.silent):
                    pass
            ready = [feed for feed in feeds if feed.count]
            if not ready and all(feed.ended for feed in feeds):
                return
            if not ready:
                yield self._nothing()
                continue
            count = min(feed.count for feed in ready)
            yield self.engine.push_all({feed.name: feed.take(count) for feed in ready})


def forever(engine: Eddy, stream: str) -> Any:
    """A time after all rows, as the time column of a stream takes it."""
    declared = engine.query.streams[stream]
    kind = declared.columns[declared.time or ""]
    if kind.unit is None:
        return int(np.iinfo(str(kind)).max) if kind.dtype.itemsize < 8 else LAST
    factor = UNITS[engine.query.time_unit or kind.unit] // UNITS[kind.unit]
    return LAST // factor
