"""Aggregates: what a query computes of each group of its results. Declarations only; nothing is computed here.

Those that SQL knows are texts, those of the user's own are instances of `Aggregate`.

NULL counts for COUNT(*) alone; the others pass over it, and are NULL themselves where nothing is left, except
COUNT, which is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.expressions import Reference, quoted
from eddy.query.names import Scope
from eddy.query.outputs import Output, parse_groups, parse_outputs, refuse_repeated
from eddy.query.own_aggregate import Aggregate, columns_of, compiled
from eddy.query.parse import parse_column, parse_sql, translate
from eddy.shown import shown
from eddy.values.types import FLOAT64, INT64, ColumnType

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Median: "MEDIAN",
}
_KNOWN = "COUNT, SUM, AVG, MIN, MAX and MEDIAN"


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
    arguments: tuple[Reference, ...]
    type: ColumnType
    own: OwnKind | None = None

    def __str__(self) -> str:
        name = self.function if self.own is None else quoted(self.function)
        return f"{name}({', '.join(map(str, self.arguments)) or '*'})"


def parse_shown(
    select: str | Iterable[str] | None, group_by: str | Iterable[str] | None, aggregates: object, scope: Scope
) -> tuple[tuple[Output, ...], tuple[AggregateOutput, ...], tuple[Output, ...]]:
    """The groups, the aggregates, and the columns that are fetched of each result of the join or difference."""
    groups = parse_groups(group_by, scope)
    if aggregates is None and not groups:
        return (), (), parse_outputs(select, scope)
    computed = parse_aggregates(aggregates, groups, scope)
    if select is not None:
        raise QueryError(
            "select does not go with group_by and aggregates: a result shows the columns of group_by, then the "
            "aggregates; leave select out"
        )
    return groups, computed, _fetched(groups, computed, scope)


def parse_aggregates(
    aggregates: object, group_by: Iterable[Output], scope: Scope
) -> tuple[AggregateOutput, ...]:
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
    refuse_repeated([*(column.name for column in group_by), *aggregates])
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
    node = parse_sql(text)
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise QueryError(
            f"cannot aggregate {text.strip()}: write one of {_KNOWN} of one column, such as SUM(B.v), or COUNT(*)"
        )
    argument = node.this
    if isinstance(argument, exp.Distinct):
        raise QueryError(
            f"DISTINCT is not supported in {text.strip()}: an aggregate is of all rows of its group"
        )
    if function == "COUNT" and isinstance(argument, exp.Star) and not any(argument.args.values()):
        return AggregateOutput(name, function, (), INT64)
    if not isinstance(argument, exp.Column) or argument.is_star or node.args.get("expressions"):
        takes = "* or one column" if function == "COUNT" else "one column"
        raise QueryError(
            f"cannot aggregate {text.strip()}: {function} takes {takes}, such as {function}(B.v)"
        )
    column = translate(argument, scope)
    assert isinstance(column, Reference)
    return AggregateOutput(name, function, (column,), _type(function, column))


def _own(name: str, own: Aggregate, scope: Scope) -> AggregateOutput:
    """An aggregate of the user's own, compiled for its columns."""
    kind = type(own)
    _check_name(kind)
    columns = tuple(parse_column(column, scope) for column in columns_of(own))
    for column in columns:
        if column.type.kind == "string":
            raise QueryError(
                f"cannot take {kind.__name__}({column}): {column} is a string, and strings are only counted"
            )
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


def _type(function: str, column: Reference) -> ColumnType:
    """The type of the values, or a QueryError where the function means nothing for the column."""
    of = column.type
    if function == "COUNT":
        return INT64
    if of.kind == "string":
        raise QueryError(
            f"cannot take {function}({column}): {column} is a string, and strings are only counted"
        )
    if function in ("MIN", "MAX"):
        return of
    if of.kind == "timestamp":
        raise QueryError(
            f"cannot take {function}({column}): {column} is {of}; of times there are COUNT, MIN and MAX only"
        )
    return INT64 if function == "SUM" and of.kind != "float" else FLOAT64


def _fetched(
    group_by: Iterable[Output], aggregates: Iterable[AggregateOutput], scope: Scope
) -> tuple[Output, ...]:
    """The columns that groups and aggregates are made of, each once."""
    pairs = [(column.stream, column.column) for column in group_by]
    pairs += [(column.stream, column.column) for one in aggregates for column in one.arguments]
    return tuple(
        Output(f"{stream}.{column}", stream, column, scope.column(stream, column).type)
        for stream, column in dict.fromkeys(pairs)
    )
