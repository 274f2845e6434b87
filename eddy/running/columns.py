"""The columns that the streams of a text have: those that sources say, or, of lines, what these can be read as.

Lines without a schema say no types. What was inferred of them may be another type than the query needs, since there is
text in a column of times or numbers, or nothing at all: then the query decides, where the values do not speak against
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from attrs import define, field

from eddy.errors import EddyError, QueryError
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.running.schemas import checked
from eddy.shown import shown
from eddy.sources.base import Source
from eddy.sources.inferring import Inferred, Misfit
from eddy.values.types import ColumnType, column_type

_TIMESTAMP = column_type("timestamp")
_WHOLE = column_type("int64")
_KINDS = re.compile(r"\(([a-z]\w*(?:\[[^\]]*\])?)\)")
"""Types that an error names."""


def typed(source: Source) -> tuple[dict[str, ColumnType], dict[str, str]]:
    """The columns of a source that a query can have, and why it cannot have the others."""
    schema = source.schema
    if schema is None:
        raise EddyError(
            f"{source} is not there yet: give its schema too, or a query whose streams have their columns"
        )
    pairs = zip(schema.names, schema.types, strict=True) if isinstance(schema, pa.Schema) else schema.items()
    columns: dict[str, ColumnType] = {}
    others: dict[str, str] = {}
    for name, spec in pairs:
        try:
            columns[name] = column_type(spec)
        except QueryError as error:
            if not isinstance(spec, pa.DataType):
                raise QueryError(f"the schema of {source}: column {name!r}: {error}") from None
            if pa.types.is_date(spec):
                columns[name] = column_type("timestamp[s]")
            else:
                others[name] = str(spec)
    return columns, others


def time_of(source: Source, columns: Mapping[str, ColumnType]) -> str | None:
    """The column of its time: the one that it says, `ts`, its only timestamp, or the only one that its schema names;
    None where there is none of these."""
    if source.time is not None:
        if source.time not in columns:
            raise EddyError(
                f"{source} has no column {source.time} for its time: {nearest(source.time, columns)}"
            )
        return source.time
    if "ts" in columns:
        return None
    times = [name for name in columns if name.lower() == "ts"] or [
        name for name, kind in columns.items() if kind.kind == "timestamp"
    ]
    if len(times) > 1 and source.seen is not None:
        times = [name for name in times if name in source.seen.named] or times
    return times[0] if len(times) == 1 else None


@define
class Typing:
    """The columns of sources, which may become others as a query needs it."""

    sources: dict[str, Source]
    kinds: dict[str, dict[str, ColumnType]] = field(init=False)
    others: dict[str, dict[str, str]] = field(init=False)
    """Columns that no query can use, and their types."""
    taken: dict[tuple[str, str], Misfit | None] = field(factory=dict)
    """Columns that are read as something else than was inferred; None: there is nothing in them."""
    guessed: set[str] = field(factory=set)
    """Sources whose time has no values, and is what nothing says."""

    def __attrs_post_init__(self) -> None:
        self.sources = {name: checked(source) for name, source in self.sources.items()}
        found = {name: typed(source) for name, source in self.sources.items()}
        self.kinds = {name: columns for name, (columns, _) in found.items()}
        self.others = {name: others for name, (_, others) in found.items()}
        for name, columns in self.kinds.items():
            if not columns:
                raise EddyError(
                    f"{self.sources[name]} has no column that a query can use: {shown(self.others[name])}"
                )
        self._take_times()

    def time(self, name: str) -> str | None:
        """The column that is to be the time of a source, if there is one."""
        return time_of(self.sources[name], self.kinds[name]) or ("ts" if "ts" in self.kinds[name] else None)

    def fit(self, error: str, tables: Mapping[str, str]) -> bool:
        """Take another type for a column that an error is about, if its values allow that; whether there was one."""
        for name, inferred in self._inferred():
            aliases = {name, *(alias for alias, table in tables.items() if table == name)}
            for column in (*inferred.seeming, *inferred.open):
                text = self.kinds[name][column].kind == "string" and (name, column) not in self.taken
                if text and any(_is_about(f"{alias}.{column}", error) for alias in aliases):
                    misfit = inferred.seeming.get(column)
                    if misfit is None or misfit.likely:
                        self._take(name, column, misfit, _other_kind(error))
                        return True
        found, self.guessed = self.guessed, set()
        for name in found:
            self.kinds[name][str(self.time(name))] = _WHOLE
        return bool(found)

    def warnings(self, query: Query, tables: Mapping[str, str]) -> Iterator[str]:
        """What somebody should know of the types that were taken: of columns that the query reads."""
        read = {
            (tables.get(stream, stream), column)
            for stream in query.names
            for column in query.streams[stream].columns
        }
        for name, inferred in self._inferred():
            for column in self.kinds[name]:
                misfit = self.taken.get((name, column)) or inferred.misfits.get(column)
                if misfit is not None and (name, column) in read:
                    yield _told(name, column, misfit)

    def without_time(self, query: Query, tables: Mapping[str, str]) -> Iterator[str]:
        """Streams without a time, since the column that is to be it is a text or a float.

        EddyError where rows of several would be merged in another order for it, and nobody has said that it is so.
        """
        several = sum(not stream.static for stream in query.streams.values()) > 1
        for stream in query.names:
            name, declared = tables.get(stream, stream), query.streams[stream]
            when = None if declared.static or declared.time is not None else self.time(name)
            if when is None or self.kinds[name][when].kind not in ("string", "float"):
                continue
            source, kind = self.sources[name], self.kinds[name][when]
            word = "text" if kind.kind == "string" else str(kind)
            if source.inferred is None or when not in source.inferred.schema.names:
                if isinstance(source.schema, pa.Schema):
                    yield (
                        f"{source}: {when} is {word}, so its rows have no time"
                        + ", and streams take turns" * several
                    )
                continue
            told = f"{source}: {when} is {word}, as it seems, so its rows have no time"
            if several:
                raise EddyError(
                    f"{told}, and would not be merged by it. Times are whole numbers, or written as "
                    "2026-01-31 10:00:00; if some of them have a zone and others none, give "
                    f'schema={{"{when}": "timestamp[us, UTC]"}}; if it is to be no time, schema={{"{when}": "{kind}"}}'
                )
            yield told

    def texts(self, error: str) -> list[str]:
        """Columns of which an error speaks that are texts because of what is in a file, and nobody said so."""
        return [
            f"{name}.{column}"
            for name, inferred in self._inferred()
            for column, kind in self.kinds[name].items()
            if column in inferred.schema.names
            and kind.kind == "string"
            and f"{name}.{column} (string)" in error
        ]

    def _inferred(self) -> Iterator[tuple[str, Inferred]]:
        for name, source in self.sources.items():
            if source.inferred is not None:
                yield name, source.inferred

    def _take_times(self) -> None:
        """Times of sources that seem to have some, and times without values: such as others have."""
        for name, inferred in self._inferred():
            when = self.time(name)
            misfit = inferred.seeming.get(when or "")
            if when is not None and misfit is not None and misfit.likely:
                self._take(name, when, misfit, None)
        empty = {name: when for name, of in self._inferred() if (when := self.time(name)) in of.open}
        known = (self.kinds[name][at] for name in self.kinds if name not in empty and (at := self.time(name)))
        kind = next((kind for kind in known if kind.kind not in ("string", "float")), None)
        self.guessed = set(empty) if kind is None else set()
        for name, when in empty.items():
            self._take(name, str(when), None, kind or _TIMESTAMP)

    def _take(self, name: str, column: str, misfit: Misfit | None, kind: ColumnType | None) -> None:
        self.taken[name, column] = misfit
        self.kinds[name][column] = (kind or _WHOLE) if misfit is None else column_type(misfit.kind)

    def streams(
        self, wanted: Callable[[dict[str, ColumnType], str], dict[str, ColumnType]]
    ) -> dict[str, Stream]:
        """The declaration of each stream, with the columns that are wanted of those that there are, given its time."""
        found = {}
        for name, columns in self.kinds.items():
            static = self.sources[name].static
            time = None if static else time_of(self.sources[name], columns)
            found[name] = Stream(wanted(columns, "" if static else time or "ts"), time=time, static=static)
        return found


def misfits_of(name: str, source: Source) -> Iterator[str]:
    """What somebody should know of the types that were inferred."""
    for column, misfit in () if source.inferred is None else source.inferred.misfits.items():
        yield _told(name, column, misfit)


def _told(name: str, column: str, misfit: Misfit) -> str:
    return f"{name}.{column}: {misfit}"


def _is_about(column: str, error: str) -> bool:
    """Whether an error says that a column is a text, and cannot be what it is used for."""
    return re.search(rf"(?<![\w.]){re.escape(column)}(?: \(string\)| is (?:a )?string)", error) is not None


def _other_kind(error: str) -> ColumnType | None:
    """The type that an error names beside text."""
    for word in _KINDS.findall(error):
        if word != "string":
            try:
                return column_type(word)
            except QueryError:
                continue
    return None
