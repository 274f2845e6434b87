"""A node of a plan whose entries may wait: what it has, what came of it, and what an entry is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.feedback.blacklist import Rows
from eddy.feedback.edge import Edge, counter
from eddy.feedback.payoff import MANY
from eddy.feedback.suppression import Suppression
from eddy.plan.compiler import Streams
from eddy.store.stream import StreamState
from eddy.tracks.binding import Halt, Hop, Recipe
from stairs import Ring, Stair
from stairs.feedback.visit_layout import UNIT
from stairs.lowlevel import struct
from stairs.ring import power_of_two

ROW = 0.05
"""What it takes to make a row known to others, where all else that is done for an event takes 1."""

FOUND = 0.75
"""Of what a composite takes, the part that it takes to find the match, also where it is not stored."""

STEADY = 32_768
"""Partners are counted again when no fewer rows have come: it takes about as long as a short batch."""

SEEN = 4
"""A fan-out is seen only where one entry in SEEN can be found: that of the last few says little."""

MILLION = 1_000_000
"""Kernels count weights in millionths."""


@define(eq=False)
class Tally:
    """Entries so far that came, those that were suspended, and those of them that came back."""

    arrived: int = 0
    suspended: int = 0
    resumed: int = 0
    suppressed: int = 0
    """Of composites: those that were not stored."""
    restored: int = 0
    """Those that were made after all, under the keys of some of these."""

    def add(self, other: Unit) -> None:
        self.suppressed += other.suppressed
        self.restored += other.restored
        self.arrived += other.arrived
        self.suspended += other.suspended
        self.resumed += other.resumed


@define(eq=False)
class Unit:
    """A node whose entries may wait: a stream, or a STAIR."""

    streams: Streams
    halt: Halt
    """Where composites are made; of a stream, the stop of its first join."""
    state: StreamState | None = None
    """Of a stream."""
    stair: Stair | None = None
    """Of composites."""
    recipe: Recipe = None
    """How composites get their key."""
    edges: list[Edge] = field(factory=list, init=False)
    suppression: Suppression | None = field(default=None, init=False)
    """Of composites: by what they are not even stored."""
    above: Unit | None = field(default=None, init=False)
    """What it makes with its sibling."""
    path: list[tuple[Halt, Hop, NDArray[Any] | None]] = field(factory=list, init=False)
    """The STAIRs above, the hops by which its entries get there, and how they get their keys, if from leaves."""
    ways: list[list[tuple[Halt, Hop]]] = field(factory=list, init=False)
    """Where a plan has no tree: for each STAIR that has the stream, the hops that lead there from its rows."""
    dearness: float = field(default=1.0, init=False)
    """How many times as much it takes while it is stored."""
    partners: Callable[[], float] | None = field(default=None, init=False)
    """Counts the rows that a row meets in its sibling, if that is a stream, those that wait included."""
    senior: Unit | None = field(default=None, init=False)
    """That stream, if this one is to wait only where it is not enough that the other does."""
    fanout: float = field(default=0.0, init=False)
    """Composites that an entry makes with its sibling."""
    counted_up_to: tuple[int, int] = field(default=(0, 0), init=False)
    """The next row, and the rows in the window, when these were last counted."""
    counted: tuple[int, int, int] = field(default=(0, 0, 0), init=False)
    """Entries that came, those that could be found, and composites that were made of them, when it was last seen."""
    record: Any = field(factory=lambda: struct.new(UNIT), init=False, repr=False)
    """What kernels know of it."""
    addresses: NDArray[np.int64] = field(factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    """Those of the rows of its edges."""
    woken: Rows = field(init=False, repr=False)
    """Room for what was woken."""
    entries: Ring = field(factory=lambda: Ring(1, hashed=False), init=False, repr=False)
    """Of a stream: those of its rows that are on their way back."""
    _leaves: tuple[int, NDArray[np.int64]] = field(factory=lambda: (-1, np.empty(0, np.int64)), init=False)

    arrived = counter("arrived", "Entries so far that came.")
    suspended = counter("suspended", "Those that were suspended.")
    resumed = counter("resumed", "Those of them that came back.")
    made = counter("made", "Of composites: how many were stored.")

    @property
    def address(self) -> int:
        """Where kernels find what they know of it."""
        return struct.address(self.record)

    @property
    def weight(self) -> float:
        """Of composites: what one takes, where an event takes 1."""
        return float(self.record.weight) / MILLION

    @weight.setter
    def weight(self, weight: float) -> None:
        self.record.weight = round(MILLION * weight)

    def __attrs_post_init__(self) -> None:
        self.record.components = len(self.streams)
        self.woken = np.empty((0, len(self.streams)), np.int32)
        if self.state is not None:
            self.record.stream, self.record.source = self.streams[0], self.state.base.address
        elif self.stair is not None:
            self.record.stair = self.stair.address

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The addresses of a stream's leaves. Plans make and drop leaves."""
        assert self.state is not None
        if self._leaves[0] != self.state.version:
            leaves = np.array([leaf.address for leaf in self.state.stairs.values()], np.int64)
            self._leaves = self.state.version, leaves
            self.record.leaves, self.record.leaf_count = leaves.ctypes.data, len(leaves)
        return self._leaves[1]

    @property
    def suppressed(self) -> int:
        """Composites so far that were not stored."""
        return 0 if self.suppression is None else self.suppression.suspended

    @property
    def restored(self) -> int:
        """Those that were made after all, under the keys of some of these."""
        return 0 if self.suppression is None else self.suppression.resumed

    @property
    def watched(self) -> list[Edge]:
        """Its edges, and the suppression."""
        return self.edges if self.suppression is None else [*self.edges, self.suppression]

    def tell(self) -> None:
        """Let kernels know what its time is charged to."""
        self.addresses = np.array([edge.address for edge in self.watched], np.int64)
        self.record.edges, self.record.edge_count = self.addresses.ctypes.data, len(self.addresses)

    def make_place(self, count: int) -> None:
        """Have room for ``count`` entries that are woken; those that are there already stay."""
        there = int(self.record.woken_count)
        grown = np.empty((power_of_two(count), len(self.streams)), np.int32)
        grown[:there] = self.woken[:there]
        self.woken = grown
        self.record.woken, self.record.woken_room = grown.ctypes.data, len(grown)

    def add_woken(self, rows: Rows) -> None:
        """Let these come back with what was woken."""
        there = int(self.record.woken_count)
        if there + len(rows) > self.record.woken_room:
            self.make_place(there + len(rows))
        self.woken[there : there + len(rows)] = rows
        self.record.woken_count = there + len(rows)

    def worth(self, price: float, alone: bool = False) -> float:
        """Seconds that an entry takes which can be found, where an event takes ``price`` seconds. ``alone``: a match
        that is stored, and makes nothing, beside one that is suppressed."""
        own = ROW if self.state is not None else self.weight * self.dearness
        if alone:
            return price * own * (1 - FOUND)
        if self.above is None:
            return price * own
        if self.partners is None:
            self._see()
        elif self._is_old():
            self.fanout = self.partners()
        far = 2 if self.fanout * self._live > MANY else 1
        return price * (own + self.fanout * self.above.weight * self.above.dearness * far)

    @property
    def seen(self) -> float:
        """The share of a stream's rows that do not wait, as long as the others will go on waiting."""
        if all(edge.resting for edge in self.edges):
            return 1.0
        return max(0.0, 1 - sum(edge.blacklist.waiting for edge in self.edges) / max(1, self._live))

    @property
    def _live(self) -> int:
        """Entries that are there, those that wait included if they are rows."""
        ring = self.stair if self.state is None else self.state.base
        assert ring is not None
        return ring.tail - ring.low

    def _is_old(self) -> bool:
        """Whether half of the rows in the window have come since their partners were counted, or it has doubled."""
        assert self.state is not None
        (upto, live), base = self.counted_up_to, self.state.base
        now = base.tail - base.low
        if base.tail - upto < max(now // 2, STEADY) and now < 2 * live:
            return False
        self.counted_up_to = base.tail, now
        return True

    def _see(self) -> None:
        """See how many composites an entry has made since the last time."""
        assert self.above is not None
        now = self.arrived, self.arrived - self.suspended + self.resumed, self.above.made
        came, found, composites = (new - old for new, old in zip(now, self.counted, strict=True))
        self.counted = now
        if found > 0 and SEEN * found >= came:
            self.fanout = composites / found
