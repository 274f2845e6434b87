"""What all queries of an engine share: the streams as they are declared, their rows and their strings, stored once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from eddy.errors import BatchError, QueryError
from eddy.intake.columns import normalise
from eddy.intake.intake import Arrivals, Intake, stored_columns
from eddy.intake.travel import WHEN
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.query.windows import Unbounded
from eddy.several.core import CoreQuery, feed_query
from eddy.store.payload import Payload
from eddy.values.strings import StringPool
from eddy.values.types import INT64, Array, Column


@frozen(eq=False)
class Admitted:
    """The batches of a push, checked."""

    columns: dict[str, dict[str, Column]]
    """By stream, with strings as text."""
    coded: dict[str, dict[str, Column]]
    """The same with strings as codes of the pool."""
    arrivals: Arrivals
    plain: dict[str, dict[str, Any]]
    """The same as arrays, where these need no closer look."""
    _ascending: dict[str, bool] = field(factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each stream."""
        return {name: len(next(iter(columns.values()))) for name, columns in self.coded.items()}

    def in_order(self, query: Query, now: int | None, streams: Iterable[str]) -> bool:
        """Whether a query that had come to the time ``now`` finds these streams in the order that it needs."""
        if not query.time_windows:
            return True
        for name in streams:
            clock = query.streams[name].time
            if clock is None:
                return False
            times = self.coded[name][clock].values
            if name not in self._ascending:
                self._ascending[name] = bool((times[1:] >= times[:-1]).all())
            if not self._ascending[name] or (now is not None and query.time_of(name, times[:1])[0] < now):
                return False
        return True


@define(eq=False)
class FeedStream:
    """A stream of the feed, with all rows that a query's window still holds."""

    declared: Stream
    payload: Payload
    newest: Column | None = field(init=False, default=None)
    """The time of its newest row, in its own unit; None: none has come, or it has no time."""


class Feed:
    """The streams of all queries. A stream is numbered from row 0 when it is first declared, and keeps its numbers."""

    def __init__(self) -> None:
        self.pool = StringPool()
        self.streams: dict[str, FeedStream] = {}
        self.events = 0
        self._query: CoreQuery | None = None
        self._intake: Intake | None = None

    @property
    def query(self) -> CoreQuery:
        """All streams, side by side."""
        if self._query is None:
            self._query = feed_query({name: one.declared for name, one in self.streams.items()})
        return self._query

    @property
    def intake(self) -> Intake:
        """Brings the rows of a push into one order, and codes their strings."""
        if self._intake is None:
            self._intake = Intake(self.query, self.pool, stored_columns(self.query), False)
        return self._intake

    def check(self, name: str, query: Query) -> None:
        """Refuse a query that declares a stream otherwise than those that are there."""
        for stream, declared in query.streams.items():
            known = self.streams.get(stream)
            if known is not None:
                _check_same(name, stream, known.declared, declared)
        new = {stream: _bare(of) for stream, of in query.streams.items() if stream not in self.streams}
        if new:  # whether they can stand beside the others
            feed_query({**{stream: one.declared for stream, one in self.streams.items()}, **new})

    def declare(self, query: Query) -> None:
        """Take the streams of a query in that are not there yet."""
        for name, declared in query.streams.items():
            if name not in self.streams:
                kinds = {**declared.columns, WHEN: INT64}
                self.streams[name] = FeedStream(_bare(declared), Payload(kinds, self.pool))
                self._query = self._intake = None

    def restore(self, streams: Mapping[str, FeedStream]) -> None:
        """Have these streams only, as before a query that was refused."""
        if self.streams.keys() != streams.keys():
            self.streams, self._query, self._intake = dict(streams), None, None

    @property
    def loaded(self) -> bool:
        """Whether a row has come of a stream that is not static."""
        return any(one.payload.next_row and not one.declared.static for one in self.streams.values())

    def payload(self, stream: str) -> Payload:
        """The rows of a stream."""
        return self.streams[stream].payload

    def fetch(self, stream: str, columns: Sequence[str], rows: Array) -> list[Column]:
        """The values of some columns, for rows by number."""
        return self.payload(stream).take_all(columns, rows)

    def admit(self, batches: Mapping[str, Any]) -> Admitted:
        """Check the batches, and bring them into order; an error leaves nothing changed."""
        columns: dict[str, dict[str, Column]] = {}
        for name, batch in batches.items():
            known = self.streams.get(name)
            if known is None:
                todo = f"push to one of {', '.join(self.streams)}" if self.streams else "add a query first"
                raise BatchError(f"no query has a stream {name!r}: {todo}")
            found, count = normalise(name, known.declared, batch)
            if count:
                columns[name] = found
        arrivals = self.intake.admit({name: dict(found) for name, found in columns.items()})
        names = self.query.names
        coded = {names[part.stream]: part.columns for part in arrivals.parts}
        return Admitted(columns, coded, arrivals, {name: self._plain(name, of) for name, of in coded.items()})

    def _plain(self, name: str, columns: dict[str, Column]) -> dict[str, Any]:
        """The columns of a stream, as arrays where kernels may take them as they are."""
        kinds = self.streams[name].declared.columns
        return {
            column: found.values
            if found.valid is None and found.values.dtype == kinds[column].direct
            else found
            for column, found in columns.items()
        }

    def take(self, admitted: Admitted) -> None:
        """Store rows that every query's core has admitted."""
        self.intake.accept(admitted.arrivals)
        for part in admitted.arrivals.parts:
            name = self.query.names[part.stream]
            one, n = self.streams[name], len(part.events)
            when = Column(self.events + part.events.astype(np.int64))
            one.payload.append({**part.columns, WHEN: when}, n)
            clock = one.declared.time
            if clock is not None:
                one.newest = part.columns[clock].take(slice(n - 1, n)).copied()
        self.events += len(admitted.arrivals.streams)

    def retain(self, lows: Mapping[str, int]) -> None:
        """Forget rows below these, which nobody can ask for any more; of streams not named, all of them."""
        for name, one in self.streams.items():
            one.payload.retain_from(lows.get(name, one.payload.next_row))

    def give_back(self) -> None:
        """Queries have gone: give back the memory of rows that only they needed."""
        for one in self.streams.values():
            one.payload.give_back()

    def sweep(self, in_use: Iterable[Array]) -> None:
        """Forget strings that nobody needs; ``in_use`` are codes beside those of the rows."""
        if self.pool.wants_sweep:
            codes = [some for one in self.streams.values() for some in one.payload.codes_in_use()]
            self.pool.sweep((*codes, *in_use))

    @property
    def nbytes(self) -> int:
        """Bytes of all rows and strings."""
        return self.pool.nbytes + sum(one.payload.nbytes for one in self.streams.values())


def _bare(declared: Stream) -> Stream:
    """A stream as all queries declare it: without its window."""
    return evolve(declared, window=Unbounded())


def _check_same(query: str, name: str, known: Stream, declared: Stream) -> None:
    if known.columns != declared.columns:
        ours = ", ".join(f"{column} {kind}" for column, kind in known.columns.items())
        theirs = ", ".join(f"{column} {kind}" for column, kind in declared.columns.items())
        raise QueryError(
            f"query {query}: stream {name} has the columns {theirs}, and other queries of the engine declare {ours}: "
            "declare the same columns in all of them"
        )
    for what in ("static", "time", "strict", "parse"):
        if getattr(known, what) != getattr(declared, what):
            raise QueryError(
                f"query {query}: stream {name} has {what}={getattr(declared, what)!r}, and other queries of the engine "
                f"have {what}={getattr(known, what)!r}: declare the stream alike in all of them"
            )
