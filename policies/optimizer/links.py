"""Which sets of streams, as ints of any number of bits, a predicate links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from attrs import field, frozen

from policies.graph import Graph

KNOWN = 4096
"""Sets of which it is remembered what is around them."""


@frozen(eq=False)
class Links:
    """The predicates of a query as sets of streams."""

    near: tuple[int, ...]
    """For each stream those that a predicate of two links to it."""
    thetas: tuple[int, ...]
    """Predicates over more."""
    _around: dict[int, int] = field(factory=dict, init=False, repr=False)

    def around(self, mask: int) -> int:
        """The streams that predicates of two link to a set, its own among them."""
        known = self._around
        if mask in known:
            return known[mask]
        found, rest = 0, mask
        while rest:
            low = rest & -rest
            found |= self.near[low.bit_length() - 1]
            rest ^= low
        if len(known) >= KNOWN:
            known.clear()
        known[mask] = found
        return found

    def between(self, left: int, right: int) -> bool:
        """Whether a predicate can be tested between two sets."""
        if self.around(left) & right:
            return True
        both = left | right
        return any(reads & left and reads & right and not reads & ~both for reads in self.thetas)


@lru_cache(maxsize=64)
def bits_of(graph: Graph) -> Mapping[str, int]:
    """For each stream the set that has it alone."""
    return {name: 1 << i for i, name in enumerate(graph.names)}


@lru_cache(maxsize=64)
def links_of(graph: Graph) -> Links:
    """The links of a query."""
    bits = bits_of(graph)
    near = dict.fromkeys(graph.names, 0)
    for names in (*graph.classes, *(reads for reads in graph.thetas if len(reads) == 2)):
        mask = sum(bits[name] for name in names)
        for name in names:
            near[name] |= mask
    wider = (sum(bits[name] for name in reads) for reads in graph.thetas if len(reads) > 2)
    return Links(tuple(near.values()), tuple(wider))
