"""The lattice of sub-tuples."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def identify_mns(components: Sequence[T], matched: Iterable[Collection[T]]) -> list[frozenset[T]]:
    """The minimal non-demanded sub-tuples of a tuple (JIT, section IV-A: Identify_MNS), smaller ones first.

    ``components``: those of the tuple that its consumer compares. ``matched``: for each tuple on the consumer's other
    side, the components that it matches, each by all its conditions; conditions over two components together make them
    one. A node of the lattice, a set of components, is dead if one of these tuples matches all of it. One that is
    alive, and whose parts are all dead, is minimal: a dead node is never reported (the paper's listing leaves that
    out). If there is no tuple on the other side, only the empty sub-tuple is.

    This is what the edges of a plan together judge by their indexes; here it is for who wants to see or test it.
    """
    others = [frozenset(some) for some in matched]
    if not others:
        return [frozenset()]
    found: list[frozenset[T]] = []
    for level in range(1, len(components) + 1):
        for node in map(frozenset, combinations(components, level)):
            alive = not any(node <= some for some in others)
            if alive and not any(part <= node for part in found):
                found.append(node)
    return found
