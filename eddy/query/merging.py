"""USING and NATURAL where items of FROM are subqueries or joins in parentheses, and beside RIGHT and FULL JOIN.

They are put as ON, and what they merge is kept: of an inner or LEFT JOIN the left side's column, of RIGHT JOIN the
right side's, of FULL JOIN the first of the two that is not NULL. (`using` does the same for plain streams.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attaching import kind_of
from eddy.query.names import nearest
from eddy.query.place import at
from eddy.query.sides import Item, Part
from eddy.query.steps import is_comma


@frozen(eq=False)
class Entry:
    """A column that a bare name may mean, and that `*` stands for."""

    column: str
    of: tuple[tuple[Part, str], ...]
    """The columns that it may come from: the first that is not NULL."""
    merged: bool = False
    shown: bool = True
    """Whether `*` has it: not of a semi or anti join."""

    def __str__(self) -> str:
        return self.column if self.merged else f"{self.of[0][0].name}.{self.column}"

    @property
    def node(self) -> exp.Expr:
        """What is written for it."""
        nodes = [exp.column(column, part.name or None, quoted=True) for part, column in self.of]
        return exp.func("COALESCE", *nodes) if len(nodes) > 1 else nodes[0]


def entries(item: Item) -> list[Entry]:
    """The columns of an item that is no join in parentheses."""
    return [Entry(column, ((part, column),)) for part in item.parts for column in part.shown]


def put_as_on(items: Sequence[Item], sides: Iterable[list[Entry]]) -> list[Entry]:
    """Give joins of these items ON in the place of USING and NATURAL; the columns of all that is joined."""
    done: list[Entry] = []
    left: list[Entry] = []
    for item, right in zip(items, sides, strict=True):
        join = item.join
        if join is None or is_comma(join):
            done, left = done + left, right
            continue
        with at(item.first):
            names = _names(join, left, right)
            both = list(_merged(names, item, left, right))
        if kind_of(join).endswith(("SEMI", "ANTI")):
            left = [*left, *(evolve(entry, shown=False) for entry in right)]
            continue
        taken = {entry.column for entry in both}
        left = [*both, *(e for e in (*left, *right) if not e.shown or e.column not in taken)]
    return done + left


def names_of_star(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    """What `*` stands for, with the names of the results' columns."""
    merged = [entry.column for entry in found if entry.merged]
    for entry in found:
        if entry.shown:
            part, column = entry.of[0]
            yield column if merged.count(column) == 1 and entry.merged else f"{part.name}.{column}", entry


def _names(join: exp.Join, left: Sequence[Entry], right: Sequence[Entry]) -> list[str]:
    """The columns that a join merges."""
    if join.method == "NATURAL":
        join.set("method", None)
        there = {entry.column for entry in left if entry.shown}
        return [entry.column for entry in right if entry.column in there]
    using = join.args.get("using")
    if using is None:
        return []
    join.set("using", None)
    names = [column.name for column in using]
    if not names:
        raise QueryError("USING () names no column: name those that both sides have, such as USING (k)")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(f"USING ({', '.join(names)}) names {twice} twice: leave one out")
    return names


def _merged(
    names: Sequence[str], item: Item, left: Sequence[Entry], right: Sequence[Entry]
) -> Iterator[Entry]:
    assert item.join is not None
    kind = kind_of(item.join)
    conditions: list[exp.Expr] = []
    for name in names:
        one, other = _only(name, left, names), _only(name, right, names)
        nearest_one = kind.startswith("ASOF") and name == names[-1]
        conditions.append((exp.GTE if nearest_one else exp.EQ)(this=one.node, expression=other.node))
        of = one.of
        if kind.startswith("RIGHT"):
            of = other.of
        elif kind.startswith(("FULL", "OUTER")):
            of = one.of + other.of
        yield Entry(name, of, merged=True)
    if conditions:
        item.join.set("on", exp.and_(*conditions))


def _only(name: str, side: Sequence[Entry], names: Sequence[str]) -> Entry:
    """The one column of that name on a side."""
    found = [entry for entry in side if entry.shown and entry.column == name]
    if not found:
        told = f"USING ({', '.join(names)}) names {name}, which is not on both sides"
        raise QueryError(f"{told}: {nearest(name, map(str, side))}")
    if len(found) > 1:
        either = " or ".join(map(str, found))
        raise QueryError(
            f"column {name} is ambiguous in USING ({', '.join(names)}): it may be {either}; write ON"
        )
    if not all(part.name for part, _ in found[0].of):
        raise QueryError("USING and NATURAL need a subquery with a name: write (SELECT ...) AS q")
    return found[0]
