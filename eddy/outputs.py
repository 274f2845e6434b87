"""The columns of a result: `SELECT` lists, in Python and in SQL."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from eddy.errors import QueryError
from eddy.expressions import Reference
from eddy.names import Scope
from eddy.parse import parse_sql


def parse_outputs(select: str | Iterable[str] | None, scope: Scope) -> list[tuple[str, Reference]]:
    """The columns of a result with their names: all of them, or those that are listed."""
    items = ["*"] if select is None else [select] if isinstance(select, str) else list(select)
    return outputs([node for item in items for node in _listed(item)], scope)


def _listed(item: str) -> Iterable[exp.Expr]:
    statement = parse_sql(f"SELECT {item}") if isinstance(item, str) and item.strip() else None
    if not isinstance(statement, exp.Select) or any(
        v for k, v in statement.args.items() if k != "expressions"
    ):
        raise QueryError(f"cannot select {item!r}: select takes columns, such as A.x or A.x AS name")
    return statement.expressions


def outputs(nodes: Iterable[exp.Expr], scope: Scope) -> list[tuple[str, Reference]]:
    """Output columns, each named as it is written."""
    found: list[tuple[str, Reference]] = []
    for node in nodes:
        alias = node.alias if isinstance(node, exp.Alias) else None
        column = node.this if alias else node
        star = column.is_star
        if star and not alias:
            streams = [column.table] if isinstance(column, exp.Column) else list(scope.streams)
            found += [(f"{s}.{c}", scope.column(s, c)) for s in streams for c in scope.stream(s)]
        elif isinstance(column, exp.Column) and not star:
            reference = scope.column(column.table or None, column.name)
            written = f"{column.table}.{column.name}" if column.table else column.name
            found.append((alias or written, reference))
        else:
            raise QueryError(f"cannot select {node.sql()}: select takes columns, such as A.x or A.x AS name")
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(f"two output columns are called {twice}: rename one, such as 'A.x AS other'")
    if not found:
        raise QueryError("select is empty: name at least one column, or leave it out for all of them")
    return found
