"""What a track still owes while another is taking over.

A duty is a disjunction of entries, the *characteristics* of HybMig (section 3.2): an entry names some streams and a
cut for each, and a composite fulfils it if its rows of these streams are all older than their cuts. The track makes
the composites that fulfil one of the entries, and the other track makes the rest. Parallel Track is the case of one
entry for each stream: its old plan makes whatever has an old row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from stairs import Ring
from stairs.ring_kernels import owed

Entry = Mapping[int, int]
"""For some streams the first row that is new."""


@define(eq=False)
class Duty:
    """The entries that are left."""

    entries: list[Entry]
    rows: dict[int, int] = field(factory=dict, init=False)
    """Arrivals of each stream that were processed under this duty."""
    results: int = field(default=0, init=False)
    """Results of the query made under it."""

    def skips(self, streams: Sequence[int]) -> bool:
        """Whether what arrives, made of these streams, is too new for every entry: they are *disconnected*.

        One of its rows is new. So an entry that names all of the streams is violated; one that names only some may
        still be fulfilled, by an older row of these.
        """
        return all(all(stream in entry for stream in streams) for entry in self.entries)

    def count(self, streams: Sequence[int], arrivals: int, results: int) -> None:
        """So many entries of these streams were processed, and gave so many results of the query."""
        if len(streams) == 1:
            self.rows[streams[0]] = self.rows.get(streams[0], 0) + arrivals
        self.results += results

    def expire(self, lows: Sequence[int]) -> bool:
        """Forget entries that no live composite can fulfil any more; whether there were some."""
        left = [e for e in self.entries if all(lows[stream] < cut for stream, cut in e.items())]
        changed = len(left) < len(self.entries)
        self.entries = left
        return changed

    def fulfilled(self, ring: Ring, first: int, streams: Sequence[int]) -> NDArray[np.uint8]:
        """1 for each entry of a ring from ``first`` on that may still fulfil the duty, by the rows it has."""
        cuts = [[entry.get(stream, 0) for stream in streams] for entry in self.entries]
        named = [[stream in entry for stream in streams] for entry in self.entries]
        kept = np.zeros(ring.tail - first, np.uint8)
        shape = (len(self.entries), len(streams))
        owed(
            ring.state,
            first,
            np.array(cuts, np.int64).astype(np.int32).reshape(shape),
            np.array(named, np.int32).reshape(shape),
            kept,
        )
        return kept
