"""Sets of queries, each with a number that the rows which they want are stored with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
"""Some queries, by their numbers, ascending."""
LEAST = 1 << 10
"""Queries in all sets together below which none is forgotten."""
OF_A_SET = 40
"""Bytes that a set has beside its queries, as numbers that are 8 bytes long."""


class Sets:
    """Sets of queries; 0 is the empty one, of rows that nobody wants.

    A row of which the last query was dropped is another matter: it is in STAIRs, and has a set without queries that is
    not 0.
    """

    def __init__(self) -> None:
        self.members: list[Slots] = [np.empty(0, np.int64)]
        """The queries of each set, ascending."""
        self._numbers: dict[bytes, int] = {self.members[0].tobytes(): 0}
        self._size, self._enough = 0, LEAST

    def __len__(self) -> int:
        return len(self.members)

    def number(self, queries: Slots) -> int:
        """The number of a set."""
        queries = np.ascontiguousarray(queries, np.int64)
        found = self._numbers.setdefault(queries.tobytes(), len(self.members))
        if found == len(self.members):
            self._append(queries)
        return found

    def _append(self, queries: Slots) -> None:
        self.members.append(queries)
        self._size += len(queries) + OF_A_SET // 8

    @property
    def is_full(self) -> bool:
        """Whether it has become so large that sets of rows which are gone should be forgotten."""
        return self._size > self._enough

    def keep(self, used: Slots, queries: Slots, rows: int) -> Slots:
        """Forget all sets but those ``used``, and in them all but these ``queries``.

        Returns the new numbers by the old. ``rows``: how many rows there are, so that it is not asked too often.
        """
        old, found, nobody = self.members, np.zeros(len(self.members), np.int64), 0
        self.members, self._numbers, self._size = old[:1], {old[0].tobytes(): 0}, 0
        for number in used[used > 0].tolist():
            left = old[number][np.isin(old[number], queries)]
            if len(left):
                found[number] = self.number(left)
            else:
                if not nobody:
                    nobody = len(self.members)
                    self._append(left)
                found[number] = nobody
        self._enough = max(LEAST, 2 * self._size, rows)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes that it holds; a set is there twice, as queries and as what it is found by."""
        return 16 * self._size
