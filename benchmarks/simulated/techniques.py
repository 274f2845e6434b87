"""Techniques as the papers describe them, where the library departs: idle time, and how tuples are purged."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from attrs import define, field, frozen

import eddy
from benchmarks.simulated.feed import Feed, Int64s
from policies import Ghm, HybMig, Migration
from policies.migration.base import Change


@frozen
class IdleHybMig(HybMig):
    """Background state computation with idle cycles alone (HybMig, section 3.4): a key each time that nothing has
    come. The library computes some after every batch, whoever waits."""

    def work(self, change: Change) -> None:
        change.expire()
        if change.last == 0 and change.running:
            change.compute(1)


@frozen
class IdleGhm(Ghm):
    """The new plan has low priority (HybMig, section 4.3): it takes an event off its queue when nothing has come."""

    def work(self, change: Change) -> None:
        box = change.boxed
        if box is None or change.last:
            return
        box.drain(1)
        if box.behind == 0:
            change.swap()


@define
class PurgedTrack(Migration):
    """Parallel Track in the paper's order, which goes on for so many ``events``: see `purged_after`. The library ends
    it when the old rows have left their windows."""

    events: int
    _come: int = field(default=0, init=False)

    joins_only: ClassVar[bool] = True

    @property
    def holds(self) -> bool:
        return True

    def begin(self, change: Change) -> None:
        change.fork(held=True)

    def work(self, change: Change) -> None:
        self._come += change.last
        if self._come >= self.events:
            change.expire()


@frozen
class Old:
    """Tuples of a state: the least and the greatest time of each."""

    least: Int64s
    most: Int64s


def purged_after(feed: Feed, query: Callable[[str], eddy.Query], order: str, change: int, window: int) -> int:
    """After how many events from the change on no state of a left-deep plan holds an old tuple, if states are purged
    as Zhu et al. print it (Lemma 2.2): a tuple leaves when one comes from the other side whose least time is more than
    the window after its greatest. A tuple is old that has an old part.

    The states and what comes are those of the feed: composites are found by engines for the lower joins, whose queries
    ``query`` makes.
    """
    ended = 0
    for k in range(1, len(order)):
        left, right = _tuples(feed, query, order[:k]), _tuples(feed, query, order[k])
        for state, comes in ((left, right), (right, left)):
            ended = max(ended, _purged(state, comes, int(feed.times[change]), window))
    return int(np.searchsorted(feed.times, ended, "right")) - change


def _tuples(feed: Feed, query: Callable[[str], eddy.Query], streams: str) -> Old:
    """All tuples of some streams that ever were, in the order in which they were made."""
    if len(streams) == 1:
        own = feed.times[feed.streams == feed.names.index(streams)]
        return Old(own, own)
    engine = eddy.Eddy(query(streams))
    found = [engine.push_all(batch) for batch in _of(feed, streams)]
    times = np.array([np.concatenate([r.column(f"{name}.ts").to_numpy() for r in found]) for name in streams])
    return Old(times.min(axis=0), times.max(axis=0))


def _of(feed: Feed, streams: str) -> list[dict[str, dict[str, Int64s]]]:
    batches = feed.batches(0, len(feed), 256)
    return [{name: rows for name, rows in batch.items() if name in streams} for batch in batches]


def _purged(state: Old, comes: Old, start: int, window: int) -> int:
    """When the last old tuple leaves the state; a tuple comes when its last part does."""
    old = state.most[state.least < start]
    if not len(old):
        return start
    later = comes.most[comes.least - old.max() > window]
    return int(later.min()) if len(later) else int(comes.most.max())
