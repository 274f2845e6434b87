"""The order of results: by their latest events, then by the second latest, and so on, so that no two are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.aggregate.groups import Groups
from eddy.intake.travel import WHEN
from eddy.query.query import Query
from eddy.store.stream import StoredStream
from eddy.values.types import INT64, Array, Column


class EventOrder:
    """A number for each live result, larger for those that are later; a result keeps it until it goes."""

    def __init__(self, query: Query) -> None:
        self._base = None if query.base is None else query.names.index(query.base)
        """Of a difference the rows of this stream are the results, and have an order already."""
        self._next = 0
        self._known = Groups([INT64] * len(query.names), []) if query.base is None else None

    def ids(self, rows: Array, streams: Sequence[StoredStream], signs: Array, events: Array) -> Array:
        """The numbers of results that come and go, by the numbers of their rows."""
        if self._known is None:
            return np.ascontiguousarray(rows[:, self._base])
        whens = [
            stream.payload.storage(WHEN, np.ascontiguousarray(rows[:, stream.number])).values
            for stream in streams
        ]
        latest = np.sort(np.stack(whens, axis=1), axis=1)
        order = np.lexsort((*latest.T, events))
        given = self._next + np.arange(len(rows))
        self._next += len(rows)
        keys = [Column(np.ascontiguousarray(column[order])) for column in rows.T]
        found = np.empty(len(rows), np.int64)
        found[order] = self._known.remembered(keys, given, signs[order], events[order])
        return found

    @property
    def nbytes(self) -> int:
        return 0 if self._known is None else self._known.nbytes
