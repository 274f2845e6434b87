"""Aggregates: what a query computes of each group of its results. Declarations only; nothing is computed here.

Those that SQL knows are texts, those of the user's own are instances of `Aggregate`.

NULL counts for COUNT(*) alone; the others pass over it, and are NULL themselves where nothing is left, except
COUNT, which is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.calls import apply
from eddy.query.expressions import Expression, Literal, quoted
from eddy.query.instead import INSTEAD
from eddy.query.names import Scope
from eddy.query.outputs import refuse_repeated
from eddy.query.own_aggregate import Aggregate, columns_of, compiled
from eddy.query.parse import condition, parse_column, parse_sql, translate
from eddy.query.place import about, at
from eddy.shown import shown
from eddy.values.types import DIGITS, FLOAT64, INT64, NULL, ColumnType, decimal_type

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Median: "MEDIAN",
}
_KNOWN = "COUNT, SUM, AVG, MIN, MAX and MEDIAN"
_WRITE = f"write one of {_KNOWN} of one value, such as SUM(B.v), or COUNT(*); others are subclasses of eddy.Aggregate"

_OVER = f"{INSTEAD['WINDOW']}; {_WRITE}"
_INSTEAD: dict[type[exp.Expr], str] = {
    exp.CountIf: "write COUNT(*) FILTER (WHERE ...)",
    exp.ApproxDistinct: "write COUNT(DISTINCT ...)",
    exp.AnyValue: "write MIN(...) or MAX(...)",
}


OwnKind = type[Aggregate]
"""A class of the user's own."""


@frozen
class AggregateOutput:
    """One value of each group under its name: a function of columns, or COUNT(*), which has no arguments.

    COUNT is int64. SUM is float64 for floats and int64 for integers and bool: it is exact, NULL while int64
    cannot hold it, and there again as soon as it fits. AVG and MEDIAN are
    float64; the median of an even number of values is the mean of the two in the middle. MIN and MAX have the
    type of their column. ``own`` is the class of an aggregate of the user's own, whose name is the function.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...]
    type: ColumnType
    own: OwnKind | None = None
    distinct: bool = False
    """Whether each value of a group counts once."""

    def __str__(self) -> str:
        name = self.function if self.own is None else quoted(self.function)
        distinct = "DISTINCT " if self.distinct else ""
        return f"{name}({distinct}{', '.join(map(str, self.arguments)) or '*'})"


def parse_aggregates(aggregates: object, groups: Iterable[str], scope: Scope) -> tuple[AggregateOutput, ...]:
    """The aggregates of a query by their names, none of which a group column has."""
    if aggregates is not None and not isinstance(aggregates, Mapping):
        raise QueryError(
            f"aggregates takes a dict of names and aggregates, such as {{'n': 'COUNT(*)'}}, not {aggregates!r}"
        )
    if not aggregates:
        raise QueryError(
            "there is no aggregate for the groups: add one, such as aggregates={'n': 'COUNT(*)'}, "
            "or leave group_by and aggregates out"
        )
    if not all(isinstance(name, str) and name for name in aggregates):
        raise QueryError(f"the names of aggregates must be texts: {list(aggregates)}")
    refuse_repeated([*groups, *aggregates])
    return tuple(_aggregate(name, text, scope) for name, text in aggregates.items())


def _aggregate(name: str, text: object, scope: Scope) -> AggregateOutput:
    if isinstance(text, Aggregate):
        return _own(name, text, scope)
    if isinstance(text, type) and issubclass(text, Aggregate):
        raise QueryError(
            f"the aggregate {name} does not say of what: write {text.__name__}('B.v'), with columns of yours"
        )
    if not isinstance(text, str) or not text.strip():
        raise QueryError(
            f"the aggregate {name} must be a text such as 'SUM(B.v)', or an eddy.Aggregate of columns, not {text!r}"
        )
    return evolve(aggregate_of(parse_sql(text), scope), name=name)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether sqlglot's node is an aggregate, and not merely has one in it."""
    if isinstance(node, (exp.Select, exp.Subquery, exp.Window, exp.WithinGroup)):
        raise about(
            node,
            QueryError(f"cannot aggregate {node.sql()}: {_OVER if isinstance(node, exp.Window) else _WRITE}"),
        )
    return isinstance(node, (exp.AggFunc, exp.Filter))


def aggregate_of(node: exp.Expr, scope: Scope) -> AggregateOutput:
    """One of SQL's aggregates, which has no name yet."""
    with at(node):
        return _aggregate_of(node, scope)


def _aggregate_of(node: exp.Expr, scope: Scope) -> AggregateOutput:
    """The same, without a place for errors.

    `f(x) FILTER (WHERE p)` is `f(CASE WHEN p THEN x END)`: all of them pass over NULL, but for COUNT(*), which counts
    ones then.
    """
    text, where = node.sql(), None
    if isinstance(node, exp.Filter):
        where, node = condition(node.expression.this, scope), node.this
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise QueryError(f"cannot aggregate {text}: {_INSTEAD.get(type(node), _WRITE)}")
    argument, distinct = node.this, False
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1 or argument.args.get("on"):
            raise QueryError(
                f"cannot aggregate {text}: DISTINCT takes one value, such as COUNT(DISTINCT B.v)"
            )
        argument, distinct = argument.expressions[0], True
    of: Expression
    if function == "COUNT" and isinstance(argument, exp.Star) and not any(argument.args.values()):
        if where is None:
            return AggregateOutput("", function, (), INT64)
        of = Literal(1, INT64)
    elif (
        argument is None
        or argument.is_star
        or isinstance(argument, exp.Order)
        or node.args.get("expressions")
    ):
        takes = "* or one value" if function == "COUNT" else "one value"
        raise QueryError(f"cannot aggregate {text}: {function} takes {takes}, such as {function}(B.v)")
    elif argument.find(exp.AggFunc, exp.Select):
        raise QueryError(f"cannot aggregate {text}: an aggregate of an aggregate needs an engine of its own")
    else:
        of = translate(argument, scope)
    if where is not None:
        of = apply("CASE", [where, of, Literal(None, NULL)])
    distinct = distinct and function not in ("MIN", "MAX")
    return AggregateOutput("", function, (of,), _type(function, of, distinct), distinct=distinct)


def _own(name: str, own: Aggregate, scope: Scope) -> AggregateOutput:
    """An aggregate of the user's own, compiled for its columns."""
    kind = type(own)
    _check_name(kind)
    columns = tuple(parse_column(column, scope) for column in columns_of(own))
    for column in columns:
        if column.type.is_coded or column.type.kind == "decimal":
            told = f"{column} is {column.type}, which no number of Numba's stands for"
            if column.type.kind == "string":
                told = f"{column} is a string, and strings are only counted"
            raise QueryError(f"cannot take {kind.__name__}({column}): {told}")
    made = compiled(kind, [column.type for column in columns])
    return AggregateOutput(name, kind.__name__, columns, made.type, kind)


def own_by_name(kinds: object) -> dict[str, type[Aggregate]]:
    """Classes of the user's own by the names, in capitals, under which SQL calls them."""
    found: dict[str, type[Aggregate]] = {}
    listed = list(kinds) if isinstance(kinds, Iterable) else [None]
    for kind in listed:
        if not isinstance(kind, type) or not issubclass(kind, Aggregate):
            wrong = shown(kinds if kind is None else kind)
            raise QueryError(f"aggregates takes a list of classes, subclasses of eddy.Aggregate, not {wrong}")
        _check_name(kind)
        if found.setdefault(kind.__name__.upper(), kind) is not kind:
            raise QueryError(f"two aggregates are called {kind.__name__}: give one class another name")
    return found


def _check_name(kind: type[Aggregate]) -> None:
    """Refuse a class that is called like an aggregate of SQL, which a query could not tell from it when printed."""
    if kind.__name__.upper() in _FUNCTIONS.values():
        raise QueryError(
            f"the aggregate {kind.__name__} is called like one of {_KNOWN}: give the class another name"
        )


_ONLY = "of these there are COUNT, MIN and MAX only"
_OF_THESE = {
    **dict.fromkeys(("string", "timestamp", "date", "time"), _ONLY),
    "duration": "of these there are COUNT, SUM, MIN and MAX only",
    "decimal": "of these there are COUNT, SUM, MIN and MAX; CAST it to DOUBLE for others",
    **dict.fromkeys(("binary", "uuid", "opaque"), "these are only counted"),
}


def _type(function: str, column: Expression, distinct: bool) -> ColumnType:
    """The type of the values, or a QueryError where the function means nothing for what it is of."""
    of = column.type
    if of.kind == "null":
        raise QueryError(
            f"cannot take {function}({column}): it is always NULL; write CAST({column} AS BIGINT)"
        )
    if distinct:
        typing_rules.comparable(column)
    if function == "COUNT":
        return INT64
    if function in ("MIN", "MAX") and of.kind not in ("binary", "uuid", "opaque"):
        return of
    if function == "SUM" and of.kind in ("decimal", "duration"):
        return of if of.kind == "duration" else decimal_type(DIGITS, of.scale)
    if not of.is_number and of.kind != "bool":
        what = "a string" if of.kind == "string" else of
        raise QueryError(f"cannot take {function}({column}): {column} is {what}; {_OF_THESE[of.kind]}")
    return INT64 if function == "SUM" and of.kind != "float" else FLOAT64
