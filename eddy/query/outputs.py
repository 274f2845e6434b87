"""The columns of a result: `SELECT` and `GROUP BY` lists, in Python and in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query import typing_rules
from eddy.query.expressions import Expression, Reference
from eddy.query.function import UserFunction
from eddy.query.names import Scope
from eddy.query.own_calls import has_aggregate
from eddy.query.parse import parse_sql, translate
from eddy.query.place import about, at
from eddy.values.types import ColumnType

Item = exp.Expr | UserFunction
"""One item of SELECT or GROUP BY."""


@frozen
class Output:
    """One column of the result."""

    name: str
    stream: str
    column: str
    type: ColumnType

    @property
    def expression(self) -> Expression:
        """What it shows."""
        return Reference(self.stream, self.column, self.type)


@frozen
class Computed:
    """One column of the result that is computed of others, or is one of them beside such."""

    name: str
    expression: Expression

    @property
    def type(self) -> ColumnType:
        return self.expression.type

    @property
    def place(self) -> tuple[str, str]:
        """Under which a result keeps its values: a stream and a column; no stream for what is computed."""
        of = self.expression
        return (of.stream, of.column) if isinstance(of, Reference) else ("", self.name)


def parse_outputs(
    select: Sequence[Item] | None, scope: Scope
) -> tuple[tuple[Output, ...], tuple[Computed, ...]]:
    """The columns of a result: all of them, or those that are listed.

    Where all are columns of streams these are the outputs, and nothing is computed. Else all are computed, of the
    columns that are the outputs then.
    """
    found = expressions(listed("*", "select") if select is None else select, scope)
    if not found:
        raise QueryError("select is empty: name at least one column, or leave it out for all of them")
    if all(isinstance(one.expression, Reference) for one in found):
        return tuple(_output(one) for one in found), ()
    read = dict.fromkeys(pair for one in found for pair in sorted(one.expression.columns))
    if not read:  # constants alone: any column will do, to have a result at all
        read = {scope.shown[0]: None}
    columns = [scope.column(*pair) for pair in read]
    return tuple(Output(f"{c.stream}.{c.column}", c.stream, c.column, c.type) for c in columns), found


def _output(one: Computed) -> Output:
    column = one.expression
    assert isinstance(column, Reference)
    return Output(one.name, column.stream, column.column, column.type)


def parse_groups(group_by: object, scope: Scope) -> tuple[Computed, ...]:
    """What makes a group, with its names; nothing where all results are one group."""
    nodes = dict.fromkeys(listed(() if group_by is None else group_by, "group_by"))  # twice is once
    return expressions(nodes, scope, "group_by")


def listed(items: object, clause: str) -> list[Item]:
    """What is listed, as sqlglot has it; functions of the user's own as they are."""
    some = [items] if isinstance(items, (str, exp.Expr, UserFunction)) else items
    if not isinstance(some, Iterable):
        raise QueryError(f"{clause} takes a column, such as 'A.x', or a list of them, not {items!r}")
    found: list[Item] = []
    for item in some:
        found += [item] if isinstance(item, (exp.Expr, UserFunction)) else _listed(item, clause)
    return found


def _listed(item: str, clause: str) -> Iterable[exp.Expr]:
    statement = parse_sql(item, before="SELECT ") if isinstance(item, str) and item.strip() else None
    if not isinstance(statement, exp.Select) or any(
        v for k, v in statement.args.items() if k != "expressions"
    ):
        raise QueryError(_refusal(repr(item), clause))
    return statement.expressions


def expanded(nodes: Iterable[Item], scope: Scope) -> tuple[Computed, ...]:
    """The same where names may be repeated."""
    return tuple(one for node in nodes for one in expressions([node], scope))


def expressions(nodes: Iterable[Item], scope: Scope, clause: str = "select") -> tuple[Computed, ...]:
    """The items of SELECT or GROUP BY, each named as it is written."""
    found: list[Computed] = []
    for node in nodes:
        if isinstance(node, UserFunction):
            bound = node.bind(scope)
            found.append(Computed(node.name or str(bound), bound))
            continue
        alias = node.alias if isinstance(node, exp.Alias) else None
        item = node.this if alias else node
        if is_everything(item) and not alias:
            with at(item):
                found += [Computed(name, column) for name, column in _everything(item, scope)]
        elif has_aggregate(item) or item.is_star:
            raise about(item, QueryError(_refusal(node.sql(), clause, aggregate=not item.is_star)))
        else:
            try:
                expression = translate(item, scope)
            except QueryError as error:
                verb = "group by" if clause == "group_by" else clause
                raise about(error.place, QueryError(f"cannot {verb} {item.sql()}: {error}")) from None
            if clause == "group_by":
                with at(item):
                    typing_rules.comparable(expression)
            if expression.type.kind == "null":
                untyped = f"{item.sql()} is NULL of no type: write CAST(NULL AS BIGINT), or another type"
                raise about(node, QueryError(untyped))
            found.append(Computed(alias or written(item), expression))
    refuse_repeated([one.name for one in found])
    return tuple(found)


def written(item: exp.Expr) -> str:
    """The name of a column that is given none: as it is written."""
    if isinstance(item, exp.Column):
        return f"{item.table}.{item.name}" if item.table else item.name
    return item.sql()


def _everything(star: exp.Expr, scope: Scope) -> list[tuple[str, Reference]]:
    """The columns of `*`, of which USING has merged some, or all columns of one stream."""
    if isinstance(star, exp.Column):
        stream = star.table
        return [(f"{stream}.{column}", scope.column(stream, column)) for column in scope.stream(stream)]
    return [(scope.name_of(pair), scope.column(*pair)) for pair in scope.shown]


def is_everything(node: exp.Expr) -> bool:
    """Whether this is `*` or `A.*`, with no column left out or replaced."""
    star = node.this if isinstance(node, exp.Column) else node
    return isinstance(star, exp.Star) and not any(star.args.values())


def refuse_repeated(names: Sequence[str]) -> None:
    """Every column of a result has a name of its own."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(f"two output columns are called {twice}: rename one, such as 'A.x AS other'")


def _refusal(what: str, clause: str, aggregate: bool = False) -> str:
    verb = "group by" if clause == "group_by" else clause
    advice = "; an aggregate goes into aggregates={'n': 'COUNT(*)'}, in SQL into SELECT" if aggregate else ""
    return f"cannot {verb} {what}: {clause} takes columns and expressions, such as A.x or A.x AS name{advice}"
