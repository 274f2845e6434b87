"""SELECT, GROUP BY, HAVING and DISTINCT of a statement, as the arguments of `Query`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.calls import refusal
from eddy.query.expressions import quoted
from eddy.query.names import Scope
from eddy.query.outputs import expressions, is_everything, written
from eddy.query.own_calls import has_aggregate
from eddy.query.place import about, at, in_place_of


def selected(select: exp.Select, scope: Scope) -> dict[str, Any]:
    """What the statement shows, as arguments of a query."""
    items, having = select.expressions, select.args.get("having")
    for item in items:
        for node in item.find_all(exp.Window, exp.Subquery, exp.Exists):
            asked = node.parent if isinstance(node.parent, exp.In) else node
            raise about(node, QueryError(refusal(asked)))
    if not items:
        raise about(select.args["from_"], QueryError("SELECT names no column: name some, or write SELECT *"))
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        refused = QueryError("DISTINCT ON is not supported: write SELECT DISTINCT, or GROUP BY")
        raise about(distinct, refused)
    group = _groups(select.args.get("group"), items)
    some = any(map(has_aggregate, items))
    if having is not None and not (group or some or distinct or has_aggregate(having)):
        refused = QueryError("HAVING is of groups: write GROUP BY, or put the condition into WHERE")
        raise about(having, refused)
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
        return [item.unalias() for item in items if not has_aggregate(item)]
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
