"""Names of streams and columns: resolving them, and suggesting what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from attrs import field, frozen

from eddy.errors import QueryError
from eddy.query.expressions import Reference
from eddy.values.types import ColumnType


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps somebody who wrote a name wrongly."""
    known = list(known)
    folded = {other.rpartition(".")[2].lower(): other for other in reversed(known)}
    folded |= {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    guess = f"did you mean {folded[close[0]]}? " if close else ""
    return f"{guess}There {'are' if len(known) > 1 else 'is'} {listed or 'none'}"


Pair = tuple[str, str]
"""A stream and a column of it."""


@frozen(eq=False)
class Scope:
    """The columns that an expression may name: stream name -> column name -> type."""

    streams: Mapping[str, Mapping[str, ColumnType]]
    subtracted: Mapping[str, Mapping[str, ColumnType]] = field(factory=dict)
    """Streams of the query that no result has a column of."""
    shown: tuple[Pair, ...] = field()
    """What `*` stands for, and a name without a stream. Of columns that USING has merged it is the left one."""
    merged: frozenset[Pair] = frozenset()
    """Those of them that stand for several columns."""

    @shown.default
    def _every_column(self) -> tuple[Pair, ...]:
        return tuple((name, column) for name, columns in self.streams.items() for column in columns)

    def only(self, base: str) -> Scope:
        """What a result of a difference may show: the columns of its base."""
        rest = {name: columns for name, columns in self.streams.items() if name != base}
        return Scope({base: self.stream(base)}, rest)

    def beside(self, name: str) -> Scope:
        """The same where a name without a stream may be one of this stream, too, of which nothing is shown."""
        own = tuple((name, column) for column in self.streams[name])
        return Scope(self.streams, self.subtracted, (*self.shown, *own), self.merged)

    def stream(self, name: str) -> Mapping[str, ColumnType]:
        """The columns of a stream."""
        if name in self.subtracted:
            raise QueryError(
                f"{name} is subtracted, so a result has no column of it: name columns of {', '.join(self.streams)}"
            )
        if name not in self.streams:
            raise QueryError(f"unknown stream {name}: {nearest(name, self.streams)}")
        return self.streams[name]

    def column(self, stream: str | None, column: str) -> Reference:
        """The column of that name; without a stream it must belong to one stream only."""
        if stream is None:
            stream = self._owner(column)
        columns = self.stream(stream)
        if column not in columns:
            raise QueryError(f"stream {stream} has no column {column}: {nearest(column, columns)}")
        return Reference(stream, column, columns[column])

    def name_of(self, pair: Pair) -> str:
        """What `*` calls a column: a merged one has no stream, unless two would be called the same."""
        alone = pair in self.merged and sum(other[1] == pair[1] for other in self.merged) == 1
        return pair[1] if alone else ".".join(pair)

    def _owner(self, column: str) -> str:
        owners = [name for name, other in self.shown if other == column]
        hidden = [name for name, columns in self.subtracted.items() if column in columns]
        if not owners and hidden:
            return hidden[0]  # which `stream` refuses, and says why
        if not owners:
            raise QueryError(
                f"no stream has a column {column}: {nearest(column, map('.'.join, self.shown))} "
                "(a text is written in single quotes)"
            )
        if len(owners) > 1:
            raise QueryError(
                f"column {column} is ambiguous: write {' or '.join(f'{o}.{column}' for o in owners)}"
            )
        return owners[0]
