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
from eddy.query.expressions import Expression
from eddy.query.flatten import flattened
from eddy.query.minus import base_of
from eddy.query.names import Scope, nearest
from eddy.query.own_aggregate import Aggregate
from eddy.query.parse import condition, parse_sql
from eddy.query.query import Query
from eddy.query.selected import selected
from eddy.query.stream import Stream
from eddy.query.using import Item, Joined, joined
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded, Width, Window
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
    subtracted: bool = False
    natural: bool = False
    anew: bool = False
    """Behind a comma, which JOIN binds more tightly than."""

    @property
    def using(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.join.args.get("using") or ()) if self.join else ()


def sql(
    text: str,
    schemas: Mapping[str, Stream | Mapping[str, object]],
    *,
    cross: bool = False,
    aggregates: Iterable[type[Aggregate]] = (),
) -> Query:
    """The query that the text describes, over streams of these schemas.

    A schema is a dict of columns and types, or a `Stream`; its window holds unless the text has one. Windows
    are `[ROWS n]`, `[RANGE 5 MINUTES]`, `[RANGE INTERVAL '5' MINUTE]`, `[RANGE 300]` where time is an integer,
    `[RANGE 1 HOUR SLIDE 5 MINUTES]`, `[TUMBLING n ROWS]`, `[TUMBLING 5 MINUTES]` and `[UNBOUNDED]`; `[STATIC]` stands
    for a relation that is loaded once. Streams are joined by commas and WHERE, or by JOIN ... ON or USING; an alias
    makes a stream of its own, so that one schema can be joined with itself. CROSS JOIN, or `cross=True`, allows
    combinations without a predicate. `EXCEPT B ON A.k = B.k` behind the streams of FROM, once or more, subtracts:
    it makes a difference. Results are aggregated with COUNT, SUM, AVG, MIN, MAX and MEDIAN, GROUP BY, HAVING and
    SELECT DISTINCT; `aggregates` has classes of one's own, which are called by their names, in any case.
    """
    return Query(**arguments(text, schemas, cross, aggregates))


def arguments(
    text: str,
    schemas: Mapping[str, Stream | Mapping[str, object]],
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
    streams = _streams(sources, schemas, _windows(sources, plain, brackets))
    joins = joined(
        [Item(s.name, s.using, s.anew, s.subtracted, s.natural) for s in sources],
        Scope({name: stream.columns for name, stream in streams.items()}),
    )
    scope = joins.scope
    cross = cross or any(source.join is not None and source.join.kind == "CROSS" for source in sources)
    where = [*_joins(sources, joins)]
    if select.args.get("where"):
        where.append(condition(select.args["where"].this, scope))
    minus = _minus(sources, joins)
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
            raise QueryError(f"EXCEPT {what} is not supported: {_EXCEPT}")
        if later:
            raise QueryError(f"EXCEPT stands behind {later[0]}, but belongs to FROM: {_EXCEPT} WHERE ...")
        excepts.append(piece.start())
        return "JOIN  "

    return _PIECE.sub(rewritten, text), brackets, excepts


def _parse(plain: str, text: str, excepts: list[int]) -> exp.Select:
    """sqlglot's tree, which has no clauses but those that we know."""
    try:
        select = parse_sql(plain, written=text)
    except QueryError as error:
        raise QueryError(f"{error}; for a difference {_EXCEPT}") if excepts else error from None
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
            raise QueryError(f"{name} is not supported: {instead}")
    if not select.args.get("from_"):
        raise QueryError("the query has no FROM: name the streams to join")
    return select


def _columns(name: str, schemas: Mapping[str, Stream | Mapping[str, object]]) -> list[str]:
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
            raise QueryError(f"{kind} EXCEPT is not supported: {_EXCEPT}")
        if join is not None and join.args.get("using") == []:
            raise QueryError("USING () names no column: name those that both sides have, such as USING (k)")
        if kind in ("NATURAL", "NATURAL INNER"):
            source = evolve(source, natural=True)
        elif kind not in ("", "INNER", "CROSS"):
            raise QueryError(f"{kind} JOIN is not supported: streams are joined by inner joins, write JOIN")
        yield evolve(source, subtracted=subtracted, anew=start in behind_commas)


def _source(table: exp.Expr, join: exp.Join | None) -> _Source:
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or {name for name, value in table.args.items() if value} - {"this", "alias"}:
        raise QueryError(f"FROM takes names of streams, with or without an alias, not {table.sql()}")
    alias = table.args.get("alias")
    spans = [(name.meta["start"], name.meta["end"]) for name in (table.this, alias and alias.this) if name]
    return _Source(table.alias or table.name, table.name, tuple(spans), join)


def _windows(sources: list[_Source], text: str, brackets: list[tuple[int, str]]) -> dict[str, Window | None]:
    """Each bracket belongs to the stream whose name or alias it stands behind; None for a static one."""
    windows: dict[str, Window | None] = {}
    for position, content in brackets:
        behind = [(end, source.name) for source in sources for start, end in source.spans if start < position]
        end, found = max(behind, default=(0, ""))
        if not found or text[end + 1 : position].strip():
            raise QueryError(f"the window [{content}] stands behind no stream: write it after one in FROM")
        for owner in dict.fromkeys(name for other, name in behind if other == end):  # WITH may be read twice
            if owner in windows:
                raise QueryError(f"stream {owner} has two windows: leave [{content}] out")
            windows[owner] = None if content.strip().upper() == "STATIC" else window(content)
    return windows


def window(content: str) -> Window:
    """The window that a bracket holds, such as `ROWS 10000`."""
    word, _, rest = " ".join(content.split()).partition(" ")
    word, width = word.upper(), _width(rest)
    slide = re.split(r"\bSLIDE\b", rest, flags=re.IGNORECASE)
    rows = re.fullmatch(r"(\d[\d_]*) ROWS?", rest, re.IGNORECASE)
    if word == "ROWS" and isinstance(width, int):
        return Rows(width)
    if word == "RANGE" and len(slide) == 2 and all(map(str.strip, slide)):
        return Sliding(_width(slide[0]), every=_width(slide[1]))
    if word == "RANGE" and rest and len(slide) == 1:
        return Range(width)
    if word == "TUMBLING" and rest:
        return Tumbling(rows=int(rows[1])) if rows else Tumbling(time=width)
    if word == "UNBOUNDED" and not rest:
        return Unbounded()
    raise QueryError(
        f"unknown window [{content}]: use [ROWS 1000], [RANGE 5 MINUTES], [RANGE 300], "
        "[RANGE 1 HOUR SLIDE 5 MINUTES], [TUMBLING 100 ROWS], [TUMBLING 5 MINUTES], [UNBOUNDED] or [STATIC]"
    )


def _width(text: str) -> Width:
    """A width of time: `300`, `5 MINUTES`, `'5 minutes'`, `INTERVAL '5' MINUTE` or `INTERVAL '5 minutes'`."""
    text = text.strip()
    interval = re.fullmatch(r"INTERVAL\s+'([^']*)'\s*(\w*)", text, re.IGNORECASE)
    if interval:
        return f"{interval[1]} {interval[2]}".strip()
    text = text.strip("'")
    return int(text) if re.fullmatch(r"\d[\d_]*", text) else text


def _streams(
    sources: list[_Source],
    schemas: Mapping[str, Stream | Mapping[str, object]],
    windows: Mapping[str, Window | None],
) -> dict[str, Stream]:
    streams: dict[str, Stream] = {}
    for source in sources:
        if source.schema not in schemas:
            raise QueryError(f"no schema for stream {source.schema}: {nearest(source.schema, schemas)}")
        if source.name in streams:
            raise QueryError(
                f"stream {source.name} is named twice: give each its own alias, {source.name} AS a"
            )
        schema = schemas[source.schema]
        stream = schema if isinstance(schema, Stream) else Stream(schema)
        of = windows.get(source.name, stream.window)
        streams[source.name] = (
            Stream(stream.columns, static=True, strict=stream.strict)
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
            raise QueryError(f"EXCEPT {name} has no condition: {_EXCEPT}")
        base_of(subtracted, joins.scope)
        minus[name] = [*using, *([] if on is None else [condition(on, joins.scope)])]
    return minus or None
