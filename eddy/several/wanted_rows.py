"""The live rows of a core, and the sets of queries that want them."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.query.query import Query
from eddy.several.core import QUERIES, CoreQuery
from eddy.several.feed import Feed
from eddy.several.lineage import Lineage
from eddy.several.planting import reading
from eddy.several.sets import Slots
from eddy.state import EngineState


@frozen(eq=False)
class WantedRows:
    """The live rows of a core as its engine stores them."""

    state: EngineState
    core: CoreQuery
    feed: Feed
    lineage: Lineage
    begun: Slots
    """The first row of each stream that the core was given: those before are gone, and have their numbers only."""

    def wants(self, query: Query, name: str, rows: Slots) -> NDArray[np.bool_]:
        """Which rows of a stream a query wants."""
        if name not in query.filters:
            return np.ones(len(rows), np.bool_)
        return query.filters[name].holds(reading(self.feed, name, rows), len(rows))

    def has_more_for(self, query: Query) -> bool:
        """Whether a query wants live rows that nobody has wanted before, so that they are in no STAIR."""
        for number, name in enumerate(self.core.names if self.core.filtered else ()):
            rows = self._live(number)
            unwanted = rows[self._numbers(number, rows) == 0]
            if len(unwanted) and self.wants(query, name, unwanted).any():
                return True
        return False

    def join(self, slot: int, query: Query) -> None:
        """Note of the live rows which a new query wants; for who changes the engine."""
        self._keep(self._full())
        for number, name in enumerate(self.core.names if self.core.filtered else ()):
            rows = self._live(number)
            wants = self.wants(query, name, rows) if name in query.filters else None
            numbers = self._numbers(number, rows)
            found = self.lineage.joined_by(slot, name, numbers, wants)
            self._store(number, rows, np.where(numbers == 0, 0, found))

    def tidy(self) -> None:
        """Forget the sets of rows that are gone, where there are many; for a caller who does not change it yet."""
        full = self._full()
        if not full:
            return
        self.state.access.take()
        try:
            self._keep(full)
        finally:
            self.state.access.give()

    def _full(self) -> list[str]:
        """The streams with many sets; none while a migration may have copies of their rows."""
        full = [name for name in self.core.names if self.lineage.sets[name].is_full]
        return full if full and self.state.changes.quiet else []

    def _keep(self, full: list[str]) -> None:
        """Keep the sets of these streams that their rows have, those of results that nobody has read yet, too."""
        for name in full:
            number = self.core.names.index(name)
            payload = self.state.streams[number].payload
            rows = np.arange(payload.low, payload.next_row)
            self._store(number, rows, self.lineage.keep(name, self._numbers(number, rows)))

    def _live(self, number: int) -> Slots:
        lowwater = self.state.lowwater
        low = max(int(lowwater.lows[number]), int(self.begun[number]))
        return np.arange(low, int(lowwater.counts[number]))

    def _numbers(self, number: int, rows: Slots) -> Slots:
        found: Slots = self.state.streams[number].payload.storage(QUERIES, rows).values
        return found

    def _store(self, number: int, rows: Slots, numbers: Slots) -> None:
        payload = self.state.streams[number].payload
        payload.rings[QUERIES][rows & (payload.capacity - 1)] = numbers
