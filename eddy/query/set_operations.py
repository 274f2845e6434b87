"""`SELECT ... EXCEPT SELECT ...` and INTERSECT, which are SELECT DISTINCT with NOT EXISTS and EXISTS.

Rows are the same where none of their columns differs; NULL is the same as NULL there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.flatten import Columns
from eddy.query.outputs import is_everything, written
from eddy.query.own_calls import has_aggregate
from eddy.query.place import about, at, in_place_of

_REFUSED = {"group": "GROUP BY", "having": "HAVING", "limit": "LIMIT", "offset": "OFFSET", "with_": "WITH"}


def as_select(node: exp.Expr, columns: Columns) -> exp.Expr:
    """The same as one SELECT; anything but EXCEPT and INTERSECT as it is."""
    if not isinstance(node, (exp.Except, exp.Intersect)):
        return node
    word = node.key.upper()
    left, right = as_select(node.this.unnest(), columns), node.expression.unnest()
    with at(right):
        if node.args.get("with_"):
            raise QueryError(
                f"WITH does not go with {word}: write [NOT] EXISTS (SELECT 1 FROM ...) in WHERE"  # nosec B608
            )
        if node.args.get("distinct") is False:
            raise QueryError(f"{word} ALL is not supported: write {word}, which has each row once")
        if not isinstance(left, exp.Select) or not isinstance(right, exp.Select):
            raise QueryError(
                f"{word} stands between two SELECTs: write SELECT A.k FROM A {word} SELECT B.k FROM B"  # nosec B608
            )
        if not left.args.get("from_") or not right.args.get("from_"):
            raise QueryError(
                f"{word} stands between SELECTs that name streams: "  # nosec B608
                f"SELECT A.k FROM A {word} SELECT B.k FROM B"  # nosec B608
            )
        if right.args.get("joins") or not isinstance(right.args["from_"].this, exp.Table):
            raise QueryError(
                f"behind {word} a SELECT reads one stream: run the join in an engine of its own, and push its results"
            )
        sides = [list(_items(one, columns, word)) for one in (left, right)]
        if len(sides[0]) != len(sides[1]):
            raise QueryError(
                f"{word} has {len(sides[0])} columns before it and {len(sides[1])} behind it: name as many"
            )
    made: exp.Select = left.copy()
    made.set("expressions", [exp.alias_(item, name, quoted=True) for name, item in sides[0]])
    made.set("distinct", exp.Distinct())
    same = [
        exp.NullSafeEQ(this=one.copy(), expression=other) for (_, one), (_, other) in zip(*sides, strict=True)
    ]
    where = [_qualified(right.args["where"].this, right, columns)] if right.args.get("where") else []
    asked = exp.Select(expressions=[exp.Literal.number(1)], from_=right.args["from_"])
    asked.set("where", exp.Where(this=exp.and_(*same, *where)))
    exists: exp.Expr = in_place_of(exp.Exists(this=asked), node)
    made.where(exists if isinstance(node, exp.Intersect) else exp.not_(exists, copy=False), copy=False)
    for clause in ("order", "limit", "offset"):
        made.set(clause, node.args.get(clause))
    return made


def _items(select: exp.Select, columns: Columns, word: str) -> Iterator[tuple[str, exp.Expr]]:
    """What a SELECT shows, by name, with a stream for each column."""
    what = next((text for clause, text in _REFUSED.items() if select.args.get(clause)), None)
    if what is None and any(map(has_aggregate, select.expressions)):
        what = "an aggregate"
    if what is not None:
        raise about(
            select,
            QueryError(
                f"a SELECT beside {word} has {what}: run it in an engine of its own, and push its results"
            ),
        )
    tables = _tables(select)
    if not all(isinstance(table, exp.Table) for table in tables):
        raise QueryError(
            f"a SELECT beside {word} reads streams: write NOT EXISTS (...) or EXISTS (...) in WHERE beside subqueries"
        )
    for item in select.expressions:
        if not is_everything(item):
            name = item.alias if isinstance(item, exp.Alias) else written(item)
            yield name, _qualified(item.unalias(), select, columns)
            continue
        for table in tables:
            if isinstance(item, exp.Column) and item.table != table.alias_or_name:
                continue
            for column in columns(table.name):
                name = f"{table.alias_or_name}.{column}"
                yield name, in_place_of(exp.column(column, table.alias_or_name, quoted=True), item)


def _tables(select: exp.Select) -> list[exp.Expr]:
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]


def _qualified(node: exp.Expr, select: exp.Select, columns: Columns) -> exp.Expr:
    """The same with a stream for each column that one of them has."""
    owners: dict[str, list[str]] = {}
    for table in _tables(select):
        for column in columns(table.name):
            owners.setdefault(column, []).append(table.alias_or_name)

    def qualify(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.table:
            return part
        found = owners.get(part.name, [])
        if len(found) > 1:
            told = " or ".join(f"{owner}.{part.name}" for owner in found)
            raise about(
                part, QueryError(f"column {part.name} is ambiguous beside EXCEPT and INTERSECT: write {told}")
            )
        if found:
            return in_place_of(exp.column(part.name, owners[part.name][0], quoted=True), part)
        return part

    return node.copy().transform(qualify)
