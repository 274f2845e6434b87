"""What FROM has: streams and groups of them in parentheses, each with its join; and one line of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define
from sqlglot import exp

from eddy.query.attaching import KINDS, kind_of
from eddy.query.attachment import AntiJoin, Attach, FullJoin, LeftJoin, RightJoin
from eddy.query.parse import parts_of

IN_LINE = "in line"
"""Of a join's node: it stands in the line of a subquery already, so it is no comma, though it says nothing."""
WRITTEN = "written"
"""Of a join's node: what the user wrote there, if that is not what it says."""
_SIDES: dict[type[Attach], str] = {LeftJoin: "LEFT", RightJoin: "RIGHT", FullJoin: "FULL"}


@define(eq=False)
class Group:
    """A join in parentheses, or of a subquery: its streams and groups, each with its join."""

    links: list[Link]


Link = tuple[exp.Table | Group, exp.Join | None]


def joins_of(links: Sequence[Link]) -> Iterator[exp.Join]:
    """All joins of these, those in parentheses too."""
    for source, join in links:
        yield from joins_of(source.links) if isinstance(source, Group) else ()
        if join is not None:
            yield join


def steady(source: exp.Table | Group) -> Iterator[exp.Table]:
    """The streams of which each row of a join has one."""
    if not isinstance(source, Group):
        yield source
    elif not any(KINDS[kind].keeps_right for _, join in source.links if (kind := kind_of(join)) in KINDS):
        for one, join in source.links:
            yield from () if kind_of(join) in KINDS else steady(one)


def needs_line(joins: Sequence[exp.Join]) -> bool:
    """Whether joins of plain streams are not in one line, or have RIGHT or FULL JOIN behind what is late."""
    late = comma = False
    for join in joins:
        kind = KINDS.get(kind_of(join))
        if kind is not None and kind.keeps_right and (late or comma):
            return True
        late, comma = late or (kind is not None and is_late(kind)), comma or is_comma(join)
    return False


def leaves(source: exp.Table | Group) -> Iterator[exp.Table]:
    """The streams of it, in the order of the text."""
    if isinstance(source, Group):
        for one, _ in source.links:
            yield from leaves(one)
    else:
        yield source


def leaf_of(node: exp.Expr) -> exp.Table:
    """The first stream of what was written in FROM."""
    table = node if isinstance(node, exp.Table) else node.find(exp.Table)
    assert table is not None
    return table


def name_of(table: exp.Table) -> str:
    """What a stream is called."""
    return table.alias or table.name


@define(eq=False)
class Step:
    """A stream, and how it is joined with those before it."""

    table: exp.Table
    kind: type[Attach] | None
    """None: by an inner join, or it is the first."""
    on: list[exp.Expr]
    join: exp.Join | None
    """What was written."""
    turned: bool = False
    """Whether that has another stream on its right."""

    @property
    def name(self) -> str:
        return name_of(self.table)

    @property
    def keeps_right(self) -> bool:
        return self.kind is not None and self.kind.keeps_right

    @property
    def late(self) -> bool:
        """Whether what it gives is known when something has ended only."""
        return self.keeps_right or (self.kind is not None and not self.kind.nearest and is_late(self.kind))

    def link(self) -> Link:
        """The stream with its join, as a node that says what this does."""
        if self.join is None and not self.on and self.kind is None:
            return self.table, None
        join = exp.Join() if self.join is None else self.join
        if self.turned or KINDS.get(kind_of(join)) is not self.kind:
            before, join = join, exp.Join(side=_SIDES.get(self.kind) if self.kind is not None else None)
            if self.kind is not None:
                join.meta[WRITTEN] = before
        join.set("on", exp.and_(*self.on, copy=False) if self.on else None)
        return self.table, join


def is_late(kind: type[Attach]) -> bool:
    """Whether such a join gives results without a partner, which are known when none can come any more."""
    return kind.keeps_left or kind.keeps_right or kind is AntiJoin


def is_comma(join: exp.Join) -> bool:
    """Whether a join says nothing: that is how a comma is read, unless it stands in a line already."""
    says = any(join.args.get(clause) for clause in ("on", "using", "method", "side", "kind"))
    return not says and not join.meta.get(IN_LINE)


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """What AND joins, parentheses aside."""
    parts = [part.unnest() for part in parts_of(node)]
    return [one for part in parts for one in (conjuncts_of(part) if isinstance(part, exp.And) else [part])]
