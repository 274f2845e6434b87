"""The query of a run: a text is typed against the sources, and its streams find theirs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from eddy.errors import EddyError, QueryError
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.query.sql import sql
from eddy.query.stream import Stream
from eddy.shown import shown
from eddy.sources.base import Source
from eddy.sources.lines import LineFiles
from eddy.values.types import ColumnType, column_type

_UNSORTED = "ORDER BY, LIMIT and OFFSET sort and cut engine.table(): a run gives all changes of all groups"
_WORD = re.compile(r"\w+")
_BRACKET = re.compile(r"\[[^\[\]]*\]")
_EXCEPT = re.compile(r"(?<![\w.])EXCEPT\b", re.IGNORECASE)


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
    """The column of its time: the one that it says, `ts`, or its only timestamp; None where there is none of these."""
    if source.time is not None:
        if source.time not in columns:
            raise EddyError(
                f"{source} has no column {source.time} for its time: {nearest(source.time, columns)}"
            )
        return source.time
    times = [name for name, kind in columns.items() if kind.kind == "timestamp"]
    return None if "ts" in columns or len(times) != 1 else times[0]


def query_of(query: Any, sources: Mapping[str, Source]) -> tuple[Query, dict[str, Source]]:
    """The query, and a source for each stream. A text gets its columns from the sources, those that it names."""
    if isinstance(query, Mapping):
        raise EddyError("there is one query here: eddy.run takes several, {'name': query, ...}")
    if isinstance(query, Query):
        return query, matched(query, sources, {})
    made = declared([query], sources).query(query)
    return made, matched(made, sources, tables_of(query))


@frozen
class Declared:
    """The streams of texts, as their sources have them."""

    sources: Mapping[str, Source]
    named: Mapping[str, Stream]
    """With the columns that the texts name."""
    whole: Mapping[str, Stream]
    """With all that a query can have."""
    others: Mapping[str, Mapping[str, str]]
    """Columns that no query can have, and their types."""

    def query(self, text: str) -> Query:
        """The query of a text; QueryError says what is wrong with it, knowing all columns."""
        try:
            made = sql(text, self.named)
        except QueryError as narrow:
            error = _with_all(text, self.whole) or narrow
            texts = _inferred_texts(self.sources, str(error))
            if texts:
                error.args = (f"{error}\n{texts}",)
            words = _words(text)
            told = [
                f"{name}.{column} is {kind}"
                for name, others in self.others.items()
                for column, kind in others.items()
                if column in words
            ]
            if told:
                error.args = (f"{error}. Columns of these types cannot be used: {', '.join(told)}",)
            raise error from None
        if made.cut:
            warnings.warn(_UNSORTED, stacklevel=4)
        return made


def declared(texts: Sequence[Any], sources: Mapping[str, Source]) -> Declared:
    """What texts know of their streams: all of them the same."""
    for text in texts:
        if not isinstance(text, str):
            raise EddyError(f"a query is an eddy.Query or a text of SQL, not {shown(text)}")
    whole_text = "\n".join(texts)
    named, whole, unusable = {}, {}, {}
    for name, source in sources.items():
        columns, others = typed(source)
        if not columns:
            raise EddyError(f"{source} has no column that a query can use: {shown(others)}")
        if source.static:
            named[name] = Stream(named_in(whole_text, columns, ""), static=True)
            whole[name] = Stream(columns, static=True)
            continue
        time = time_of(source, columns)
        named[name] = Stream(named_in(whole_text, columns, time or "ts"), time=time)
        whole[name], unusable[name] = Stream(columns, time=time), others
    return Declared(sources, named, whole, unusable)


def _inferred_texts(sources: Mapping[str, Source], error: str) -> str:
    """Of which columns an error speaks that are texts because of what is in a file, and not because anybody said so."""
    found = [
        f"{name}.{one.name}"
        for name, source in sources.items()
        if isinstance(source, LineFiles) and source.given is None and source.schema is not None
        for one in source.schema
        if pa.types.is_string(one.type) and f"{name}.{one.name} (string)" in error
    ]
    if not found:
        return ""
    return (
        f"{' and '.join(found)}: text, as it seems from the first MB. Where bad rows make it seem so, give the types: "
        'schema={"ts": "timestamp", ...}, or --schema'
    )


def _with_all(query: str, schemas: Mapping[str, Stream]) -> QueryError | None:
    """What is wrong with a text, told with all columns that there are: a name may be nearly that of one."""
    try:
        sql(query, schemas)
    except QueryError as error:
        return error
    return None


def named_in(text: str, columns: Mapping[str, ColumnType], time: str) -> dict[str, ColumnType]:
    """The columns whose names stand in the text, and the time; all where the text may mean them all."""
    plain = re.sub(r"COUNT\s*\(\s*\*\s*\)", "", text, flags=re.IGNORECASE)
    words = _words(text)
    if "*" in plain or "natural" in words:
        return dict(columns)
    kept = {name: kind for name, kind in columns.items() if name.lower() in words or name == time}
    spaced = {name: kind for name, kind in columns.items() if not _WORD.fullmatch(name) and name in text}
    return {name: kind for name, kind in columns.items() if name in kept or name in spaced} or dict(columns)


def tables_of(text: str) -> dict[str, str]:
    """The source of each stream that a text calls by another name."""
    plain = _EXCEPT.sub("JOIN", _BRACKET.sub(" ", text))
    try:
        tree = parse_one(plain)
    except SqlglotError:
        return {}
    found = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    for inner in tree.find_all(exp.Subquery, exp.CTE):
        tables = {table.name for table in inner.find_all(exp.Table)}
        if inner.alias and len(tables) == 1:
            found[inner.alias] = tables.pop()
    for name in found:
        for _ in found:  # of a subquery within another one
            found[name] = found.get(found[name], found[name])
    return found


def matched(query: Query, sources: Mapping[str, Source], tables: Mapping[str, str]) -> dict[str, Source]:
    """A source for each stream; EddyError where there is none, or one that nobody reads."""
    names = named_sources(query, sources, tables)
    check_used(names, sources, "the query has no")
    return {stream: sources[name] for stream, name in names.items()}


def named_sources(query: Query, sources: Mapping[str, Source], tables: Mapping[str, str]) -> dict[str, str]:
    """The name of the source of each stream; EddyError where there is none, or it cannot be."""
    found = {}
    for stream in query.names:
        name = stream if stream in sources else tables.get(stream, stream)
        if name not in sources:
            raise EddyError(f"stream {stream} has no source: give {stream}=, such as {stream}=clicks.parquet")
        found[stream] = name
    for stream, name in found.items():
        _check_columns(query, stream, sources[name])
    return found


def check_used(names: Mapping[str, str], sources: Mapping[str, Source], who: str) -> None:
    """EddyError if nobody reads a source, or two streams are to be read from one that can be read once."""
    used = set()
    for name in names.values():
        if name in used and not sources[name].seekable:
            raise EddyError(f"{sources[name]} can be read once only, and two streams are to be read from it")
        used.add(name)
    unused = [name for name in sources if name not in used]
    if unused:
        raise EddyError(f"{who} stream {unused[0]}: {nearest(unused[0], dict.fromkeys(names))}")


def _check_columns(query: Query, stream: str, source: Source) -> None:
    """EddyError if a source cannot have the columns of a stream. One that is not there yet may have them."""
    if source.schema is None:
        return
    have, others = typed(source)
    for name, kind in query.streams[stream].columns.items():
        if name in have:
            if (kind.kind == "string") != (have[name].kind == "string"):
                raise EddyError(
                    f"column {name} of {source} is {have[name]}, but {stream}.{name} of the query is {kind}"
                )
        elif name in others:
            raise EddyError(f"column {name} of {source} is {others[name]}, which a query cannot use")
        else:
            raise EddyError(
                f"{source} has no column {name}, which stream {stream} has: {nearest(name, have)}"
            )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
