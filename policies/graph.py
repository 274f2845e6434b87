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
