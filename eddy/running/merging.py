"""The order in which rows of several sources are pushed. Each way yields the result of every push.

A source is asked for more only when what it has given was pushed, so a slow sink slows all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import define

from eddy.engine.eddy import Eddy
from eddy.reorder.watermark import LAST
from eddy.results.result import Result
from eddy.running.feeds import BEFORE, Feed
from eddy.values.types import UNITS

NAP = 0.02
"""Seconds until silent sources are asked again."""
MOST = 1 << 20
"""Rows that are read ahead of a silent source, about: what waits is in memory."""


@define(eq=False)
class Merge:
    """Pulls from feeds, and pushes into an engine, until all have ended."""

    engine: Eddy
    feeds: Sequence[Feed]
    over: bool = False
    """Whether all rows were pushed, and the engine is closed."""
    ending: Callable[[], object] = lambda: None
    """Is called when all rows were pushed and flushed, and the engine is about to be closed."""

    def results(self) -> Iterator[Result]:
        """The results of each push, and now and then one of no rows while there is nothing to push."""
        for feed in self.feeds:
            while feed.static and not feed.ended:
                if feed.pull():
                    yield self.engine.push(feed.name, feed.take(feed.count))
        yield from self._rows([feed for feed in self.feeds if not feed.static])
        flushed = self.engine.flush()
        self.ending()
        last = self.engine.close()
        self.over = True
        yield last.concat([flushed, last]) if len(flushed) else last

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        raise NotImplementedError

    def _nothing(self) -> Result:
        """There was nothing to do: wait a little."""
        time.sleep(NAP)
        return self.engine.push_all({})


@define(eq=False)
class Buffered(Merge):
    """The engine puts rows in order, by its lateness. Whoever is furthest behind is read first, so little waits.

    Each is read once before what was read is pushed.
    """

    idle: bool = False
    """Whether silent sources do not count after a while. Then time must not go on for ever when all others have ended:
    it follows those that are left."""

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        live, ahead = list(feeds), 0
        over: dict[str, int] = {}
        """Those that have ended, and up to which time they are known to have nothing more."""
        asked_again: dict[str, float] = {}
        while live:
            now = time.monotonic()
            ready = [feed for feed in live if asked_again.get(feed.name, now) <= now]
            if ahead > MOST:
                ahead, behind = self._ahead()
                ready = [feed for feed in ready if ahead <= MOST or feed.name in behind]
            if not ready:
                yield self._nothing()
                continue
            pulled, ended = list[Feed](), list[Feed]()
            while ready and (feed := min(ready, key=lambda feed: feed.newest)) not in pulled:
                if feed.pull():
                    pulled.append(feed)
                elif feed.ended:
                    ended.append(feed)
                    ready.remove(feed)
                elif feed.silent:
                    asked_again[feed.name] = now + NAP
                    ready.remove(feed)
            if pulled:  # one push of rows of several streams costs less than one of each
                count = sum(feed.count for feed in pulled)
                ahead = ahead + count if len(ready) + len(ended) < len(live) else 0
                yield self.engine.push_all({feed.name: feed.take(feed.count) for feed in pulled})
            elif not ended:  # or a source that is long in finding nothing would keep a run from being stopped
                yield self._nothing()
            for feed in ended:
                live.remove(feed)
                over[feed.name] = BEFORE
            furthest = max((feed.newest for feed in live), default=BEFORE) if self.idle else LAST
            for name, known in over.items() if live else ():
                if known < furthest:
                    over[name] = furthest
                    yield self.engine.advance(time_of(self.engine, name, furthest), stream=name)

    def _ahead(self) -> tuple[int, set[str]]:
        """How many rows wait for the watermark, and the streams at which it stands: it moves if these have more."""
        statistics = self.engine.statistics()
        behind = {stream.name for stream in statistics.streams if stream.watermark == statistics.watermark}
        return sum(stream.waiting for stream in statistics.streams), behind


class Sorted(Merge):
    """Every source is in order of time by itself, so pieces are cut at the time up to which all of them are known."""

    def _rows(self, feeds: list[Feed]) -> Iterator[Result]:
        while live := [feed for feed in feeds if not feed.ended]:
            behind = min(feed.newest for feed in live)
            # a push of rows of all of them costs less than one of each
            asked = [feed for feed in live if feed.newest == behind or feed.low]
            got = [feed.pull() or feed.ended or not feed.silent for feed in asked]
            horizon = min((feed.newest for feed in live if not feed.ended), default=LAST)
            batches = {feed.name: feed.take(feed.below(horizon)) for feed in feeds}
            found = {name: rows for name, rows in batches.items() if rows is not None}
            yield self.engine.push_all(found) if found or any(got) else self._nothing()
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


def time_of(engine: Eddy, stream: str, time: int) -> int:
    """A time in the query's unit, as the time column of a stream takes it, or the last one that it can take."""
    declared = engine.query.streams[stream]
    kind = declared.columns[declared.time or ""]
    if kind.unit is None:
        return min(time, int(np.iinfo(str(kind)).max)) if kind.dtype.itemsize < 8 else time
    factor = UNITS[engine.query.time_unit or kind.unit] // UNITS[kind.unit]
    return time // factor
