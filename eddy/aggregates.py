"""Aggregates: what a query computes of each group of its results. Declarations only; nothing is computed here.

NULL counts for COUNT(*) alone; the others pass over it, and are NULL themselves where nothing is left, except
COUNT, which is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.expressions import Reference, quoted
from eddy.names import Scope
from eddy.outputs import Output, parse_groups, parse_outputs, refuse_repeated
from eddy.parse import parse_sql, translate
from eddy.types import FLOAT64, INT64, ColumnType

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Median: "MEDIAN",
}
_KNOWN = "COUNT, SUM, AVG, MIN, MAX and MEDIAN"


@frozen
class Aggregate:
    """One value of each group: a function of a column, or COUNT(*), which has neither stream nor column.

    COUNT is int64. SUM is float64 for floats and int64 for integers and bool: it is exact, NULL while int64
    cannot hold it, and there again as soon as it fits. AVG and MEDIAN are
    float64; the median of an even number of values is the mean of the two in the middle. MIN and MAX have the
    type of their column.
    """

    name: str
    function: str
    stream: str | None
    column: str | None
    type: ColumnType

    def __str__(self) -> str:
        if self.stream is None or self.column is None:
            return f"{self.function}(*)"
        return f"{self.function}({quoted(self.stream)}.{quoted(self.column)})"


def parse_shown(
    select: Any, group_by: Any, aggregates: Any, scope: Scope
) -> tuple[tuple[Output, ...], tuple[Aggregate, ...], tuple[Output, ...]]:
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


def parse_aggregates(aggregates: Any, group_by: Iterable[Output], scope: Scope) -> tuple[Aggregate, ...]:
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


def _aggregate(name: str, text: Any, scope: Scope) -> Aggregate:
    if not isinstance(text, str) or not text.strip():
        raise QueryError(f"the aggregate {name} must be a text such as 'SUM(B.v)', not {text!r}")
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
        return Aggregate(name, function, None, None, INT64)
    if not isinstance(argument, exp.Column) or argument.is_star or node.args.get("expressions"):
        takes = "* or one column" if function == "COUNT" else "one column"
        raise QueryError(
            f"cannot aggregate {text.strip()}: {function} takes {takes}, such as {function}(B.v)"
        )
    column = translate(argument, scope)
    assert isinstance(column, Reference)
    return Aggregate(name, function, column.stream, column.column, _type(function, column))


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


def _fetched(group_by: Iterable[Output], aggregates: Iterable[Aggregate], scope: Scope) -> tuple[Output, ...]:
    """The columns that groups and aggregates are made of, each once."""
    pairs = [(column.stream, column.column) for column in group_by]
    pairs += [(a.stream, a.column) for a in aggregates if a.stream is not None and a.column is not None]
    return tuple(
        Output(f"{stream}.{column}", stream, column, scope.column(stream, column).type)
        for stream, column in dict.fromkeys(pairs)
    )
