"""The order of results: by the events at which they come, and at one event by the latest events of their rows, then by
the second latest, and so on, so that no two are the same.

Results of inner joins come at their latest event. One that lacks a partner may come later, and again: then it is last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.aggregate.groups import Groups
from eddy.query.query import Query
from eddy.values.types import INT64, Array, Column


class EventOrder:
    """A number for each live result, larger for those that are later; a result keeps it until it goes."""

    def __init__(self, query: Query) -> None:
        alone = query.base is not None and not query.attachments
        self._base = query.names.index(query.base or "") if alone else None
        """Of a difference the rows of this stream are the results, and have an order already."""
        self._next = 0
        self._known = None if alone else Groups([INT64] * len(query.names), [])

    def ids(self, rows: Array, whens: Sequence[Array], signs: Array, events: Array) -> Array:
        """The numbers of results that come and go, by the numbers of their rows.

        ``whens`` are the events of the rows of each stream, -1 where there is no row.
        """
        if self._known is None:
            return np.ascontiguousarray(rows[:, self._base])
        latest = np.sort(np.stack(whens, axis=1), axis=1)
        order = np.lexsort((*latest.T, events))
        given = self._next + np.arange(len(rows))
        self._next += len(rows)
        keys = [Column(np.ascontiguousarray(column[order])) for column in rows.T]
        found = np.empty(len(rows), np.int64)
        found[order] = self._known.remembered(keys, given, signs[order], events[order])
        return found

    def again(self, rows: Array) -> Array:
        """Numbers for results that are live after a restart, the first of all first."""
        if self._known is None:
            return np.ascontiguousarray(rows[:, self._base])
        given = self._next + np.arange(len(rows))
        self._next += len(rows)
        keys = [Column(np.ascontiguousarray(column)) for column in rows.T]
        return self._known.remembered(keys, given, np.ones(len(rows), np.int8), np.zeros(len(rows), np.int32))

    def live(self) -> Array:
        """The row numbers of the live results, in order."""
        assert self._known is not None
        return self._known.members()

    @property
    def nbytes(self) -> int:
        return 0 if self._known is None else self._known.nbytes
