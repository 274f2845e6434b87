"""SELECT, GROUP BY, HAVING and DISTINCT of a statement, as the arguments of `Query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.aggregates import OwnKind, aggregate_of, is_aggregate
from eddy.query.calls import refusal
from eddy.query.expressions import quoted
from eddy.query.names import Scope
from eddy.query.outputs import expressions, is_everything, refuse_repeated, written
from eddy.query.own_aggregate import Aggregate
from eddy.query.own_function import OwnFunction
from eddy.query.place import about, at, in_place_of


def selected(select: exp.Select, scope: Scope, own: Mapping[str, OwnKind]) -> dict[str, Any]:
    """What the statement shows, as arguments of a query.

    ``own``: aggregates of the user's own, by their names in capitals.
    """
    items, having = select.expressions, select.args.get("having")
    for item in items:
        for node in item.find_all(exp.Window, exp.Subquery, exp.Exists):
            raise about(node, QueryError(refusal(node)))
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        refused = QueryError("DISTINCT ON is not supported: write SELECT DISTINCT, or GROUP BY")
        raise about(distinct, refused)
    group = _groups(select.args.get("group"), items)
    some = any(item.find(exp.AggFunc) for item in items)
    if any(_kind(item, own) for item in items):
        return _with_own(items, group, having, scope, own)
    if not (group or some or having or distinct):
        return {"select": [f"{one.expression} AS {quoted(one.name)}" for one in expressions(items, scope)]}
    return {
        "select": [_named(item, scope) for item in items],
        "group_by": [_resolved(_unaliased(node, items, scope), scope) for node in group],
        "having": None if having is None else _resolved(_unaliased(having.this, items, scope), scope),
        "distinct": distinct is not None,
    }


def cut(select: exp.Select, scope: Scope) -> dict[str, Any]:
    """ORDER BY, LIMIT and OFFSET, as arguments of a query: those that there are."""
    found: dict[str, Any] = {}
    order = select.args.get("order")
    if order is not None:
        found["order_by"] = [_sorted(node, select.expressions, scope) for node in order.expressions]
    for clause in ("limit", "offset"):
        if select.args.get(clause) is not None:
            found[clause] = select.args[clause]
    return found


def _sorted(node: exp.Expr, items: Sequence[exp.Expr], scope: Scope) -> exp.Expr:
    """An item of ORDER BY: the name of one of SELECT as it is, any other with a stream for each column."""
    of = node.this if isinstance(node, exp.Ordered) else node
    names = {item.alias if isinstance(item, exp.Alias) else written(item) for item in items}
    if isinstance(of, exp.Column) and written(of) in names:
        return node
    try:
        resolved = _resolved(of, scope)
    except QueryError:  # a name that nobody knows is refused with what there is
        return node
    found = node.copy()
    found.set("this", resolved)
    return in_place_of(found, node)


def _named(item: exp.Expr, scope: Scope) -> exp.Expr:
    """An item with the name that it has as it is written, and a stream for each column."""
    if is_everything(item):
        return item
    name = item.alias if isinstance(item, exp.Alias) else written(item)
    return exp.alias_(_resolved(item.unalias(), scope), name, quoted=True)


def _groups(group: exp.Group | None, items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """What GROUP BY lists; a number stands for an item of SELECT."""
    if group is None:
        return []
    if group.args.get("all"):
        return [item.unalias() for item in items if not item.find(exp.AggFunc)]
    if any(value is not None for clause, value in group.args.items() if clause != "expressions"):
        refused = (
            f"{group.sql().strip()} is not supported: GROUP BY takes columns and expressions, such as A.x"
        )
        raise about(group, QueryError(refused))
    found = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.is_string:
            place = int(node.this)
            if not 1 <= place <= len(items):
                raise about(node, QueryError(f"GROUP BY {node.this}: SELECT has {len(items)} items"))
            node = items[place - 1].unalias()
        found.append(node)
    return found


def _unaliased(node: exp.Expr, items: Sequence[exp.Expr], scope: Scope) -> exp.Expr:
    """What a name stands for that SELECT gives with AS, unless a column is called so."""
    aliases = {item.alias: item.this for item in items if isinstance(item, exp.Alias)}
    columns = {column for _, column in scope.shown}

    def known(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name in aliases:
            return part if part.name in columns else in_place_of(exp.paren(aliases[part.name].copy()), part)
        return part

    return node.copy().transform(known)


def _resolved(node: exp.Expr, scope: Scope) -> exp.Expr:
    """The same with a stream for each column that has none: a query does not know what USING has merged."""

    def resolve(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.is_star or part.table:
            return part
        with at(part):
            column = scope.column(None, part.name)
        return in_place_of(exp.column(column.column, column.stream, quoted=True), part)

    return node.copy().transform(resolve)


def _with_own(
    items: Sequence[exp.Expr],
    group: Sequence[exp.Expr],
    having: exp.Expr | None,
    scope: Scope,
    own: Mapping[str, OwnKind],
) -> dict[str, Any]:
    """With aggregates of the user's own: what is grouped, and then the aggregates."""
    if having is not None:
        raise QueryError("HAVING does not go with aggregates of your own: filter the groups in your program")
    computed = [item for item in items if item.find(exp.AggFunc) or _kind(item, own)]
    columns = [item for item in items if item not in computed]
    if list(items[: len(columns)]) != columns:
        raise QueryError(
            f"select {columns[-1].sql()} before {computed[0].sql()}: with an aggregate of your own a result shows its "
            "group first"
        )
    shown = expressions(columns, scope)
    grouped = expressions([_unaliased(node, items, scope) for node in group], scope)
    for one in shown:
        if one.expression not in [other.expression for other in grouped]:
            raise QueryError(
                f"{one.name} is neither grouped nor aggregated: add it to GROUP BY, or leave it out"
            )
    for other in grouped:
        if other.expression not in [one.expression for one in shown]:
            raise QueryError(
                f"{other.name} is grouped but not selected: add it to SELECT, to tell the groups apart"
            )
    names = [item.alias if isinstance(item, exp.Alias) else item.sql() for item in computed]
    refuse_repeated(names)
    made = [_computed(item.unalias(), scope, own) for item in computed]
    return {
        "group_by": [f"{one.expression} AS {quoted(one.name)}" for one in shown],
        "aggregates": dict(zip(names, made, strict=True)),
    }


def _computed(node: exp.Expr, scope: Scope, own: Mapping[str, OwnKind]) -> str | Aggregate | OwnFunction:
    """An aggregate as a query takes it: a text, or an instance of the user's own class."""
    kind, resolved = _kind(node, own), _resolved(node, scope)
    with at(node):
        if kind is not None:
            columns = (part.sql() for part in resolved.iter_expressions())
            return kind.of(*columns) if isinstance(kind, OwnFunction) else kind(*columns)
        if is_aggregate(resolved):
            aggregate_of(resolved, scope)
    return resolved.sql()


def _kind(node: exp.Expr, own: Mapping[str, OwnKind]) -> OwnKind | None:
    """What a function stands for; sqlglot has classes of its own for many names."""
    node = node.unalias()
    if not isinstance(node, exp.Func):
        return None
    names = [node.name] if isinstance(node, exp.Anonymous) else node.sql_names()
    return next((own[name.upper()] for name in names if name.upper() in own), None)
