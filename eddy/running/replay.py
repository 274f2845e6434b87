"""Recorded rows go to sinks, a sink for each stream, in order of time over all of them, and in time with a clock."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping

import pyarrow as pa
from attrs import define, field, frozen

from eddy.errors import EddyError
from eddy.query.query import Query, Stream
from eddy.query.windows import Rows
from eddy.reorder.watermark import LAST
from eddy.running.apart import check_apart
from eddy.running.columns import misfits_of, time_of, typed
from eddy.running.feeds import Feed
from eddy.running.letters import SCHEMA, Letters
from eddy.running.merging import NAP
from eddy.running.schemas import checked
from eddy.sinks.base import Sink, commit_at_once
from eddy.sources.base import Source
from eddy.sources.paced import Pace, Paced

EVERY = 0.2
"""Seconds between commits: what was written counts then, for those who read it."""
BATCH = 2048
"""Rows that are read at a time, about: so far streams get ahead of each other where there is no pace."""


@frozen
class Replayed:
    """What came of it."""

    rows: dict[str, int]
    bad: dict[str, int]
    letters: tuple[str, ...]
    seconds: float
    ended: bool
    """Whether all rows were given; else it was stopped."""


@define(eq=False)
class Replay:
    """Feeds rows of sources to the sinks of the same names. Without a pace, as fast as they can be read."""

    sources: Mapping[str, Source]
    sinks: Mapping[str, Sink]
    pace: Pace | None
    letters: Letters
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stopping: bool = False
    _feeds: list[Feed] = field(init=False, factory=list)
    _schemas: dict[str, pa.Schema] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._feeds = [self._feed(name, source) for name, source in self.sources.items()]

    def stop(self) -> None:
        """End soon."""
        self.stopping = True

    def go(self) -> Replayed:
        """Do it."""
        began = self.clock()
        sinks = dict(self.sinks) if self.letters.sink is None else {**self.sinks, "": self.letters.sink}
        check_apart(
            self.sources, {f"rows of {name}" if name else "bad": sink for name, sink in sinks.items()}
        )
        opened: list[Sink] = []
        try:
            for name, sink in sinks.items():
                opened.append(sink)
                sink.open(self._schemas.get(name, SCHEMA), None)
            due = began + EVERY
            while not self.stopping and self._step():
                if self.clock() >= due:
                    commit_at_once(sinks.values())
                    due = self.clock() + EVERY
            commit_at_once(sinks.values())
            for sink in sinks.values():
                sink.close()
        except BaseException:
            for sink in opened:
                sink.abandon(False)
            raise
        finally:
            for feed in self._feeds:
                feed.close()
        return Replayed(
            {feed.name: feed.rows for feed in self._feeds},
            dict(self.letters.counts),
            tuple(self.letters.first),
            self.clock() - began,
            not self.stopping,
        )

    def _feed(self, name: str, source: Source) -> Feed:
        source = checked(source)
        columns, _ = typed(source)
        for told in misfits_of(name, source):
            warnings.warn(told, stacklevel=2)
        when = time_of(source, columns) or "ts"
        if when not in columns:
            raise EddyError(f"{source} has no time: name its column, as in --time {name}=when")
        query = Query({name: Stream(columns, window=Rows(1), time=when)})
        kinds = {column: kind.arrow for column, kind in columns.items()}
        self._schemas[name] = pa.schema(list(kinds.items()))
        narrow = source.narrowed(kinds, BATCH)
        if self.pace is not None:
            narrow = Paced(narrow, when, columns[when], self.pace)
        return Feed(name, query, narrow, self.letters)

    def _step(self) -> bool:
        """Read a piece of whoever is furthest behind, and give what is due. Whether there may be more."""
        live = [feed for feed in self._feeds if not feed.ended]
        if not live:
            return False
        behind = min(feed.newest for feed in live)
        asked = [feed for feed in live if self.pace is not None or feed.newest == behind or feed.low]
        got = [feed.pull() or feed.ended or not feed.silent for feed in asked]
        horizon = min((feed.newest for feed in self._feeds if not feed.ended), default=LAST)
        for feed in self._feeds:
            rows = feed.take(feed.count if self.pace is not None else feed.below(horizon))
            if rows is not None:
                self.sinks[feed.name].write(pa.Table.from_batches([rows]))
        if not any(got):
            self.sleep(NAP)
        return True
