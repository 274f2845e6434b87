"""Which queries want the rows of a core, and so its results: CACQ's lineage, kept as a number for each stored row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eddy.query.expressions import Expression, Get
from eddy.several.grouped_filters import GroupedFilters
from eddy.several.sets import Sets, Slots


class Split:
    """The results of a batch by query."""

    def __init__(self, inverse: Slots, wanted_by: Sequence[Slots]) -> None:
        """``inverse``: of what kind each result is; ``wanted_by``: the queries that want results of each kind."""
        counts = np.bincount(inverse, minlength=len(wanted_by))
        self._stops = np.cumsum(counts)
        self._starts = self._stops - counts
        self._order = inverse.argsort(kind="stable")
        queries = np.concatenate([np.empty(0, np.int64), *wanted_by])
        kinds = np.repeat(np.arange(len(wanted_by)), [len(some) for some in wanted_by])
        by_query = queries.argsort(kind="stable")
        self._queries, self._kinds = queries[by_query], kinds[by_query]

    @property
    def owners(self) -> Slots:
        """The queries that have results."""
        return np.unique(self._queries)

    def of(self, query: int) -> Slots:
        """The places of the results that are a query's, ascending."""
        first, last = self._queries.searchsorted([query, query + 1]).tolist()
        parts = [self._order[self._starts[k] : self._stops[k]] for k in self._kinds[first:last].tolist()]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))

    def of_all(self, queries: Slots) -> tuple[Slots, Slots]:
        """Of some queries, ascending, the places of all results: the query of each, and the place."""
        here = np.isin(self._queries, queries)
        owners, kinds = self._queries[here], self._kinds[here]
        starts, counts = self._starts[kinds], self._stops[kinds] - self._starts[kinds]
        firsts = np.cumsum(counts) - counts
        inside = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
        places = self._order[np.repeat(starts, counts) + inside]
        owners = np.repeat(owners, counts)
        order = np.lexsort((places, owners))
        return owners[order], places[order]


KNOWN = 1 << 20
"""Queries in all sets together of those that want results, which are remembered."""


class Lineage:
    """The filters of the queries of a core, and the sets of queries that its rows are wanted by.

    A query has a number that no other gets after it. Sets may name queries that were dropped: nobody asks for those.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.sets = {name: Sets() for name in names}
        self._filters: dict[int, Mapping[str, Expression]] = {}
        self._grouped: dict[str, GroupedFilters] = {}
        self._known: dict[tuple[int, ...], Slots] = {}
        self._size = 0

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """What the filters read."""
        every = [of.columns for filters in self._filters.values() for of in filters.values()]
        return frozenset[tuple[str, str]]().union(*every)

    def add(self, query: int, filters: Mapping[str, Expression]) -> None:
        """One more query, with its filters by stream; rows that come from now on are asked about it."""
        self._filters[query] = filters
        self._grouped.clear()

    def drop(self, query: int) -> None:
        """A query is gone."""
        del self._filters[query]
        self._grouped.clear()

    def numbers(self, stream: str, get: Get, n: int) -> Slots:
        """For each of n rows of a stream the set of queries that want it."""
        grouped = self._grouped.get(stream)
        if grouped is None:
            of = {query: filters.get(stream) for query, filters in self._filters.items()}
            grouped = self._grouped[stream] = GroupedFilters(of)
        return grouped.wanted_by(get, stream, n, self.sets[stream])

    def joined_by(self, query: int, stream: str, numbers: Slots, wants: np.ndarray | None) -> Slots:
        """The sets of rows when one more query wants some of them: those of ``wants``, None: all."""
        sets = self.sets[stream]
        some, inverse = np.unique(numbers, return_inverse=True)
        more = [sets.number(np.append(sets.members[number], query)) for number in some.tolist()]
        with_it = np.array(more, np.int64)[inverse]
        return with_it if wants is None else np.where(wants, with_it, numbers)

    def split(self, numbers: Sequence[Slots]) -> Split:
        """The results whose rows have these sets, stream by stream, by query."""
        if not len(numbers[0]):
            return Split(np.empty(0, np.int64), [])
        several = [i for i, found in enumerate(numbers) if (found != found[0]).any()]
        first = [int(found[0]) for found in numbers]
        if not several:
            return Split(np.zeros(len(numbers[0]), np.int64), [self._wanted_by(tuple(first))])
        if len(several) == 1:
            values, inverse = np.unique(numbers[several[0]], return_inverse=True)
            lines = values.reshape(-1, 1)
        else:
            lines, inverse = np.unique(
                np.stack([numbers[i] for i in several], axis=1), axis=0, return_inverse=True
            )
        wanted_by = []
        for line in lines.tolist():
            for i, number in zip(several, line, strict=True):
                first[i] = number
            wanted_by.append(self._wanted_by(tuple(first)))
        return Split(inverse.reshape(-1), wanted_by)

    def _wanted_by(self, numbers: tuple[int, ...]) -> Slots:
        """The queries that want rows of all of these sets, one of each stream."""
        known = self._known.get(numbers)
        if known is None:
            if self._size > KNOWN:
                self._forget()
            known = self.sets[self.names[0]].members[numbers[0]]
            for name, number in zip(self.names[1:], numbers[1:], strict=True):
                known = np.intersect1d(known, self.sets[name].members[number], assume_unique=True)
            self._known[numbers] = known
            self._size += len(known) + len(numbers) + 8
        return known

    def _forget(self) -> None:
        self._known.clear()
        self._size = 0

    def keep(self, stream: str, numbers: Slots) -> Slots:
        """Forget the sets of a stream that none of its rows has; returns the new ``numbers`` of these."""
        self._forget()
        if stream in self._grouped:
            self._grouped[stream].forget()
        queries, used = np.array(sorted(self._filters), np.int64), np.unique(numbers)
        return self.sets[stream].keep(used, queries, len(numbers))[numbers]

    @property
    def nbytes(self) -> int:
        """Bytes of all sets."""
        return 8 * self._size + sum(sets.nbytes for sets in self.sets.values())
