"""Which queries want the rows of a core, and so its results: CACQ's lineage, kept as a number for each stored row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eddy.query.expressions import Expression, Get
from eddy.several.grouped_filters import GroupedFilters
from eddy.several.lines import Lines
from eddy.several.sets import Sets, Slots
from eddy.several.split import Split


class Lineage:
    """The filters of the queries of a core, and the sets of queries that its rows are wanted by.

    A query has a number that no other gets after it. Sets may name queries that were dropped: nobody asks for those.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.sets = {name: Sets() for name in names}
        self._filters: dict[int, Mapping[str, Expression]] = {}
        self._grouped: dict[str, GroupedFilters] = {}
        self._lines = Lines([self.sets[name] for name in names])

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
        return Split(*self._lines.of(numbers))

    def keep(self, stream: str, numbers: Slots) -> Slots:
        """Forget the sets of a stream that none of its rows has; returns the new ``numbers`` of these."""
        self._lines.forget()
        if stream in self._grouped:
            self._grouped[stream].forget()
        queries, used = np.array(sorted(self._filters), np.int64), np.unique(numbers)
        found: Slots = self.sets[stream].keep(used, queries, len(numbers))[numbers]
        self._lines.forget()
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all sets."""
        return self._lines.nbytes + sum(sets.nbytes for sets in self.sets.values())
