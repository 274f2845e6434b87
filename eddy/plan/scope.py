"""A scope: which composites a plan makes while it shares the work with another.

It is a disjunction of entries, the *characteristics* of HybMig (section 3.2): an entry names some streams and a cut for
each, and a composite is in the scope by it if its rows of these streams are all older than their cuts. A plan with a
scope makes the composites that are in it, and the other plan makes the rest. In Parallel Track the old plan has an
entry for each stream: it makes whatever has an old row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from stairs import Ring
from stairs.ring_kernels import owed

Entry = Mapping[int, int]
"""For some streams the first row that is new."""


def union(entries: Iterable[Entry]) -> list[Entry]:
    """These entries without those that say no more than another: the composites that meet any of them."""
    left: list[Entry] = []
    for entry in entries:
        if not any(_implies(entry, other) for other in left):
            left = [*(other for other in left if not _implies(other, entry)), entry]
    return left


def meet(some: Iterable[Entry], others: Sequence[Entry]) -> list[Entry]:
    """The composites that meet an entry of both: a pair of entries is one entry, with the smaller cuts."""
    return union(both(entry, other) for entry in some for other in others)


def both(entry: Entry, other: Entry) -> Entry:
    """The entry that is met by what meets two."""
    return {**entry, **{s: min(cut, entry.get(s, cut)) for s, cut in other.items()}}


def _implies(entry: Entry, other: Entry) -> bool:
    """Whether whatever meets an entry meets the other one too."""
    return all(s in entry and entry[s] <= cut for s, cut in other.items())


@define(eq=False)
class Scope:
    """The entries that are left, and what was made by them. Steps that have the scope share this object."""

    entries: list[Entry]
    plan: str = ""
    """The plan that makes what is in it, where several plans are one track."""
    turn: int = 0
    """The number of that plan among those that the track has had: another change brings another number."""
    rows: dict[int, int] = field(factory=dict, init=False)
    """Arrivals of each stream that took a step with this scope."""
    results: int = field(default=0, init=False)
    """Results of the query made in it."""

    def excludes(self, streams: Sequence[int]) -> bool:
        """Whether arriving entries of these ``streams`` are too new for it, all of them: they are *disconnected*.

        An arriving entry has a new row. So it violates an entry of the scope that names all of its streams; one that
        names only some may still be met, where the new row is of another stream.
        """
        return all(all(stream in entry for stream in streams) for entry in self.entries)

    def count(self, streams: Sequence[int], arrivals: int, results: int) -> None:
        """Count ``arrivals``, entries of these ``streams`` that took a step, and ``results`` of the query by them."""
        if len(streams) == 1:
            self.rows[streams[0]] = self.rows.get(streams[0], 0) + arrivals
        self.results += results

    def expire(self, lows: Sequence[int]) -> bool:
        """Forget entries that no composite of rows from ``lows`` on can meet; whether there were some."""
        left = [e for e in self.entries if all(lows[stream] < cut for stream, cut in e.items())]
        changed = len(left) < len(self.entries)
        self.entries = left
        return changed

    def admitted(self, ring: Ring, first: int, streams: Sequence[int]) -> NDArray[np.uint8]:
        """1 for each entry of a ring from ``first`` on that is in the scope, by its rows of these ``streams``.

        A composite that lacks streams is in it while rows of these may still bring it there.
        """
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
