"""The results of a batch out of all shards: each has its own in order, and they are merged by their latest events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eddy.chunks import chunks
from eddy.types import Array

if TYPE_CHECKING:
    from eddy.shard import Shard

Found = tuple[Array, Array]
"""Events, and a line of row numbers for each."""


def read(shards: Sequence[Shard], ring: int) -> list[Found]:
    """What each shard has in a ring now."""
    return [shard.reader(shard.router.results[ring])() for shard in shards]


def long_way(shards: Sequence[Shard], width: int, ring: int) -> Callable[[], Array]:
    """What reads the rows of a batch that shards have done by themselves."""
    readers = [shard.reader(shard.router.results[ring]) for shard in shards]
    return lambda: merged(width, [reader() for reader in readers])[1]


def short_way(
    shards: Sequence[Shard], ring: int, maps: NDArray[np.int32], told: Array
) -> Callable[[], Array]:
    """The same of a batch that kernels have done: ``told`` is what they say of it, ``maps`` where the events are."""
    states = [shard.router.results[ring].state for shard in shards]

    def rows() -> Array:
        found = []
        for c, shard in enumerate(shards):
            got, made = told[c, :2].tolist()
            found.append(shard.read(states[c], 0, made, maps[c, :got], told[c, 2:]))
        return merged(told.shape[1] - 2, found)[1]

    return rows


def pieces(shards: Sequence[Shard], width: int, max_rows: int, ring: int) -> Iterator[Array]:
    """The rows of a batch that was run without results, in parts of bounded size."""
    most = max(1, max_rows // len(shards))
    heads = []
    for shard in shards:
        if len(shard.events):
            source = (shard.reader(found)() for found in chunks(shard.router, most, ring))
            head = next(source, None)
            if head is not None:
                heads.append((shard, source, *head))
    while heads:
        bound = min(events[-1] for _, _, events, _ in heads)
        taken, left = [], []
        for shard, source, events, rows in heads:
            at = int(np.searchsorted(events, bound, side="right"))
            taken.append((events[:at], rows[:at]))
            shard.made += at
            head = (events[at:], rows[at:]) if at < len(events) else next(source, None)
            if head is not None:
                left.append((shard, source, *head))
        whole = merged(width, taken)[1]
        for start in range(0, len(whole), max_rows):
            yield whole[start : start + max_rows]
        heads = left


def merged(width: int, parts: Sequence[Found]) -> Found:
    """Events and rows of several in the order of the events."""
    events = np.concatenate([np.empty(0, np.int32), *(events for events, _ in parts)])
    rows = np.concatenate([np.empty((0, width), np.int64), *(rows for _, rows in parts)])
    order = np.argsort(events, kind="stable")
    return events[order], rows[order]
