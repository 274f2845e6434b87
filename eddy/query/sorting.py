"""ORDER BY, LIMIT and OFFSET: how the table of an aggregate's groups is sorted and cut. Its changelog is neither."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.aggregates import AggregateOutput, aggregate_of, is_aggregate
from eddy.query.expressions import quoted
from eddy.query.names import Scope
from eddy.query.outputs import Computed, Output, written
from eddy.query.parse import parse_sql, translate
from eddy.query.place import about, at
from eddy.shown import shown

Shown = Output | AggregateOutput | Computed


@frozen
class Key:
    """A column that is shown, by which groups are sorted."""

    name: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        return quoted(self.name) + " DESC" * self.descending + " NULLS FIRST" * self.nulls_first


@frozen
class Cut:
    """How a table is sorted, and which of its rows are shown."""

    keys: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int = 0

    def __bool__(self) -> bool:
        return bool(self.keys) or self.limit is not None or self.offset > 0

    def __str__(self) -> str:
        lines = [f"ORDER BY {', '.join(map(str, self.keys))}"] if self.keys else []
        lines += [] if self.limit is None else [f"LIMIT {self.limit}"]
        return "\n".join([*lines, *([f"OFFSET {self.offset}"] if self.offset else [])])


def parse_cut(
    order_by: object, limit: object, offset: object, columns: Sequence[Shown], grouped: bool, scope: Scope
) -> Cut:
    """How the table of a query that shows these columns is sorted and cut."""
    found = Cut(
        tuple(_key(node, columns, scope) for node in _listed(order_by)) if grouped else (),
        None if limit is None else _count("limit", limit),
        0 if offset is None else _count("offset", offset),
    )
    if not grouped:
        if order_by is not None:
            refused = QueryError(
                "ORDER BY is not supported where there are no groups: rows come in the order of their events; sort "
                "what you read of a result. With groups it sorts engine.table()"
            )
            raise about(next(iter(_listed(order_by)), None), refused)
        if limit is not None or found.offset:
            clause = "OFFSET" if limit is None else "LIMIT"
            refused = QueryError(
                f"{clause} is not supported where there are no groups: results go on for ever; take what you need of "
                "them. With groups it cuts engine.table()"
            )
            given = offset if limit is None else limit
            raise about(given if isinstance(given, exp.Expr) else None, refused)
    return found


def _listed(order_by: object) -> list[exp.Expr]:
    """Each item as sqlglot has it."""
    some = [] if order_by is None else [order_by] if isinstance(order_by, (str, exp.Expr)) else order_by
    if not isinstance(some, Iterable):
        raise QueryError(f"order_by takes a column that is shown, such as 'n DESC', not {shown(order_by)}")
    found: list[exp.Expr] = []
    for item in some:
        if isinstance(item, exp.Expr):
            found.append(item)
            continue
        if not isinstance(item, str) or not item.strip():
            raise QueryError(f"order_by takes columns that are shown, such as 'n DESC', not {shown(item)}")
        order = parse_sql(item, before="SELECT 1 ORDER BY ").args.get("order")
        found += [] if order is None else order.expressions
    return found


def _key(node: exp.Expr, columns: Sequence[Shown], scope: Scope) -> Key:
    ordered = node if isinstance(node, exp.Ordered) else exp.Ordered(this=node)
    with at(node):
        column = _column(ordered.this, columns, scope)
    if column.type.kind == "list":
        raise about(node, QueryError(f"ORDER BY {column.name}: lists have no order; sort by another column"))
    return Key(column.name, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))


def _column(node: exp.Expr, columns: Sequence[Shown], scope: Scope) -> Shown:
    """The column that a name, a number or an expression stands for."""
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.is_string:
        if not 1 <= int(node.this) <= len(columns):
            raise QueryError(f"ORDER BY {node.this}: SELECT has {len(columns)} items")
        return columns[int(node.this) - 1]
    named = next((column for column in columns if column.name == written(node)), None)
    if named is not None:
        return named
    if isinstance(node, exp.Column) and not node.table:  # that of the only stream whose column is shown
        ends = [column for column in columns if column.name.endswith(f".{node.name}")]
        if len(ends) == 1:
            return ends[0]
    text = _text(node, scope)
    same = next((column for column in columns if text is not None and _shown(column) == text), None)
    if same is not None:
        return same
    raise QueryError(
        f"ORDER BY {node.sql()} is not supported: a table is sorted by what is selected, which is "
        f"{', '.join(column.name for column in columns)}; select it too, and name it here"
    )


def _text(node: exp.Expr, scope: Scope) -> str | None:
    """An expression of columns, or an aggregate, as a query prints it."""
    of: Callable[[exp.Expr, Scope], object] = aggregate_of if is_aggregate(node) else translate
    try:
        return str(of(node, scope))
    except QueryError:
        return None


def _shown(column: Shown) -> str:
    return str(column) if isinstance(column, AggregateOutput) else str(column.expression)


def _count(what: str, given: object) -> int:
    """A number of rows, as a number or as sqlglot has it."""
    node = given.expression if isinstance(given, (exp.Limit, exp.Offset)) else given
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.is_string:
        return int(node.this)
    if isinstance(node, int) and not isinstance(node, bool) and node >= 0:
        return node
    wrong = node.sql() if isinstance(node, exp.Expr) else shown(given)
    raise QueryError(f"{what} takes a number of rows, such as {what} 3, not {wrong}")
