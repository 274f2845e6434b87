"""JOIN ... USING: the columns that it merges, and what `*` and a bare name then stand for.

As in PostgreSQL, USING has its columns of both sides appear once, before all others: `A JOIN B USING (k)` has the
columns k, the rest of A, the rest of B, and is the left side of the next JOIN. A comma begins anew. Here joins are of
plain streams, and inner or LEFT ones, so that a merged column is the left one's. All others are put as ON (`merging`).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.comparisons import Comparison
from eddy.query.names import Pair, Scope, nearest
from eddy.query.place import at


@frozen
class Item:
    """One stream of FROM, and how it is joined with those before it."""

    stream: str
    using: tuple[str, ...]
    anew: bool
    """Behind a comma: no USING reaches back over it."""
    subtracted: bool = False
    """Behind EXCEPT: it is compared with what is on the left, and adds no column to that."""
    natural: bool = False
    """NATURAL: USING all columns that both sides have."""
    node: exp.Expr | None = None
    """What was written, for errors."""
    asked: bool = False
    """A semi or anti join: it adds no column."""


@define
class Joined:
    """What FROM comes to."""

    scope: Scope
    """In which merged columns have names of their own."""
    equalities: dict[str, list[Comparison]]
    """What each USING says, by the stream that it joins."""


def joined(items: Sequence[Item], scope: Scope) -> Joined:
    """The streams of FROM, joined one after another."""
    done: list[Pair] = []
    left: list[Pair] = []  # the left side of a JOIN that may follow
    merged: set[Pair] = set()
    equalities: dict[str, list[Comparison]] = {}
    for item in items:
        if item.anew:
            done, left = done + left, []
        if item.natural:
            names = {column for _, column in left}
            item = evolve(item, using=tuple(c for c in scope.stream(item.stream) if c in names))
        with at(item.node):
            _refuse_repeated(item)
            both = [_left(column, item, left, scope) for column in item.using]
        own = [(item.stream, column) for column in scope.stream(item.stream)]
        merged.update(both)
        signs = ["="] * len(both)
        if signs and isinstance(item.node, exp.Join) and item.node.method == "ASOF":
            signs[-1] = ">="  # the last column is the time
        equalities[item.stream] = [
            Comparison(sign, scope.column(*pair), scope.column(item.stream, pair[1]))
            for sign, pair in zip(signs, both, strict=True)
        ]
        rest = [pair for pair in own if pair[1] not in item.using]
        if item.subtracted:
            done += rest
        elif item.asked:
            pass
        else:
            left = both + [pair for pair in left if pair not in both] + rest
    return Joined(Scope(scope.streams, shown=(*done, *left), merged=frozenset(merged)), equalities)


def _left(column: str, item: Item, left: Sequence[Pair], scope: Scope) -> Pair:
    """The one column of that name on the left side of a JOIN."""
    scope.column(item.stream, column)
    found = [pair for pair in left if pair[1] == column]
    if not found:
        known = [f"{stream}.{other}" for stream, other in left]
        raise QueryError(
            f"no stream that {item.stream} is joined with has a column {column}, which USING names: "
            f"{nearest(column, known)}"
        )
    if len(found) > 1:
        either = " or ".join(f"{stream}.{column}" for stream, _ in found)
        raise QueryError(
            f"column {column} is ambiguous in USING ({', '.join(item.using)}): it may be {either}; "
            f"write ON {found[0][0]}.{column} = {item.stream}.{column}"
        )
    return found[0]


def _refuse_repeated(item: Item) -> None:
    twice = next((column for column in item.using if item.using.count(column) > 1), None)
    if twice is not None:
        raise QueryError(f"USING ({', '.join(item.using)}) names {twice} twice: leave one out")
