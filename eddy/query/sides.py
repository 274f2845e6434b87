"""What subqueries and joins in parentheses may say beside outer, semi and anti joins, and where it is said then.

`A LEFT JOIN (SELECT * FROM B WHERE p) AS q ON c` is `A LEFT JOIN B ON c AND p`: what a subquery rules out is nobody's
partner, and takes no row of the other side away. What cannot be put so is refused. (`lines` puts them in one line.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attaching import KINDS, kind_of
from eddy.query.attachment import Attach, FullJoin
from eddy.query.steps import Group, Link, conjuncts_of, leaves, name_of, steady

ONLY = "only"
"""Of a stream's node: which rows of it take part."""
_STRICT = exp.Column, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Cast, exp.Upper, exp.Lower, exp.Abs
"""What is NULL where a column that it reads is."""


@define(eq=False)
class Part:
    """One item of FROM: what can be named of it, and by which expressions."""

    name: str
    shown: dict[str, exp.Expr]
    """Of a stream its columns, of a subquery its outputs."""
    derived: bool
    nulled: int | None = None
    """The number of the join that may give NULL in the place of its rows."""


@define(eq=False)
class Item:
    """An item of FROM: a stream, or a join in parentheses or of a subquery."""

    join: exp.Join | None
    links: list[Link]
    """What it is, with the join."""
    conditions: list[exp.Expr]
    """What is true of its rows."""
    parts: list[Part]

    @property
    def kind(self) -> type[Attach] | None:
        """How it is joined with what stands before it; None: by an inner join, or it is the first."""
        return KINDS.get(kind_of(self.join))

    @property
    def source(self) -> exp.Table | Group:
        """The stream, or several of them."""
        return self.links[0][0]

    @property
    def first(self) -> exp.Table:
        """The first stream of it, where errors about it are."""
        return next(leaves(self.source))

    @property
    def name(self) -> str:
        """What it is called in an error."""
        return self.parts[0].name or "a subquery"


@define
class Sides:
    """Joins are numbered in the order in which they are made."""

    numbers: dict[int, int] = field(factory=dict)
    """By the identity of a join."""
    _said: list[tuple[exp.Join | None, list[exp.Expr]]] = field(factory=list)
    """What joins are to test besides what they say."""

    def settled(self, items: list[Item]) -> tuple[list[Link], list[exp.Expr]]:
        """These items with their joins, and what WHERE is to say of all of them."""
        where: list[exp.Expr] = []
        for place, item in enumerate(items):
            where += self._placed(item, items[place + 1 :], place)
        for place, item in enumerate(items):
            if item.join is not None:
                self.numbers[id(item.join)] = len(self.numbers)
            self._note_nulls(item, items[:place])
        return [link for item in items for link in item.links], where

    def is_nulled(self, part: Part, join: exp.Join | None) -> bool:
        """Whether there may be NULL in the place of an item's rows where a join reads them; None: behind all joins."""
        if part.nulled is None:
            return False
        return join is None or part.nulled < self.numbers.get(id(join), 0)

    def say(self) -> None:
        """Let joins test what subqueries do, when everything else has been put in the words of streams."""
        for join, conditions in self._said:
            assert join is not None
            on = join.args.get("on")
            join.set("on", exp.and_(*([] if on is None else [on]), *conditions, copy=False))

    def _placed(self, item: Item, behind: Sequence[Item], place: int) -> list[exp.Expr]:
        """Say what is true of an item where it takes no rows of others away; returns what WHERE is to say."""
        kind = item.kind
        if not item.conditions:
            return []
        if place and kind is not None and not kind.keeps_right:
            self._said.append((item.join, item.conditions))
            return []
        keepers = [one for one in behind if one.kind is not None and one.kind.keeps_right]
        if not keepers and not (place and kind is FullJoin):
            return item.conditions
        rest = list(self._kept_apart(item))
        if not rest:
            return []
        if (place and kind is FullJoin) or keepers[0].kind is FullJoin:
            raise QueryError(
                f"{item.name} has WHERE of what an outer join in it gives, or with EXISTS or IN, and stands beside "
                "FULL JOIN, which would give what it rules out with NULLs: run it in an engine of its own, and push "
                "its results"
            )
        self._said.append((keepers[0].join, rest))
        return []

    def _kept_apart(self, item: Item) -> Iterator[exp.Expr]:
        """Say what is true of an item's rows with its streams, as long as no outer join gives them; the rest."""
        tables = {name_of(table): table for table in steady(item.source)}
        links = item.source.links if isinstance(item.source, Group) else item.links
        inner = all(kind_of(join) not in KINDS for _, join in links)
        for part in [part for condition in item.conditions for part in conjuncts_of(condition)]:
            read = {column.table for column in part.find_all(exp.Column)}
            if part.find(exp.Select) or not read <= tables.keys() or not tables:
                yield part
            elif len(read) < 2:
                table = tables[min(read, default=next(iter(tables)))]
                own = [] if table.args.get(ONLY) is None else [table.args[ONLY]]
                table.set(ONLY, exp.and_(*own, part))
            elif inner:
                self._said.append((links[-1][1], [part]))
            else:
                yield part

    def _note_nulls(self, item: Item, before: Sequence[Item]) -> None:
        kind, number = item.kind, self.numbers.get(id(item.join), 0)
        if kind is None:
            return
        parts = [*item.parts] if kind.keeps_left else []
        if kind.keeps_right:
            parts += [part for other in before for part in other.parts]
        for part in parts:
            part.nulled = number if part.nulled is None else min(part.nulled, number)


def check_strict(part: Part, column: str) -> None:
    """Refuse an output that is not NULL where there is no row."""
    expression = part.shown[column]
    if any(_not_strict(expression)):
        raise QueryError(
            f"{part.name}.{column} stands for {expression.sql()}, and an outer join gives NULL where {part.name} has "
            "no row: select columns in the subquery, and compute outside what you need of them"
        )


def _not_strict(node: exp.Expr) -> Iterator[bool]:
    yield not isinstance(node, _STRICT) or not any(True for _ in node.find_all(exp.Column))
    if not isinstance(node, exp.Column):
        for child in node.iter_expressions():
            if not isinstance(child, (exp.Literal, exp.DataType)):
                yield from _not_strict(child)
