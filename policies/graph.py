"""Which streams can be joined with which."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen


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

    def linked(self, left: Iterable[str], right: Iterable[str]) -> bool:
        """Whether a predicate can be tested between these two sets of streams."""
        left, right = frozenset(left), frozenset(right)
        if any(left & members and right & members for members in self.classes):
            return True
        both = left | right
        return any(reads <= both and reads & left and reads & right for reads in self.thetas)

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
