"""Set difference: the streams that a query subtracts from its base, and the keys by which it does.

`A - B - C` is the live rows of A that no live row of B matches, and none of C. B and C never meet: a row of A
may be matched by one of them alone, so `A.k = B.k` and `A.k = C.k` say nothing about `B.k = C.k`, and what is
known of A.k cannot be said of B.k. Key classes are therefore not closed under transitivity as those of a join
are: one holds a column of the base and the columns that are compared with it, so that they are encoded alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from eddy.errors import QueryError
from eddy.query import parse
from eddy.query.comparisons import Comparison
from eddy.query.expressions import Expression, Reference
from eddy.query.keys import KeyClass, is_equality
from eddy.query.logic import conjuncts
from eddy.query.names import Scope, nearest
from eddy.query.predicate import UserPredicate
from eddy.values.types import ColumnType


@frozen
class Minus:
    """A stream that is subtracted.

    A row of the base is no result while a live row of the stream equals it in every pair of `on`. NULL equals
    nothing: a row of the base with a NULL there is never matched, and stays.
    """

    stream: str
    on: tuple[tuple[str, str], ...]
    """Column of the base and column of the stream, as the condition pairs them."""
    classes: tuple[int, ...]
    """The key: indices into `Query.key_classes`, one for each column of the base that the condition names."""


@frozen
class Difference:
    """What `minus` comes to, within the query that is being made."""

    base: str
    minus: tuple[Minus, ...]
    key_classes: tuple[KeyClass, ...]
    implied: tuple[Expression, ...]
    """Filters on subtracted streams: `A.k = B.x AND A.k = B.y` can hold only where `B.x = B.y`."""


Pair = tuple[Reference, Reference]


def difference(minus: Any, where: Iterable[Expression], scope: Scope) -> Difference:
    """The base, the streams that are subtracted from it, and their keys; `where` may not be between streams."""
    base = base_of(minus, scope)
    for predicate in where:
        refuse_between(predicate, base)
    pairs = {stream: list(_pairs(condition, base, stream, scope)) for stream, condition in minus.items()}
    first = {stream: _first(compared) for stream, compared in pairs.items()}
    classes = _classes([pair for keys in first.values() for pair in keys.items()], list(scope.streams))
    implied = [
        Comparison("=", first[stream][ours], theirs)
        for stream, compared in pairs.items()
        for ours, theirs in compared
        if first[stream][ours] != theirs
    ]
    subtracted = [
        Minus(
            stream,
            tuple((ours.column, theirs.column) for ours, theirs in compared),
            tuple(_class_of(*pair, classes) for pair in first[stream].items()),
        )
        for stream, compared in pairs.items()
    ]
    return Difference(base, tuple(subtracted), classes, tuple(implied))


def base_of(minus: object, scope: Scope) -> str:
    """The one stream that is not subtracted."""
    if not isinstance(minus, Mapping):
        raise QueryError(
            f"minus takes a dict of streams and conditions, such as {{'B': 'A.k = B.k'}}, not {minus!r}"
        )
    if not minus:
        raise QueryError("minus is empty: name the streams to subtract, or leave it out for a join")
    for name in minus:
        if name not in scope.streams:
            raise QueryError(f"minus names an unknown stream {name}: {nearest(str(name), scope.streams)}")
    left = [name for name in scope.streams if name not in minus]
    if not left:
        raise QueryError("every stream is in minus: leave out the one that the others are subtracted from")
    if len(left) > 1:
        raise QueryError(
            f"a difference has one stream that the others are subtracted from, not {' and '.join(left)}: "
            "subtract all but one of them, each by a condition of its own"
        )
    return left[0]


def _pairs(condition: object, base: str, stream: str, scope: Scope) -> Iterator[Pair]:
    """The equalities of a condition, each with the column of the base first, and none twice."""
    texts = [condition] if isinstance(condition, (str, Expression, UserPredicate)) else condition
    if not isinstance(texts, Iterable):
        raise QueryError(
            f"minus takes a condition for {stream}, such as '{base}.k = {stream}.k', not {texts!r}"
        )
    found: dict[Pair, None] = {}
    for text in texts:
        if isinstance(text, UserPredicate):
            raise QueryError(f"a function cannot be the condition of {stream}: {_wanted(base, stream)}")
        for part in conjuncts(parse.condition(text, scope)):
            found[_pair(part, base, stream)] = None
    if not found:
        raise QueryError(f"minus has no condition for {stream}: {_wanted(base, stream)}")
    yield from found


def refuse_between(predicate: Expression, base: str) -> None:
    """The where of a difference has filters."""
    if len(predicate.streams) > 1:
        raise QueryError(
            f"{predicate} is between streams, but the where of a difference filters one stream at a time: "
            f"the equalities that match rows of {base} go into minus (in SQL behind EXCEPT ... ON)"
        )


def refuse_unequal(condition: Expression, base: str, stream: str) -> None:
    """The condition of a stream that is subtracted has equalities with the base."""
    for part in conjuncts(condition):
        _pair(part, base, stream)


def _pair(part: Expression, base: str, stream: str) -> Pair:
    strangers = sorted(part.streams - {base, stream})
    if strangers:
        raise QueryError(
            f"the condition {part} of {stream} names {strangers[0]}: each stream is compared with {base} alone"
        )
    if len(part.streams) == 1:
        raise QueryError(
            f"the condition {part} of {stream} is about {min(part.streams)} alone: a filter goes into where"
        )
    if not (is_equality(part) and isinstance(part, Comparison)):
        raise QueryError(f"cannot subtract {stream} by {part}: {_wanted(base, stream)}")
    sides = {side.stream: side for side in (part.left, part.right) if isinstance(side, Reference)}
    return sides[base], sides[stream]


def _wanted(base: str, stream: str) -> str:
    return f"write equalities of columns, joined by AND, such as {base}.k = {stream}.k"


def _first(pairs: Iterable[Pair]) -> dict[Reference, Reference]:
    """For each column of the base the first one that it is compared with, which has a place in its class."""
    first: dict[Reference, Reference] = {}
    for ours, theirs in pairs:
        first.setdefault(ours, theirs)
    return first


def _encoding(ours: Reference, theirs: Reference) -> tuple[str, str | None, int]:
    """How two columns are encoded where they are compared with each other alone."""
    members, types = _members([ours, theirs])
    alone = KeyClass(0, members, types)
    return alone.kind, alone.unit, alone.scale


def _classes(pairs: Sequence[Pair], order: Sequence[str]) -> tuple[KeyClass, ...]:
    """One class for each column of the base, or several where sharing one would lose matches.

    A class that an int64 belongs to has no key for 2**63. Two uint64 columns of the base and of B match there
    nevertheless, so B may not share a class with an int64 of C: only streams whose keys are encoded in a class
    of their own just as in the common one are put together.
    """
    members: dict[tuple[Reference, str, str | None, int], dict[str, Reference]] = {}
    for ours, theirs in pairs:
        group = members.setdefault((ours, *_encoding(ours, theirs)), {ours.stream: ours})
        group[theirs.stream] = theirs
    classes: list[KeyClass] = []
    for group in members.values():
        classes.append(KeyClass(len(classes), *_members([group[name] for name in order if name in group])))
    return tuple(classes)


def _members(columns: Sequence[Reference]) -> tuple[dict[str, str], dict[str, ColumnType]]:
    return {c.stream: c.column for c in columns}, {c.stream: c.type for c in columns}


def _class_of(ours: Reference, theirs: Reference, classes: Sequence[KeyClass]) -> int:
    wanted, _ = _members([ours, theirs])
    return next(c.index for c in classes if wanted.items() <= c.members.items())
