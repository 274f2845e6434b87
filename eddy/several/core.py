"""The core of a query: its joins and windows, without its filters and without what it shows. Queries may share one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from attrs import evolve, fields

from eddy.query.comparisons import Comparison
from eddy.query.expressions import Expression, Literal, Reference
from eddy.query.query import Query
from eddy.query.sorting import Cut
from eddy.query.stream import Stream
from eddy.query.windows import Unbounded
from eddy.several.grouped_filters import FLIPPED
from eddy.values.types import INT64

QUERIES = "__queries"
"""A column of every stored row: the set of queries that want it, as a number; 0 if none does."""


class CoreQuery(Query):
    """A core as a query. It shows nothing: what its queries show is read by row number, of the feed.

    Its streams have the columns that its predicates and windows read, and `QUERIES` where its queries have filters.
    """

    __slots__ = ("compared", "ordered")

    compared: frozenset[tuple[str, str]]
    """Columns that are stored, and of which strings are interned."""
    ordered: bool
    """Whether one of its queries asks in which order results come."""

    @property
    def filtered(self) -> bool:
        """Whether its rows have the set of queries that want them; else all do."""
        return bool(self.filters)

    @property
    def read_later(self) -> frozenset[tuple[str, str]]:
        return self.compared

    @property
    def in_order(self) -> bool:
        return self.ordered


def is_shareable(query: Query) -> bool:
    """Whether a query has a core: joins do, and streams alone; not what subtracts or attaches others."""
    return not query.attachments and not query.minus


def signature(query: Query) -> Hashable:
    """Queries with equal ones have the same core: the same streams, windows, keys and predicates between streams."""
    numbers = zip(*(of.tolist() for of in (*query.window_table(), query.window_steps())), strict=True)
    windows = frozenset(
        (name, *window, stream.static, name in query.followed)
        for (name, stream), window in zip(query.streams.items(), numbers, strict=True)
    )
    keys = frozenset(frozenset(c.members.items()) for c in query.key_classes)
    between = frozenset(_said(residual.expression) for residual in query.residuals)
    return windows, keys, between


def _said(expression: Expression) -> Hashable:
    """What a predicate is known by, from whichever side it is written; its identity where it holds what has no hash."""
    try:
        hash(expression)
    except TypeError:
        return id(expression)
    if not isinstance(expression, Comparison):
        return expression
    op, sides = expression.op, (expression.left, expression.right)
    alike = op in ("=", "!=") and str(expression.right) < str(expression.left)
    return (FLIPPED[op], *sides[::-1]) if alike or op in (">", ">=") else (op, *sides)


def core_of(query: Query, order: Sequence[str], ordered: bool, filtered: bool) -> CoreQuery:
    """The core of a query, its streams in this ``order``; ``filtered``: not all rows are wanted by all queries."""
    read = {pair for residual in query.residuals for pair in residual.columns}
    read |= {pair for c in query.key_classes for pair in c.members.items()}
    read |= {(name, stream.time) for name, stream in query.streams.items() if stream.time is not None}
    streams = {
        name: _stream(query.streams[name], [c for s, c in read if s == name], filtered) for name in order
    }
    own = {field.name.lstrip("_"): getattr(query, field.name) for field in fields(Query)}
    core: Any = object.__new__(CoreQuery)
    core.__attrs_init__(
        **{
            **own,
            "streams": streams,
            "predicates": tuple(p for p in query.predicates if len(p.streams) > 1),
            "filters": {name: wanted(name) for name in order} if filtered else {},
            "cut": Cut(),
            "having": None,
            "changes": False,
            "core": core,
            **dict.fromkeys(("select", "computed", "group_by", "aggregates"), ()),
        }
    )
    stored = {pair for residual in query.residuals for pair in residual.columns}
    if filtered:
        stored |= {(name, QUERIES) for name in order}
    object.__setattr__(core, "compared", frozenset(stored))
    object.__setattr__(core, "ordered", ordered)
    found: CoreQuery = core
    return found


def _stream(stream: Stream, columns: Iterable[str], filtered: bool) -> Stream:
    kept = {name: kind for name, kind in stream.columns.items() if name in columns}
    if not kept:  # a stream has a column
        kept = dict([next(iter(stream.columns.items()))])
    return evolve(stream, columns={**kept, QUERIES: INT64} if filtered else kept, strict=False)


def wanted(stream: str) -> Expression:
    """The filter of a core: a row that some query wants."""
    return Comparison(">", Reference(stream, QUERIES, INT64), Literal(0, INT64))


def feed_query(streams: dict[str, Stream]) -> CoreQuery:
    """All streams of a feed, side by side, as a query that keeps every column and joins nothing."""
    declared = {name: evolve(s, window=Unbounded(), strict=s.strict) for name, s in streams.items()}
    query = Query(declared, cross=len(declared) > 1)
    columns = {
        (name, column)
        for name, stream in declared.items()
        for column, kind in stream.columns.items()
        if kind.is_comparable
    }
    own = {field.name.lstrip("_"): getattr(query, field.name) for field in fields(Query)}
    core: Any = object.__new__(CoreQuery)
    core.__attrs_init__(**{**own, "core": core})
    object.__setattr__(core, "compared", frozenset(columns))
    object.__setattr__(core, "ordered", False)
    found: CoreQuery = core
    return found
