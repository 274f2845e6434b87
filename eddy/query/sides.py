"""What subqueries and joins in parentheses may say beside outer, semi and anti joins, and where it is said then.

`A LEFT JOIN (SELECT * FROM B WHERE p) AS q ON c` is `A LEFT JOIN B ON c AND p`: what a subquery rules out is nobody's
partner, and takes no row of the other side away. A join in parentheses stands first, since an attachment has one
stream: `A LEFT JOIN (B JOIN C ON p) ON c` is `B JOIN C ON p RIGHT JOIN A ON c`. What cannot be put so is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attaching import KINDS, kind_of
from eddy.query.attachment import Attach, FullJoin, LeftJoin, RightJoin
from eddy.query.parse import parts_of
from eddy.query.place import about

ONLY = "only"
"""Of a stream's node: which rows of it take part."""
_TURNED = {"LEFT": "RIGHT", "RIGHT": "LEFT", "FULL": "FULL"}
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
    """An item of FROM as streams: those of a join in parentheses or of a subquery, each with its join."""

    join: exp.Join | None
    tables: list[tuple[exp.Table, exp.Join | None]]
    conditions: list[exp.Expr]
    """What is true of its rows."""
    parts: list[Part]

    @property
    def kind(self) -> type[Attach] | None:
        """How it is joined with what stands before it; None: by an inner join, or it is the first."""
        return KINDS.get(kind_of(self.join))

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

    def settled(self, items: list[Item]) -> tuple[list[tuple[exp.Table, exp.Join | None]], list[exp.Expr]]:
        """The streams of these items with their joins, and what WHERE is to say of all of them."""
        items = _turned(items)
        where: list[exp.Expr] = []
        for place, item in enumerate(items):
            _check(item, place)
            where += self._placed(item, items[place + 1 :], place)
        for place, item in enumerate(items):
            if item.join is not None:
                self.numbers[id(item.join)] = len(self.numbers)
            self._note_nulls(item, items[:place])
        return [table for item in items for table in item.tables], where

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
        """Say what is true of an item's rows with its streams, as long as inner joins alone are in it; the rest."""
        tables = {table.alias or table.name: table for table, _ in item.tables}
        inner = all(kind_of(join) not in KINDS for _, join in item.tables[1:])
        for part in [part for condition in item.conditions for part in parts_of(condition)]:
            read = {column.table for column in part.find_all(exp.Column)}
            if not inner or part.find(exp.Select) or not read <= tables.keys():
                yield part
            elif len(read) < 2:
                table = tables[min(read, default=item.tables[0][0].alias or item.tables[0][0].name)]
                own = [] if table.args.get(ONLY) is None else [table.args[ONLY]]
                table.set(ONLY, exp.and_(*own, part))
            else:
                self._said.append((item.tables[-1][1], [part]))

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


def _turned(items: list[Item]) -> list[Item]:
    """A join in parentheses behind one stream and LEFT, RIGHT or FULL JOIN stands before that stream."""
    if len(items) < 2 or len(items[0].tables) > 1 or len(items[1].tables) < 2:
        return items
    first, second = items[:2]
    if second.join is None or second.kind not in (LeftJoin, RightJoin, FullJoin):
        return items
    join = second.join.copy()
    join.set("side", _TURNED[second.join.side or "FULL"])
    second.tables[0] = (second.tables[0][0], None)
    turned = Item(join, [(first.tables[0][0], join)], first.conditions, first.parts)
    return [Item(None, second.tables, second.conditions, second.parts), turned, *items[2:]]


def _check(item: Item, place: int) -> None:
    """Refuse joins on the right of a join that cannot stand one behind the other."""
    kinds = [KINDS.get(kind_of(join)) for _, join in item.tables[1:]]
    if not place or not kinds:
        return
    assert item.join is not None
    text = (kind_of(item.join) + " JOIN").strip()
    if item.kind in (LeftJoin, RightJoin, FullJoin):
        raise QueryError(
            f"{text} has a join on its right, and more than one stream on its left: run that join in an engine of its "
            "own, and push its results as a stream; behind a single stream A it is FROM B JOIN C ON ... RIGHT JOIN A "
            "ON ..."
        )
    if item.kind is not None:
        raise QueryError(
            f"{text} takes one stream on its right, not a join: run that in an engine of its own, and push its results "
            "as a stream"
        )
    kept = next((kind for kind in kinds if kind is not None and kind.keeps_right), None)
    if kept is not None:
        raise QueryError(
            f"a join in parentheses behind another with {kept.text} in it cannot be put in one line: write it first"
        )
    on = item.join.args.get("on")
    late = {
        table.alias or table.name
        for (table, _), kind in zip(item.tables[1:], kinds, strict=True)
        if kind is not None
    }
    read = {column.table for column in on.find_all(exp.Column)} if on is not None else set()
    if late & read:
        raise about(
            on,
            QueryError(
                f"this condition reads {min(late & read)}, which an outer join in parentheses gives: write it behind "
                "that join, in WHERE"
            ),
        )
