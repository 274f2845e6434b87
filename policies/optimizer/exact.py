"""Exact search by dynamic programming, over streams or over sub-plans that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from policies.optimizer import search_kernels
from policies.optimizer.estimate import Estimate
from policies.optimizer.facts import Arrays, all_facts, facts_of
from policies.optimizer.plans import Tree, streams


@frozen(eq=False)
class Space:
    """All plans over these units: 2 to 12 of them, since each set of them has its place in a table."""

    estimate: Estimate
    model: NDArray[np.float64]
    units: Sequence[Tree]
    _facts: Arrays = field(init=False)
    _query: Arrays = field(init=False)
    _wide: bool = field(init=False)
    """Whether sets of streams are rows of words."""

    def __attrs_post_init__(self) -> None:
        masks = [self.estimate.mask(streams(unit)) for unit in self.units]
        whole = masks == list(self.estimate.masks.values())
        few = self.estimate.layout is None
        facts = all_facts(self.estimate) if whole and few else facts_of(self.estimate, masks)
        object.__setattr__(self, "_wide", not few)
        object.__setattr__(self, "_facts", facts)
        object.__setattr__(self, "_query", self.estimate.query)

    def bushy(self) -> tuple[Tree, float]:
        """The cheapest tree, and what it costs besides what is inside the units."""
        cost, crosses, split = self._tables()
        given = self._facts, self._query, self.model
        search_kernels.bushy[self._wide](len(self.units), *given, cost, crosses, split)
        return self._tree(len(cost) - 1, split), float(cost[-1])

    def left_deep(self, first: int | None = None) -> tuple[Tree, float]:
        """The cheapest tree whose right sides are single units, unit number ``first`` at the bottom left."""
        cost, crosses, split = self._tables()
        bottom = 0 if first is None else 1 << first
        given = self._facts, self._query, self.model
        search_kernels.left_deep[self._wide](len(self.units), bottom, *given, cost, crosses, split)
        return self._tree(len(cost) - 1, split), float(cost[-1])

    def ordering(self, first: int, turnover: float) -> tuple[tuple[int, ...], float]:
        """The cheapest order in which entries of one unit visit the others, which are single streams.

        Units are given by number. ``turnover``: arrivals per live row of the stream that drives it.
        """
        cost, crosses, last = self._tables()
        given = self._facts, self._query, self.model
        search_kernels.ordering[self._wide](
            len(self.units), 1 << first, turnover, *given, cost, crosses, last
        )
        order: list[int] = []
        at = len(cost) - 1
        while at != 1 << first:
            order.append(int(last[at]).bit_length() - 1)
            at ^= int(last[at])
        return tuple(reversed(order)), float(cost[-1])

    def _tables(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        size = 1 << len(self.units)
        return np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64)

    def _tree(self, both: int, split: NDArray[np.int64]) -> Tree:
        left = int(split[both])
        if not left:
            return self.units[both.bit_length() - 1]
        return self._tree(left, split), self._tree(both ^ left, split)
