"""A whole query as SQL text, with windows in brackets after the streams, as CQL writes them.

    SELECT A.id, B.v FROM A [ROWS 10000], B [RANGE 5 MINUTES] WHERE A.x = B.x
    SELECT A.id FROM A [ROWS 10000] EXCEPT B [ROWS 500] ON A.x = B.x WHERE A.id > 0

The brackets are ours: they are taken out of the text before sqlglot parses it, and given to the streams that
they stand behind. So is `EXCEPT stream ON condition`: sqlglot reads JOIN in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from attrs import evolve, frozen
from sqlglot import TokenType, exp, tokenize

from eddy.errors import QueryError
from eddy.query.aggregates import own_by_name
from eddy.query.brackets import check_time, windows_of
from eddy.query.expressions import Expression
from eddy.query.flatten import flattened
from eddy.query.minus import base_of, refuse_between, refuse_unequal
from eddy.query.names import Scope, nearest
from eddy.query.own_aggregate import Aggregate
from eddy.query.parse import condition, parse_sql, parts_of
from eddy.query.place import about, at, shows_places
from eddy.query.query import Query
from eddy.query.selected import selected
from eddy.query.stream import Stream, like
from eddy.query.using import Item, Joined, joined
from eddy.query.windows import Window
from eddy.shown import shown

_PIECE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\[([^\[\]]*)\]|(?<![\w.])(EXCEPT|WHERE|GROUP)\b""",
    re.DOTALL | re.IGNORECASE,
)
_NO_STREAM = re.compile(r"\s*(\(|(?:ALL|DISTINCT|SELECT|WITH|VALUES)\b)", re.IGNORECASE)
_EXCEPT = "write FROM A EXCEPT B ON A.k = B.k"
_CLAUSES = {"order": "ORDER BY"}
_INSTEAD = {
    "order": "rows come in the order of their events; sort what engine.table() shows of groups",
    "limit": "results go on for ever; take what you need of engine.table(), which shows the groups",
}


@frozen
class _Source:
    """One item of FROM: the stream's name in the query, its schema's, and where it stands in the text."""

    name: str
    schema: str
    spans: tuple[tuple[int, int], ...]
    join: exp.Join | None
    table: exp.Expr
    subtracted: bool = False
    natural: bool = False
    anew: bool = False
    """Behind a comma, which JOIN binds more tightly than."""

    @property
    def using(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.join.args.get("using") or ()) if self.join else ()


@shows_places
def sql(
    text: str,
    schemas: Mapping[str, object] | None = None,
    *,
    tables: Mapping[str, object] | None = None,
    cross: bool = False,
    aggregates: Iterable[type[Aggregate]] = (),
) -> Query:
    """The query that the text describes, over streams of these schemas.

    A schema is a dict of columns and types, or a `Stream`; its window holds unless the text has one. `tables` has
    tables or data frames, whose columns are those of their streams; their rows are pushed like all others. Windows
    are `[ROWS n]`, `[RANGE 5 MINUTES]`, `[RANGE INTERVAL '5' MINUTE]`, `[RANGE 300]` where time is an integer,
    `[RANGE 1 HOUR SLIDE 5 MINUTES]`, `[TUMBLING n ROWS]`, `[TUMBLING 5 MINUTES]` and `[UNBOUNDED]`; `[STATIC]` stands
    for a relation that is loaded once. Streams are joined by commas and WHERE, or by JOIN ... ON or USING; an alias
    makes a stream of its own, so that one schema can be joined with itself. CROSS JOIN, or `cross=True`, allows
    combinations without a predicate. `EXCEPT B ON A.k = B.k` behind the streams of FROM, once or more, subtracts:
    it makes a difference. Results are aggregated with COUNT, SUM, AVG, MIN, MAX and MEDIAN, GROUP BY, HAVING and
    SELECT DISTINCT; `aggregates` has classes of one's own, which are called by their names, in any case.
    """
    return Query(**arguments(text, like(tables, schemas), cross, aggregates))


def arguments(
    text: str,
    schemas: Mapping[str, object],
    cross: bool,
    aggregates: Iterable[type[Aggregate]] = (),
) -> dict[str, Any]:
    """What the text says, as the arguments of `Query`; ``aggregates`` are the classes of the user's own."""
    if not isinstance(schemas, Mapping):
        raise QueryError(f"schemas must be a dict of streams and their columns, not {shown(schemas)}")
    plain, brackets, excepts = _lift(text)
    select = _parse(plain, text, excepts)
    flat = flattened(select, lambda name: _columns(name, schemas))
    if flat is not select and excepts:
        raise QueryError(f"EXCEPT does not go with subqueries and parentheses in FROM: {_EXCEPT}")
    select = flat
    sources = list(_sources(select, excepts, _behind_commas(plain)))
    windows, places = windows_of([(s.name, s.spans) for s in sources], plain, text, brackets)
    streams = _streams(sources, schemas, windows)
    check_time(streams, places)
    joins = joined(
        [Item(s.name, s.using, s.anew, s.subtracted, s.natural, s.join) for s in sources],
        Scope({name: stream.columns for name, stream in streams.items()}),
    )
    scope = joins.scope
    cross = cross or any(source.join is not None and source.join.kind == "CROSS" for source in sources)
    where = [*_joins(sources, joins)]
    if select.args.get("where"):
        where.append(condition(select.args["where"].this, scope))
    minus = _minus(sources, joins)
    if minus is not None and select.args.get("where"):
        for part in parts_of(select.args["where"].this):
            with at(part):
                refuse_between(condition(part, scope), base_of(minus, scope))
    shown_of = scope if minus is None else scope.only(base_of(minus, scope))
    outputs = selected(select, shown_of, own_by_name(aggregates))
    return {"streams": streams, "where": where, "cross": cross, "minus": minus, **outputs}


def _lift(text: str) -> tuple[str, list[tuple[int, str]], list[int]]:
    """The text with blanks for brackets and JOIN for EXCEPT, and where which of these were.

    Every position stays what it was.
    """
    if not isinstance(text, str) or not text.strip():
        raise QueryError(
            f"a query must be a text such as 'SELECT * FROM A, B WHERE A.x = B.x', not {shown(text)}"
        )
    brackets: list[tuple[int, str]] = []
    excepts: list[int] = []
    later: list[str] = []

    def rewritten(piece: re.Match[str]) -> str:
        bracket, word = piece[1], (piece[2] or "").upper()
        if bracket is not None:
            brackets.append((piece.start(), bracket))
            return " " * len(piece[0])
        if word != "EXCEPT":
            later.extend([word] if word else [])
            return piece[0]
        wrong = _NO_STREAM.match(text, piece.end())
        if wrong:
            what = "(...)" if wrong[1] == "(" else wrong[1].upper()
            refused = QueryError(f"EXCEPT {what} is not supported: {_EXCEPT}")
            raise about((text, piece.start(), wrong.end()), refused)
        if later:
            told = f"EXCEPT stands behind {later[0]}, but belongs to FROM: {_EXCEPT} WHERE ..."
            raise about((text, *piece.span()), QueryError(told))
        excepts.append(piece.start())
        return "JOIN  "

    return _PIECE.sub(rewritten, text), brackets, excepts


def _parse(plain: str, text: str, excepts: list[int]) -> exp.Select:
    """sqlglot's tree, which has no clauses but those that we know."""
    try:
        select = parse_sql(plain, written=text)
    except QueryError as error:
        if not excepts:
            raise
        raise about(error.place, QueryError(f"{error}; for a difference {_EXCEPT}")) from None
    if not isinstance(select, exp.Select):
        raise QueryError(f"a query is one SELECT ... FROM ... WHERE ..., not {type(select).__name__.upper()}")
    for clause, value in select.args.items():
        if value and clause not in (
            "expressions",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "distinct",
            "with_",
        ):
            name = _CLAUSES.get(clause, clause.rstrip("_").upper())
            instead = _INSTEAD.get(clause, "a query selects columns FROM streams WHERE they match")
            refused = QueryError(f"{name} is not supported: {instead}")
            raise about(value[0] if isinstance(value, list) else value, refused)
    if not select.args.get("from_"):
        raise QueryError("the query has no FROM: name the streams to join")
    return select


def _columns(name: str, schemas: Mapping[str, object]) -> list[str]:
    """The columns of a stream by the name of its schema."""
    if name not in schemas:
        raise QueryError(f"no schema for stream {name}: {nearest(name, schemas)}")
    schema = schemas[name]
    return list((schema if isinstance(schema, Stream) else Stream(schema)).columns)


def _behind_commas(plain: str) -> set[int]:
    """Where the words stand that a comma stands before; sqlglot takes a comma for a JOIN without a condition."""
    return {after.start for comma, after in pairwise(tokenize(plain)) if comma.token_type is TokenType.COMMA}


def _sources(select: exp.Select, excepts: list[int], behind_commas: set[int]) -> Iterator[_Source]:
    """The streams in the order of the text; EXCEPT subtracts the one that it stands before."""
    tables = [
        (select.args["from_"].this, None),
        *((join.this, join) for join in select.args.get("joins") or ()),
    ]
    before = 0
    for table, join in tables:
        source = _source(table, join)
        start = source.spans[0][0]
        subtracted = any(before < place < start for place in excepts)
        before = start
        kind = " ".join(part for part in (join.method, join.side, join.kind) if part) if join else ""
        if subtracted and kind:
            raise about(table, QueryError(f"{kind} EXCEPT is not supported: {_EXCEPT}"))
        if join is not None and join.args.get("using") == []:
            told = "USING () names no column: name those that both sides have, such as USING (k)"
            raise about(table, QueryError(told))
        if kind in ("NATURAL", "NATURAL INNER"):
            source = evolve(source, natural=True)
        elif kind not in ("", "INNER", "CROSS"):
            told = f"{kind} JOIN is not supported: streams are joined by inner joins, write JOIN"
            raise about(table, QueryError(told))
        yield evolve(source, subtracted=subtracted, anew=start in behind_commas)


def _source(table: exp.Expr, join: exp.Join | None) -> _Source:
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or {name for name, value in table.args.items() if value} - {"this", "alias"}:
        told = f"FROM takes names of streams, with or without an alias, not {table.sql()}"
        raise about(table, QueryError(told))
    alias = table.args.get("alias")
    spans = [(name.meta["start"], name.meta["end"]) for name in (table.this, alias and alias.this) if name]
    return _Source(table.alias or table.name, table.name, tuple(spans), join, table)


def _streams(
    sources: list[_Source],
    schemas: Mapping[str, object],
    windows: Mapping[str, Window | None],
) -> dict[str, Stream]:
    streams: dict[str, Stream] = {}
    for source in sources:
        if source.schema not in schemas:
            told = f"no schema for stream {source.schema}: {nearest(source.schema, schemas)}"
            raise about(source.table, QueryError(told))
        if source.name in streams:
            told = f"stream {source.name} is named twice: give each its own alias, {source.name} AS a"
            raise about(source.table, QueryError(told))
        schema = schemas[source.schema]
        stream = schema if isinstance(schema, Stream) else Stream(schema)
        of = windows.get(source.name, stream.window)
        streams[source.name] = (
            Stream(stream.columns, static=True, strict=stream.strict, parse=stream.parse)
            if of is None
            else evolve(stream, window=of)
        )
    return streams


def _joins(sources: list[_Source], joins: Joined) -> Iterator[Expression]:
    """The conditions of JOIN ... ON and JOIN ... USING."""
    for source in sources:
        if source.join is None or source.subtracted:
            continue
        if source.join.args.get("on"):
            yield condition(source.join.args["on"], joins.scope)
        yield from joins.equalities[source.name]


def _minus(sources: list[_Source], joins: Joined) -> dict[str, list[Expression]] | None:
    """The conditions of EXCEPT ... ON and EXCEPT ... USING by stream; None for a join."""
    subtracted = {source.name: source.join for source in sources if source.subtracted}
    minus: dict[str, list[Expression]] = {}
    for name, join in subtracted.items():
        assert join is not None
        on, using = join.args.get("on"), joins.equalities[name]
        if on is None and not using:
            raise about(join.this, QueryError(f"EXCEPT {name} has no condition: {_EXCEPT}"))
        with at(join.this):
            base = base_of(subtracted, joins.scope)
        minus[name] = [*using, *([] if on is None else [condition(on, joins.scope)])]
        for part in [] if on is None else parts_of(on):
            with at(part):
                refuse_unequal(condition(part, joins.scope), base, name)
    return minus or None
