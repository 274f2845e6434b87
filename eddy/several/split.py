"""The results of a batch by query, found without Python for each result or each query."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from eddy.several.sets import Slots

NOBODY = np.empty(0, np.int64)
SHORT = 1 << 16
"""Numbers below this are sorted by their digits."""


@frozen(eq=False)
class Wanted:
    """The queries that want results of each kind: those of kind k are ``queries[starts[k]:starts[k] + counts[k]]``."""

    queries: Slots
    starts: Slots
    counts: Slots

    def of(self, kinds: Slots) -> tuple[Slots, Slots]:
        """The queries of some kinds, one after the other, and of which place among ``kinds`` each is."""
        counts = self.counts[kinds]
        total, places = int(counts.sum()), np.arange(len(kinds))
        if total == len(kinds) and (counts == 1).all():
            return self.queries[self.starts[kinds]], places
        shift = self.starts[kinds] - (np.cumsum(counts) - counts)
        return self.queries[np.repeat(shift, counts) + np.arange(total)], np.repeat(places, counts)


class Split:
    """The results of a batch by query."""

    def __init__(self, kinds: Slots, wanted: Wanted) -> None:
        """``kinds``: of what kind each result is."""
        self._kinds, self._wanted = kinds, wanted
        self._grouped: tuple[Slots, Slots, Slots, Slots, Slots] | None = None

    @property
    def owners(self) -> Slots:
        """The queries that have results, ascending."""
        found: Slots = np.unique(self._by_query()[0])
        return found

    def of(self, query: int) -> Slots:
        """The places of the results that are a query's, ascending."""
        queries, kinds, order, starts, stops = self._by_query()
        first, last = queries.searchsorted([query, query + 1]).tolist()
        parts = [order[starts[k] : stops[k]] for k in kinds[first:last].tolist()]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate([NOBODY, *parts]))

    def of_all(self, queries: Slots) -> tuple[Slots, Slots]:
        """Of some queries, ascending, all results: which of ``queries`` each is of, and its place.

        Query by query, and of each in ascending order.
        """
        owners, places = self._wanted.of(self._kinds)
        if not len(owners):
            return owners, places
        rank = np.full(max(int(owners.max()), int(queries[-1])) + 1, -1, np.int64)
        rank[queries] = np.arange(len(queries))
        owners = rank[owners]
        if (owners < 0).any():  # of others, which show something else or were dropped
            here = owners >= 0
            owners, places = owners[here], places[here]
        order = _digits(owners, len(queries)).argsort(kind="stable")
        return owners[order], places[order]

    def _by_query(self) -> tuple[Slots, Slots, Slots, Slots, Slots]:
        """The queries, ascending, and of each its kinds; the results by kind, and where those of each begin and end."""
        if self._grouped is None:
            kinds, inverse = np.unique(self._kinds, return_inverse=True)
            counts = np.bincount(inverse, minlength=len(kinds))
            stops = np.cumsum(counts)
            queries, places = self._wanted.of(kinds)
            by_query = queries.argsort(kind="stable")
            order = _digits(inverse.reshape(-1), len(kinds)).argsort(kind="stable")
            self._grouped = queries[by_query], places[by_query], order, stops - counts, stops
        return self._grouped


def _digits(numbers: Slots, below: int) -> np.ndarray:
    """Numbers as they are sorted fastest."""
    return numbers.astype(np.uint16) if below <= SHORT else numbers
