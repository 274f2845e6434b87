"""The query of a run: a text is typed against the sources, and its streams find theirs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from eddy.errors import EddyError, QueryError
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.query.sql import sql
from eddy.query.stream import Stream
from eddy.running.columns import Typing, typed
from eddy.running.schemas import completed
from eddy.shown import shown
from eddy.sources.base import Source
from eddy.sources.inferring import Inferred
from eddy.values.types import ColumnType

_WORD = re.compile(r"\w+")
_BRACKET = re.compile(r"\[[^\[\]]*\]")
_EXCEPT = re.compile(r"(?<![\w.])EXCEPT\b", re.IGNORECASE)


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

    typing: Typing
    named: Mapping[str, Stream]
    """With the columns that the texts name."""
    told: set[str] = field(factory=set)
    """What was warned of already."""

    def query(self, text: str) -> Query:
        """The query of a text; QueryError says what is wrong with it, knowing all columns."""
        try:
            made = sql(text, self.named)
        except QueryError as narrow:
            error = _with_all(text, self.typing) or narrow
            _tell_more(error, text, self.typing)
            raise error from None
        tables = tables_of(text)
        told = [*self.typing.warnings(made, tables), *self.typing.without_time(made, tables)]
        for one in told:
            if one not in self.told:
                self.told.add(one)
                warnings.warn(one, stacklevel=4)
        return made


def declared(texts: Sequence[Any], sources: Mapping[str, Source]) -> Declared:
    """What texts know of their streams: all of them the same, with types that all can use, if values allow that."""
    for text in texts:
        if not isinstance(text, str):
            raise EddyError(f"a query is an eddy.Query or a text of SQL, not {shown(text)}")
    whole_text = "\n".join(texts)
    tables = {alias: table for text in texts for alias, table in tables_of(text).items()}
    typing = Typing(dict(sources))
    while True:
        named = typing.streams(lambda columns, time: named_in(whole_text, columns, time))
        wrong = [error for text in texts if (error := _wrong(text, named)) is not None]
        if not any(typing.fit(str(error), tables) for error in wrong):
            return Declared(typing, named)


def _tell_more(error: QueryError, text: str, typing: Typing) -> None:
    """Add to an error what is known of the columns that it may be about."""
    texts = typing.texts(str(error))
    if texts:
        error.args = (
            f"{error}\n{' and '.join(texts)}: text, as it seems from the first MB. Where bad rows make it seem so, "
            'give the types: schema={"ts": "timestamp", ...}',
        )
    if re.search(r" has (?:no|a) column ", str(error)):
        for source in typing.sources.values():
            if not source.there():
                said, end, place = str(error).partition("\n")
                error.args = (
                    f"{said}. {source} is not there yet, and its schema names no such column{end}{place}",
                )
    error.args = (_of_zones(_of_sources(str(error), text, typing), text, typing),)
    words = _words(text)
    told = [
        f"{name}.{column} is {kind}"
        for name, others in typing.others.items()
        for column, kind in others.items()
        if column in words
    ]
    if told:
        error.args = (f"{error}. Columns of these types cannot be used: {', '.join(told)}",)


def _of_sources(error: str, text: str, typing: Typing) -> str:
    """An error about a stream that has no source, with what to give."""
    found = re.match(r"no schema for stream ([^\n:]+): (?!did you mean)[^\n]*", error)
    if found is None:
        return error
    name, tables = found[1], tables_of(text)
    alias = next(
        (one for one, table in tables.items() if table == name != one and one in typing.sources), None
    )
    what = f"add {name}=PATH" if alias is None else f"give {name}=PATH, not {alias}=PATH"
    reads = "" if alias is None else f", which {alias} reads"
    return f"no source for {name}{reads}: {what}{error[found.end() :]}"


def _of_zones(error: str, text: str, typing: Typing) -> str:
    """An error about times of which some have a zone, with what to give for lines without one."""
    found = re.search(r" has a time zone and (.*?) has none, so .*? or both without", error)
    column = None if found is None else re.search(r"(\w+)\.(\w+)", found[1])
    if found is None or column is None:
        return error
    name = tables_of(text).get(column[1], column[1])
    if name not in typing.sources or typing.sources[name].inferred is None:
        return error
    given = f'schema={{"{column[2]}": "timestamp[us, UTC]"}} of {name}'
    return f"{error[: found.end()]}, such as {given}{error[found.end() :]}"


def _wrong(text: str, streams: Mapping[str, Stream]) -> QueryError | None:
    """What is wrong with a text over these streams."""
    try:
        sql(text, streams)
    except QueryError as error:
        return error
    return None


def _with_all(text: str, typing: Typing) -> QueryError | None:
    """What is wrong with a text, told with all columns that there are: a name may be nearly that of one."""
    return _wrong(text, typing.streams(lambda columns, _: dict(columns)))


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
    wanted = query.streams[stream].columns
    if not wanted.keys() <= have.keys() | others.keys():
        source = completed(source)
        have, others = typed(source)
    for name, kind in wanted.items():
        if name in have:
            text = kind.kind == "string"
            if text != (have[name].kind == "string") and not _readable(source.inferred, name, text):
                raise EddyError(
                    f"column {name} of {source} is {have[name]}, but {stream}.{name} of the query is {kind}"
                )
        elif name in others:
            raise EddyError(f"column {name} of {source} is {others[name]}, which a query cannot use")
        else:
            raise EddyError(
                f"{source} has no column {name}, which stream {stream} has: {nearest(name, have)}"
            )


def _readable(inferred: Inferred | None, column: str, text: bool) -> bool:
    """Whether a column can be read as a text, though it seems to be none, or as something else, though it seems to be a
    text: nobody has said what it is, and some of its values may be that."""
    if inferred is None:
        return False
    return inferred.texts if text else column in inferred.open or column in inferred.seeming


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
