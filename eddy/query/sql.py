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
from eddy.query.aggregates import OwnKind, own_by_name
from eddy.query.attaching import KINDS, Attaching, asked_about, kind_of
from eddy.query.brackets import check_time, windows_of
from eddy.query.expressions import Expression
from eddy.query.finality import refuse_never_final
from eddy.query.flatten import flattened, is_plain
from eddy.query.letter_case import settle_case
from eddy.query.logic import conjuncts
from eddy.query.minus import base_of, refuse_between, refuse_unequal
from eddy.query.names import Scope, nearest
from eddy.query.own_calls import own_known
from eddy.query.own_rows import OwnFunctionOfRows, functions_by_name
from eddy.query.parse import condition, parse_sql, parts_of
from eddy.query.place import about, at, shows_places
from eddy.query.query import Query
from eddy.query.selected import cut, selected
from eddy.query.set_operations import as_select
from eddy.query.sides import ONLY
from eddy.query.stream import Stream, like
from eddy.query.using import Item, Joined, joined
from eddy.query.windows import Window
from eddy.shown import shown

_PIECE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\[([^\[\]]*)\]|(?<![\w.])(EXCEPT|WHERE|GROUP)\b|([()])"""
    r"""|(?<![\w.])(EMIT\s+CHANGES)(?=\s*;?\s*$)|(?<![\w.])(LEFT(?:\s+OUTER)?)(\s+)(ASOF)\b""",
    re.DOTALL | re.IGNORECASE,
)
_NO_STREAM = re.compile(r"\s*(\(|(?:ALL|DISTINCT|SELECT|WITH|VALUES)\b)", re.IGNORECASE)
_SELECT = re.compile(r"\s*(?:ALL\b|DISTINCT\b)?[\s(]*SELECT\b", re.IGNORECASE)
_EXCEPT = "write FROM A EXCEPT B ON A.k = B.k"
_CLAUSES = {"windows": "WINDOW", "locks": "FOR UPDATE"}
_INSTEAD = {
    "qualify": "write GROUP BY and HAVING, with a window in brackets behind the stream, such as FROM A [ROWS 100]",
    "windows": "write a window in brackets behind the stream, such as FROM A [ROWS 100]",
    "locks": "a query only reads; leave it out",
    "into": "write SELECT columns FROM streams, and push the results where you want them",
    "union": "run each SELECT in an engine of its own, and put the results together",
    "block": "give each statement to eddy.sql by itself",
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
    def attaches(self) -> bool:
        """Whether it is attached to those before it."""
        return kind_of(self.join) in KINDS

    @property
    def asks(self) -> bool:
        """Whether no column of it is seen."""
        return self.attaches and not KINDS[kind_of(self.join)].pairs

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
    aggregates: Iterable[OwnKind] = (),
    functions: Iterable[OwnFunctionOfRows] = (),
) -> Query:
    """The query that the text describes, over streams of these schemas.

    A schema is a dict of columns and types, or a `Stream`; its window holds unless the text has one. `tables` has
    tables or data frames, whose columns are those of their streams; their rows are pushed like all others. Windows
    are `[ROWS n]`, `[RANGE 5 MINUTES]`, `[RANGE INTERVAL '5' MINUTE]`, `[RANGE 300]` where time is an integer,
    `[RANGE 1 HOUR SLIDE 5 MINUTES]`, `[TUMBLING n ROWS]`, `[TUMBLING 5 MINUTES]` and `[UNBOUNDED]`; `[STATIC]` stands
    for a relation that is loaded once. Streams are joined by commas and WHERE, or by JOIN ... ON or USING; an alias
    makes a stream of its own, so that one schema can be joined with itself. CROSS JOIN, or `cross=True`, allows
    combinations without a predicate. LEFT, RIGHT, FULL, SEMI, ANTI and ASOF JOIN, EXISTS and IN (SELECT ...) attach
    streams to the others; EMIT CHANGES at the end has results withdrawn when they do not hold any more.
    `EXCEPT B ON A.k = B.k` behind the streams of FROM, once or more, subtracts: it makes a difference. Results are
    aggregated with COUNT, SUM, AVG, MIN, MAX, MEDIAN and others, GROUP BY, HAVING and SELECT DISTINCT; `aggregates` has
    classes and functions of one's own, which are called by their names, in any case, and ``functions`` those of rows,
    `eddy.function` and `eddy.predicate` without columns. ORDER BY, LIMIT and OFFSET are for `engine.table()`, which has
    the groups.
    """
    with own_known(functions_by_name(functions), own_by_name(aggregates)):
        parts, sources = _read(text, like(tables, schemas), cross)
        query = Query(**parts)
        refuse_never_final(query, {source.name: source.join for source in sources})
        return query


def arguments(text: str, schemas: Mapping[str, object], cross: bool) -> dict[str, Any]:
    """What the text says, as the arguments of `Query`."""
    return _read(text, schemas, cross)[0]


def _read(text: str, schemas: Mapping[str, object], cross: bool) -> tuple[dict[str, Any], list[_Source]]:
    """The same, and the streams of FROM."""
    if not isinstance(schemas, Mapping):
        raise QueryError(f"schemas must be a dict of streams and their columns, not {shown(schemas)}")
    plain, brackets, excepts, changes = _lift(text)
    select = _parse(plain, text, excepts, schemas)
    if excepts and not is_plain(select):
        _subtract(select, plain, excepts)
        excepts, changes = [], True
    select = flattened(select, lambda name: _columns(name, schemas))
    conditions, asked = asked_about(select.args["where"].this if select.args.get("where") else None)
    sources = list(_sources(select, excepts, _behind_commas(plain)))
    every = [*sources, *(_source(one.table, None) for one in asked)]
    windows, places = windows_of([(s.name, s.spans) for s in every], plain, text, brackets)
    streams = _streams(every, schemas, windows)
    check_time(streams, places)
    of_from = Scope({s.name: streams[s.name].columns for s in sources})
    joins = joined(
        [Item(s.name, s.using, s.anew, s.subtracted, s.natural, s.join, s.asks) for s in sources], of_from
    )
    scope = joins.scope
    cross = cross or any(source.join is not None and source.join.kind == "CROSS" for source in sources)
    parts: dict[str, Any]
    subtracted = any(source.subtracted for source in sources)
    if (
        asked
        or any(s.attaches for s in sources)
        or (subtracted and sum(not s.subtracted for s in sources) > 1)
    ):
        attaching = _attached(sources, joins, conditions)
        for source in sources:
            attaching.leave_out(source.name, source.table.args.get(ONLY))
        for one in asked:
            attaching.ask(one, streams[one.name].columns)
        seen = [name for name in of_from.streams if name not in attaching.hidden]
        hidden = {name: streams[name].columns for name in attaching.hidden}
        scope = Scope({n: streams[n].columns for n in seen}, hidden, scope.shown, scope.merged)
        names = [*attaching.core, *(join.stream for join in attaching.attach)]
        streams = {name: streams[name] for name in names}
        parts = {"where": attaching.where, "attach": attaching.attach, "after": attaching.after}
        parts["only"] = attaching.only
        changes = changes or subtracted
    else:
        where = [*_joins(sources, joins), *(condition(part, scope) for part in conditions)]
        minus = _minus(sources, joins)
        for part in conditions if minus is not None else ():
            with at(part):
                refuse_between(condition(part, scope), base_of(minus, scope))
        scope = scope if minus is None else scope.only(base_of(minus, scope))
        parts = {"where": where, "minus": minus}
    outputs = selected(select, scope)
    outputs |= cut(select, scope)
    return {"streams": streams, "cross": cross, "changes": changes, **parts, **outputs}, sources


def _attached(sources: list[_Source], joins: Joined, conditions: list[exp.Expr]) -> Attaching:
    """The joins of a statement of which some are attached to others."""
    attaching = Attaching(joins.scope)
    for source in sources:
        join, using = source.join, joins.equalities[source.name]
        node = join.args.get("on") if join is not None else None
        scope = joins.scope.beside(source.name) if source.asks else joins.scope
        on = [*using, *([] if node is None else conjuncts(condition(node, scope)))]
        if source.subtracted:
            attaching.subtract(source.name, on)
        else:
            attaching.join(kind_of(join), source.name, on, source.table)
    for part in conditions:
        attaching.filter(part)
    attaching.connect()
    attaching.keep_apart()
    return attaching


def _lift(text: str) -> tuple[str, list[tuple[int, str]], list[int], bool]:
    """The text with blanks for brackets, JOIN for EXCEPT and ASOF LEFT for LEFT ASOF, where which of the first two
    were, and if it ends with EMIT CHANGES.

    Every position stays what it was.
    """
    if not isinstance(text, str) or not text.strip():
        raise QueryError(
            f"a query must be a text such as 'SELECT * FROM A, B WHERE A.x = B.x', not {shown(text)}"  # nosec B608
        )
    brackets: list[tuple[int, str]] = []
    excepts: list[int] = []
    later: list[str] = []
    emitted: list[int] = []
    depth = 0  # of parentheses: within them WHERE is one of FILTER, or of a subquery

    def rewritten(piece: re.Match[str]) -> str:
        nonlocal depth
        bracket, word = piece[1], (piece[2] or "").upper()
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if bracket is not None:
            brackets.append((piece.start(), bracket))
            return " " * len(piece[0])
        if piece[4]:
            emitted.append(piece.start())
            return " " * len(piece[0])
        if piece[7]:
            return piece[7] + piece[6] + piece[5]
        if word != "EXCEPT":
            later.extend([word] if word and not depth else [])
            return piece[0]
        if _SELECT.match(text, piece.end()):
            later.clear()
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

    plain = _PIECE.sub(rewritten, text)
    return plain, brackets, excepts, bool(emitted)


def _parse(plain: str, text: str, excepts: list[int], schemas: Mapping[str, object]) -> exp.Select:
    """sqlglot's tree, which has no clauses but those that we know."""

    def columns(name: str) -> list[str]:
        return _columns(name, schemas)

    try:
        tree = parse_sql(plain, written=text)
    except QueryError as error:
        if not excepts:
            raise
        raise about(error.place, QueryError(f"{error}; for a difference {_EXCEPT}")) from None
    settle_case(tree, schemas, columns)
    select = as_select(tree, columns)
    if not isinstance(select, exp.Select):
        name = type(select).__name__
        more = f": {_INSTEAD[name.lower()]}" if name.lower() in _INSTEAD else ""
        name = "several statements" if name == "Block" else name.upper()
        refused = QueryError(f"a query is one SELECT ... FROM ... WHERE ..., not {name}{more}")  # nosec B608
        raise about(select, refused)
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
            "order",
            "limit",
            "offset",
        ):
            name = _CLAUSES.get(clause, clause.rstrip("_").upper())
            instead = _INSTEAD.get(clause, "a query selects columns FROM streams WHERE they match")
            if isinstance(value, exp.Fetch):
                name = "FETCH"
            refused = QueryError(f"{name} is not supported: {instead}")
            raise about(value[0] if isinstance(value, list) else value, refused)
    if not select.args.get("from_"):
        raise QueryError("the query has no FROM: name the streams to join")
    return select


def _subtract(select: exp.Select, plain: str, excepts: list[int]) -> None:
    """Have EXCEPT among subqueries and joins in parentheses be what it is with changes: ANTI JOIN."""
    for join in select.find_all(exp.Join):
        name = join.this.this if isinstance(join.this, exp.Table) else None
        start = name.meta.get("start", 0) if isinstance(name, exp.Identifier) else 0
        if not any(place < start and not plain[place + len("EXCEPT") : start].strip() for place in excepts):
            continue
        if kind_of(join):
            raise about(join.this, QueryError(f"{kind_of(join)} EXCEPT is not supported: {_EXCEPT}"))
        if not join.args.get("on") and not join.args.get("using"):
            raise about(join.this, QueryError(f"EXCEPT {join.this.name} has no condition: {_EXCEPT}"))
        join.set("kind", "ANTI")


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
        kind = kind_of(join)
        if subtracted and kind:
            raise about(table, QueryError(f"{kind} EXCEPT is not supported: {_EXCEPT}"))
        if join is not None and join.args.get("using") == []:
            told = "USING () names no column: name those that both sides have, such as USING (k)"
            raise about(table, QueryError(told))
        natural = join is not None and join.method == "NATURAL"
        if kind not in ("", "INNER", "CROSS", *KINDS):
            told = f"{kind} JOIN is not supported: write JOIN, LEFT, RIGHT, FULL, SEMI, ANTI or ASOF JOIN"
            raise about(table, QueryError(told))
        source = evolve(source, natural=natural)
        yield evolve(source, subtracted=subtracted, anew=start in behind_commas)


def _source(table: exp.Expr, join: exp.Join | None) -> _Source:
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or {name for name, value in table.args.items() if value} - {"this", "alias", ONLY}:
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
