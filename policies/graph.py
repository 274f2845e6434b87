"""Which streams can be joined with which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen


@frozen
class Graph:
    """The join graph of a query: its streams, and the predicates between them."""

    names: tuple[str, ...]
    """Streams, in the order of declaration."""
    classes: tuple[frozenset[str], ...] = ()
    """Key classes: streams that an equality connects, each with each of its class."""
    thetas: tuple[frozenset[str], ...] = ()
    """Other predicates, by the streams that they read; each can be tested where all of them are."""
    static: frozenset[str] = frozenset()
    """Relations that are loaded once: no row of theirs arrives any more."""
    ranges: frozenset[int] = frozenset()
    """Which of ``thetas``, by number, a sorted index serves: inequalities and bands."""
    _near: Mapping[str, frozenset[str]] = field(init=False, eq=False, repr=False)
    """For each stream those that a key, or a predicate of two, connects with it."""
    _wide: tuple[frozenset[str], ...] = field(init=False, eq=False, repr=False)
    """Predicates over more."""

    def __attrs_post_init__(self) -> None:
        near: dict[str, set[str]] = {name: set() for name in self.names}
        for members in (*self.classes, *(reads for reads in self.thetas if len(reads) == 2)):
            for name in members:
                near[name] |= members
        object.__setattr__(self, "_near", {name: frozenset(others) for name, others in near.items()})
        object.__setattr__(self, "_wide", tuple(reads for reads in self.thetas if len(reads) > 2))

    def linked(self, left: Iterable[str], right: Iterable[str]) -> bool:
        """Whether a predicate can be tested between these two sets of streams."""
        left, right = frozenset(left), frozenset(right)
        few, many = (left, right) if len(left) < len(right) else (right, left)
        if any(not self._near[name].isdisjoint(many) for name in few):
            return True
        both = left | right
        return any(reads <= both and reads & left and reads & right for reads in self._wide)

    def order(self, reached: Iterable[str], names: Iterable[str]) -> list[str]:
        """These ``names`` in an order in which each has a predicate with those before, or with those ``reached``, if
        there is one: the next is the first of them that has."""
        before, left, order = set(reached), list(names), list[str]()
        around = set[str]().union(*(self._near[name] for name in before))
        while left:
            name = next((name for name in left if name in around or self._by_wide(before, name)), left[0])
            left.remove(name)
            before.add(name)
            around |= self._near[name]
            order.append(name)
        return order

    def _by_wide(self, before: set[str], name: str) -> bool:
        """Whether a predicate over more than two streams can be tested when this one comes to those before."""
        return any(name in reads and reads - {name} <= before for reads in self._wide)

    def connected(self, names: Iterable[str]) -> bool:
        """Whether the predicates among these streams alone connect all of them."""
        rest = set(names)
        reached = {rest.pop()} if rest else set()
        while rest:
            found = {name for name in rest if self.linked(reached, {name})}
            if not found:  # a predicate over three streams may need two of them that are not reached yet
                found = _by_theta(self.thetas, reached, rest)
            if not found:
                return False
            reached |= found
            rest -= found
        return True


def _by_theta(thetas: tuple[frozenset[str], ...], reached: set[str], rest: set[str]) -> set[str]:
    for reads in thetas:
        if reads & reached and reads <= reached | rest and not reads <= reached:
            return set(reads - reached)
    return set()
