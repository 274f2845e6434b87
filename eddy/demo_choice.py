"""The demo's simple way to choose a plan: count a sample's matches under every tree, and take the least.

It stands outside the engine on purpose: what it decides is handed to ``Eddy.migrate``, as any choice can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Tree = str | tuple["Tree", "Tree"]
"""A stream's name, or a pair of trees."""

Keys = Mapping[str, npt.NDArray[np.int64]]
"""For each stream the join keys of its newest rows."""


def trees(streams: Sequence[str]) -> Iterator[Tree]:
    """Every shape and order over these streams, sides not told apart: 15 for four streams."""
    if len(streams) == 1:
        yield streams[0]
    first, rest = streams[0], streams[1:]
    for chosen in range(2 ** len(rest) - 1):
        left = [first, *(name for i, name in enumerate(rest) if chosen >> i & 1)]
        right = [name for i, name in enumerate(rest) if not chosen >> i & 1]
        for one in trees(left):
            for other in trees(right):
                yield one, other


def leaves(tree: Tree) -> tuple[str, ...]:
    """The streams of a tree, from left to right."""
    return (tree,) if isinstance(tree, str) else leaves(tree[0]) + leaves(tree[1])


def text(tree: Tree) -> str:
    """The tree in the notation of plans, ``((A B) C) D``: the larger side first."""
    if isinstance(tree, str):
        return tree
    sides = sorted(tree, key=lambda side: -len(leaves(side)))
    return " ".join(side if isinstance(side, str) else f"({text(side)})" for side in sides)


class Sample:
    """Newest rows of every stream, and what plans would hold if whole windows were like them."""

    def __init__(self, keys: Keys, live_rows: int) -> None:
        _, codes = np.unique(np.concatenate(list(keys.values())), return_inverse=True)
        ends = np.cumsum([len(values) for values in keys.values()])
        self._counts = {
            name: np.bincount(part, minlength=codes.max() + 1) * (live_rows / len(part))
            for name, part in zip(keys, np.split(codes, ends[:-1]), strict=True)
        }

    def composites(self, streams: Sequence[str]) -> float:
        """How many live composites of these streams are to be expected."""
        counts = [self._counts[name] for name in streams]
        return float(np.multiply.reduce(counts).sum())

    def cost(self, tree: Tree) -> float:
        """The live composites below the root: the root's are the results, the same under every plan."""
        if isinstance(tree, str):
            return 0.0
        return sum(
            self.cost(side) + self.composites(leaves(side)) for side in tree if not isinstance(side, str)
        )

    def cheapest(self) -> Tree:
        """The tree that would hold the fewest composites."""
        return min(trees(list(self._counts)), key=self.cost)
