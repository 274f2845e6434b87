"""A memory budget: keys that pay least for their space become holes.

Rows in the windows are the data and stay. Composites can always be made again, so they are what gives way: results
are the same, and the engine gets slower instead of dying.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eddy.log.events import Log
from eddy.router.router import Router
from stairs import Stair
from stairs.holes import Keys

EVERY = 8
"""Batches from one look at the memory to the next, unless a STAIR has grown."""

AIM = 0.75
"""Share of what composites may take that is left after a demotion, so that the next one is some batches away."""

HALF = 0.5
"""Share of the slots that are left to a STAIR that its entries may use at first."""


class Budget:
    """Keeps an engine within a number of bytes, as far as that can be had by demotion.

    It looks between batches; what one batch makes is not foreseen, and may exceed it for that long.
    """

    def __init__(self, limit: int, log: Log | None = None) -> None:
        self.limit = limit
        self.log = log
        """Who is told; nobody of what a shard does by itself."""
        self.demoted = 0
        """Keys that were made holes."""
        self.every = EVERY
        self._batches = self._slots = 0

    def keep(self, router: Router, others: Callable[[], int]) -> None:
        """A batch is about to begin. ``others`` tells the bytes outside the STAIRs of composites."""
        self._batches += 1
        stairs, floor = [*router.stairs.values()], router.moment.floor[0]
        crowded = [stair.crowded(floor) for stair in stairs]
        slots = sum([stair.capacity for stair in stairs])
        if self._batches % self.every and slots <= self._slots and not any(crowded):
            return
        self._slots = slots
        outside = others()
        if not router.alone:
            self.judge(outside + sum(stair.nbytes for stair in stairs))
            return  # what a plan makes for another cannot be made again from the rows: demotion waits until it is alone
        sizes = [
            stair.nbytes + (stair.slot_bytes if full else 0)
            for stair, full in zip(stairs, crowded, strict=True)
        ]
        allowed, demoted = max(0, self.limit - outside), self.demoted
        if sum(sizes) <= allowed:
            self.judge(outside)
            return
        for stair, size, share in zip(stairs, sizes, _shares(sizes, AIM * allowed), strict=True):
            if size > share:
                self.demoted += _reduce(stair, min(share, stair.nbytes), floor)
        self.note(self.demoted - demoted)
        self.judge(outside + sum(stair.nbytes for stair in stairs))

    def note(self, demoted: int) -> None:
        """So many keys have become holes."""
        if demoted and self.log is not None:
            self.log.tell("memory budget reached", budget=self.limit, keys=demoted)

    def judge(self, held: int) -> None:
        """So many bytes are held, now that all has given way that can."""
        if held > self.limit and self.log is not None:
            self.log.tell("memory budget cannot be kept", budget=self.limit, bytes=held)

    @property
    def due(self) -> bool:
        """Whether it is time for a look, of an executor that has no use for `keep`: every few batches."""
        self._batches += 1
        return not self._batches % self.every


def _shares(sizes: list[int], room: float) -> list[float]:
    """Room for each: small ones keep what they have, large ones share the rest evenly."""
    shares = [0.0] * len(sizes)
    left = len(sizes)
    for i in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[i] = min(sizes[i], room / left)
        room -= shares[i]
        left -= 1
    return shares


def _reduce(stair: Stair, size: float, floor: NDArray[np.int32]) -> int:
    """Demote keys of a STAIR until it fits into ``size`` bytes; how many.

    Those go first that have had no new composite for the longest time: least is done for them, and what they hold is
    about to leave the windows.
    """
    room = max(0.0, size - (stair.nbytes - stair.slot_bytes))
    most = HALF * room / stair.slot_bytes * stair.capacity  # entries; what is asked for comes back
    keys = stair.hole_keys(stair.low, stair.tail)[stair.linked(stair.low, stair.tail)]
    victims = _longest_silent(keys, most)
    stair.demote(victims)
    stair.pack(floor)
    return len(victims)


def _longest_silent(keys: Keys, most: float) -> Keys:
    """The keys to give up so that at most so many entries are left; ``keys`` are those of entries, oldest first."""
    found, newest, counts = np.unique(keys[::-1], return_index=True, return_counts=True)
    order = np.argsort(newest)  # most recent first
    kept = np.searchsorted(np.cumsum(counts[order]), most, side="right")
    return found[order[kept:]]
