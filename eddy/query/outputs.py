"""The columns of a result: `SELECT` and `GROUP BY` lists, in Python and in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.expressions import Reference
from eddy.query.names import Scope
from eddy.query.own_aggregate import Aggregate
from eddy.query.parse import parse_sql
from eddy.values.types import ColumnType


@frozen
class Output:
    """One column of the result."""

    name: str
    stream: str
    column: str
    type: ColumnType


def parse_outputs(select: str | Iterable[str] | None, scope: Scope) -> tuple[Output, ...]:
    """The columns of a result with their names: all of them, or those that are listed."""
    found = _parse("*" if select is None else select, scope, "select")
    if not found:
        raise QueryError("select is empty: name at least one column, or leave it out for all of them")
    return found


def parse_groups(group_by: str | Iterable[str] | None, scope: Scope) -> tuple[Output, ...]:
    """The columns that make a group, with their names; none where all results are one group."""
    return _parse(() if group_by is None else group_by, scope, "group_by")


def _parse(listed: str | Iterable[str], scope: Scope, clause: str) -> tuple[Output, ...]:
    if not isinstance(listed, Iterable):
        raise QueryError(f"{clause} takes a column, such as 'A.x', or a list of them, not {listed!r}")
    items = [listed] if isinstance(listed, str) else listed
    return outputs([node for item in items for node in _listed(item, clause)], scope, clause)


def _listed(item: str, clause: str) -> Iterable[exp.Expr]:
    statement = parse_sql(f"SELECT {item}") if isinstance(item, str) and item.strip() else None
    if not isinstance(statement, exp.Select) or any(
        v for k, v in statement.args.items() if k != "expressions"
    ):
        raise QueryError(_refusal(repr(item), clause))
    return statement.expressions


def outputs(nodes: Iterable[exp.Expr], scope: Scope, clause: str = "select") -> tuple[Output, ...]:
    """Output columns, each named as it is written."""
    found: list[tuple[str, Reference]] = []
    for node in nodes:
        alias = node.alias if isinstance(node, exp.Alias) else None
        column = node.this if alias else node
        if is_everything(column) and not alias:
            found += _everything(column, scope)
        elif isinstance(column, exp.Column) and not column.is_star:
            reference = scope.column(column.table or None, column.name)
            written = f"{column.table}.{column.name}" if column.table else column.name
            found.append((alias or written, reference))
        else:
            raise QueryError(_refusal(node.sql(), clause, node.find(exp.AggFunc) is not None))
    refuse_repeated([name for name, _ in found])
    return tuple(Output(name, column.stream, column.column, column.type) for name, column in found)


def _everything(star: exp.Expr, scope: Scope) -> list[tuple[str, Reference]]:
    """The columns of `*`, of which USING has merged some, or all columns of one stream."""
    if isinstance(star, exp.Column):
        stream = star.table
        return [(f"{stream}.{column}", scope.column(stream, column)) for column in scope.stream(stream)]
    return [(scope.name_of(pair), scope.column(*pair)) for pair in scope.shown]


def selected(select: exp.Select, scope: Scope, own: Mapping[str, type[Aggregate]]) -> dict[str, Any]:
    """What SELECT and GROUP BY of a statement come to: `select`, or `group_by` and `aggregates`, of a query.

    ``own``: aggregates of the user's own, by their names in capitals.
    """
    group = select.args.get("group")
    aggregates = [node for node in select.expressions if node.find(exp.AggFunc) or _kind(node, own)]
    columns = [node for node in select.expressions if node not in aggregates]
    if not aggregates and group is None:
        return {"select": _texts(outputs(columns, scope))}
    if not aggregates:
        raise QueryError("GROUP BY needs an aggregate: select one as well, such as COUNT(*) AS n")
    shown = _checked(columns, _groups(group, scope), scope)
    if select.expressions[: len(columns)] != columns:
        raise QueryError(
            f"select {columns[-1].sql()} before {aggregates[0].sql()}: a result shows its group first"
        )
    names = [node.alias if isinstance(node, exp.Alias) else node.sql() for node in aggregates]
    refuse_repeated(names)
    computed = [_computed(node.unalias(), scope, own) for node in aggregates]
    return {"group_by": _texts(shown), "aggregates": dict(zip(names, computed, strict=True))}


def _computed(node: exp.Expr, scope: Scope, own: Mapping[str, type[Aggregate]]) -> str | Aggregate:
    """An aggregate as a query takes it: a text, or an instance of the user's own class."""
    kind, resolved = _kind(node, own), _resolved(node, scope)
    return resolved.sql() if kind is None else kind(*(part.sql() for part in resolved.iter_expressions()))


def _kind(node: exp.Expr, own: Mapping[str, type[Aggregate]]) -> type[Aggregate] | None:
    """The class that a function stands for; sqlglot has classes of its own for many names."""
    node = node.unalias()
    if not isinstance(node, exp.Func):
        return None
    names = [node.name] if isinstance(node, exp.Anonymous) else node.sql_names()
    return next((own[name.upper()] for name in names if name.upper() in own), None)


def _texts(shown: Iterable[Output]) -> list[str]:
    """Columns with their streams and names: a query does not know what USING has merged."""
    return [
        exp.column(output.column, output.stream, quoted=True).as_(output.name, quoted=True).sql()
        for output in shown
    ]


def _resolved(aggregate: exp.Expr, scope: Scope) -> exp.Expr:
    """The aggregate with a stream for each column that has none."""

    def resolve(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.is_star or node.table:
            return node
        column = scope.column(None, node.name)
        return exp.column(column.column, column.stream, quoted=True)

    return aggregate.transform(resolve)


def _groups(group: exp.Group | None, scope: Scope) -> list[Reference]:
    """The columns of GROUP BY."""
    if group is None:
        return []
    more = any(value is not None for clause, value in group.args.items() if clause != "expressions")
    if more or not all(isinstance(node, exp.Column) and not node.is_star for node in group.expressions):
        raise QueryError(f"{group.sql().strip()} is not supported: GROUP BY takes columns, such as A.x")
    return [scope.column(node.table or None, node.name) for node in group.expressions]


def _checked(columns: Sequence[exp.Expr], groups: Sequence[Reference], scope: Scope) -> tuple[Output, ...]:
    """Beside its aggregates a statement selects the columns of GROUP BY, all of them and no others."""
    for node in columns:
        if is_everything(node):
            raise QueryError(f"{node.sql()} does not go with aggregates: name the columns of GROUP BY")
    shown = outputs(columns, scope)
    for column in shown:
        if not any((group.stream, group.column) == (column.stream, column.column) for group in groups):
            raise QueryError(
                f"{column.name} is neither grouped nor aggregated: add it to GROUP BY, or leave it out"
            )
    for group in groups:
        if not any((group.stream, group.column) == (column.stream, column.column) for column in shown):
            raise QueryError(
                f"{group} is grouped but not selected: add it to SELECT, to tell the groups apart"
            )
    return shown


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
    advice = "; an aggregate goes into aggregates={'n': 'COUNT(*)'}" if aggregate else ""
    return f"cannot {verb} {what}: {clause} takes columns, such as A.x or A.x AS name{advice}"
