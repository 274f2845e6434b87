"""Trees of symmetric joins as the papers draw them: operators with states, which are lists of composites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from eddy.plan.plan import Join, Node


@frozen(eq=False)
class Row:
    """A row that arrived as event number ``event``."""

    stream: int
    number: int
    event: int
    keys: Mapping[int, int]
    """Its values of the key classes that it has."""


@frozen(eq=False)
class Composite:
    """Rows of several streams that match, or a single one."""

    rows: tuple[Row, ...]
    made: int
    """The event at which it arose."""
    keys: Mapping[int, int]
    """The values of its rows, by key class: all rows that have a class agree on it."""

    def has(self, row: Row) -> bool:
        """Whether a row is part of it."""
        return any(own is row for own in self.rows)

    def all_before(self, event: int, streams: Iterable[int]) -> bool:
        """Whether its rows of these streams arrived before an event."""
        return all(row.event < event for row in self.rows if row.stream in streams)


def single(row: Row) -> Composite:
    """A row alone."""
    return Composite((row,), row.event, row.keys)


def matches(one: Mapping[int, int], other: Mapping[int, int]) -> bool:
    """Whether values agree on every key class that both have."""
    return all(one[key] == other[key] for key in one.keys() & other.keys())


def joined(one: Composite, other: Composite, event: int) -> Composite:
    """Two that match, as one."""
    return Composite(one.rows + other.rows, event, {**one.keys, **other.keys})


@define(eq=False)
class Operator:
    """A stream (without inputs), or a join with the composites that it has made."""

    streams: frozenset[int]
    left: Operator | None = None
    right: Operator | None = None
    parent: Operator | None = field(default=None, repr=False)
    state: list[Composite] = field(factory=list, repr=False)
    complete: bool = True

    @property
    def opposite(self) -> Operator:
        """The other input of its parent."""
        assert self.parent is not None and self.parent.left is not None and self.parent.right is not None
        return self.parent.right if self.parent.left is self else self.parent.left

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return () if self.left is None or self.right is None else (self.left, self.right)

    def below(self) -> Iterator[Operator]:
        """It and all operators below it, each after those below."""
        for child in self.inputs:
            yield from child.below()
        yield self

    def pairs(self, keep: Mapping[int, int]) -> list[tuple[Composite, Composite]]:
        """What its two inputs hold that matches, of the values ``keep``."""
        left, right = self.inputs
        return [
            (one, other)
            for one in left.state
            if matches(one.keys, keep)
            for other in right.state
            if matches(other.keys, keep) and matches(one.keys, other.keys)
        ]


def tree(plan: Join, number: Mapping[str, int]) -> Operator:
    """The operators of a plan, all empty and complete."""
    return _operator(plan, number)


def _operator(node: Node, number: Mapping[str, int]) -> Operator:
    found = Operator(frozenset(number[name] for name in node.streams))
    if isinstance(node, Join):
        found.left, found.right = _operator(node.left, number), _operator(node.right, number)
        found.left.parent = found.right.parent = found
    return found


def drop(operator: Operator, row: Row) -> bool:
    """Remove what has a row from a state; whether there was any."""
    left = [composite for composite in operator.state if not composite.has(row)]
    found = len(left) < len(operator.state)
    operator.state = left
    return found
