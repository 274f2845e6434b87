"""Names in SQL: what is not in double quotes means what is called so in any case, as SQL has it.

A name that is there as it is written is that one. Any other stands for the only one that differs from it in case; where
there are several, or none, it stays, to be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from eddy.query.flatten import Columns


def settle_case(tree: exp.Expr, streams: Iterable[str], columns: Columns) -> None:
    """Write names in a statement as they are where they come from: those of ``streams``, and what it names itself."""
    known = list(streams)
    named = [one.alias for one in tree.find_all(exp.CTE)]
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        _settle(table.this, [*known, *named])
    of = {table.alias_or_name: list(columns(table.name)) for table in tables if table.name in known}
    owners = dict.fromkeys([*of, *(table.alias_or_name for table in tables), *_aliases(tree), *named])
    every = list(dict.fromkeys([*(column for one in of.values() for column in one), *_outputs(tree)]))
    for column in tree.find_all(exp.Column):
        _settle(column.args.get("table"), owners)
        _settle(column.this, of.get(column.table) or every)
    for join in tree.find_all(exp.Join):
        for name in join.args.get("using") or ():
            _settle(name if isinstance(name, exp.Identifier) else name.this, every)


def _aliases(tree: exp.Expr) -> Iterator[str]:
    """What subqueries are called."""
    return (one.alias for one in tree.find_all(exp.Subquery) if one.alias)


def _outputs(tree: exp.Expr) -> Iterator[str]:
    """The names that AS gives to columns."""
    yield from (one.alias for one in tree.find_all(exp.Alias))
    yield from (name.name for one in tree.find_all(exp.TableAlias) for name in one.columns)


def _settle(name: exp.Expr | None, known: Iterable[str]) -> None:
    if not isinstance(name, exp.Identifier) or name.args.get("quoted"):
        return
    names: Sequence[str] = list(known)
    if name.name in names:
        return
    found = {other for other in names if other.lower() == name.name.lower()}
    if len(found) == 1:
        name.set("this", found.pop())
