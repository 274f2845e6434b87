"""What waits, and for what: the nodes of a plan whose entries may wait, and edges to what they wait for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.feedback.blacklist import Blacklist, Rows
from eddy.feedback.payoff import MANY
from eddy.feedback.presence import Presence
from eddy.plan.compiler import Streams
from eddy.store.stream import StreamState
from eddy.tracks.binding import Halt, Hop, Recipe
from stairs import Ring, Stair
from stairs.feedback import visit_layout as layout
from stairs.feedback.judging_kernels import expect, is_ready, suspend
from stairs.ring import power_of_two

Marks = NDArray[np.int32]
Flags = NDArray[np.uint8]
Keys = NDArray[np.int64]

ROW = 0.05
"""What it takes to make a row known to others, where all else that is done for an event takes 1."""

STEADY = 32_768
"""Partners are counted again when no fewer rows have come: it takes about as long as a short batch."""

SEEN = 4
"""A fan-out is seen only where one entry in so many can be found: that of the last few says little."""

BLOCK = 128
"""Keys that are looked up together."""

NANO, MILLION = 1e-9, 1_000_000
"""Kernels count nanoseconds, and millionths."""


def _counter(place: int, text: str) -> property:
    """A number that kernels count."""

    def get(self: Edge | Unit) -> int:
        return int(self.row[place])

    def set_(self: Edge | Unit, value: int) -> None:
        self.row[place] = value

    return property(get, set_, doc=text)


@define(eq=False)
class Edge:
    """Entries of one node wait for entries of another, with which they meet higher up."""

    streams: Streams
    opposite: Streams
    classes: tuple[int, ...]
    """Key classes that must be there together; none: any entry will do."""
    presence: Presence
    blacklist: Blacklist
    static: bool = False
    """What is waited for is made of static relations only."""
    drop: Callable[[Rows], None] | None = None
    """Takes entries that need not wait, once those relations are loaded: their partners will never come."""
    resting: int = 0
    """Batches for which nothing is judged."""
    patience: int = 0
    """Batches for which it rested the last time."""
    batches: int = 0
    """Since the last review."""
    period: int = 16
    """Batches after which it is reviewed."""
    worth: float = 0.0
    """Seconds that it spares to suspend one entry."""
    row: NDArray[np.int64] = field(factory=lambda: np.zeros(layout.EDGE, np.int64), init=False, repr=False)
    """What kernels know of it."""

    judged = _counter(layout.JUDGED, "Since the last review: entries judged.")
    failed = _counter(layout.FAILED, "Those of them that were suspended.")
    returned = _counter(layout.RETURNED, "Entries that came back.")
    looked = _counter(layout.LOOKED, "Keys that were looked up for that.")
    suspended = _counter(layout.EVER_SUSPENDED, "Entries so far that began to wait here.")
    resumed = _counter(layout.EVER_RESUMED, "Those that were woken.")

    def __attrs_post_init__(self) -> None:
        self.presence.describe(self.row)
        self.row[layout.BLACKLIST] = self.blacklist.address
        self.row[layout.WAITERS_AT] = self.blacklist.streams.ctypes.data

    @property
    def seconds(self) -> float:
        """Time since the last review for judging and waking, and for bringing back."""
        return NANO * int(self.row[layout.NANOSECONDS])

    def rest(self, batches: int) -> None:
        """Judge nothing for so many batches."""
        self.resting = batches
        if batches:
            self.row[layout.AWAKE] = 0
            self.presence.forget()

    def get_up(self) -> None:
        """It has rested."""
        self.resting = 0
        self.row[layout.AWAKE] = self.row[layout.SURE]
        self.review()

    def prepare(self, whole: bool) -> None:
        """Entries are judged unless it rests, or what they wait for has holes. ``whole``: no STAIR has any."""
        sure = whole or self.presence.sure
        self.row[layout.SURE], self.row[layout.AWAKE] = sure, sure and self.resting == 0

    @property
    def awake(self) -> bool:
        """Whether entries are judged."""
        return bool(self.row[layout.AWAKE])

    def renew(self) -> None:
        """Make anew what is kept beside the STAIR that is waited for."""
        self.presence.renew()
        expect(self.row)

    def make_ready(self) -> None:
        """The same, if it cannot take all that the STAIR has."""
        if not is_ready(self.row):
            self.renew()

    def suspend(self, rows: Rows, keys: Keys, flags: Flags, count: int) -> None:
        """Let the entries wait that are flagged as lacking something, so many; their flags are cleared."""
        self.suspended += count
        self.blacklist.make_place(count)
        suspend(self.row, rows, keys, flags)

    def wake_all(self, marks: NDArray[np.int32]) -> Rows:
        """All that wait."""
        found = self.blacklist.wake_all(marks)
        self.resumed += len(found)
        return found

    def wake_some(self, marks: NDArray[np.int32], count: int) -> Rows:
        """Some of all that wait, the oldest first."""
        found = self.blacklist.wake_some(marks, count)
        self.resumed += len(found)
        return found

    def review(self) -> None:
        """What was counted has been seen to."""
        self.batches = self.judged = self.failed = self.returned = self.looked = 0
        self.row[layout.NANOSECONDS] = 0


@define(eq=False)
class Tally:
    """Entries so far that came, those that were suspended, and those of them that came back."""

    arrived: int = 0
    suspended: int = 0
    resumed: int = 0

    def add(self, other: Unit) -> None:
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
    edges: list[Edge] = field(factory=list)
    above: Unit | None = None
    """What it makes with its sibling."""
    path: list[tuple[Halt, Hop, NDArray[np.int64] | None]] = field(factory=list)
    """The STAIRs above, the hops by which its entries get there, and how they get their keys, if from leaves."""
    ways: list[list[tuple[Halt, Hop]]] = field(factory=list)
    """The same where a plan has no tree: for each STAIR that has the stream, the hops that lead there from its rows."""
    dearness: float = 1.0
    """How many times as much it takes while it is stored."""
    partners: Callable[[], float] | None = None
    """Counts the rows that a row meets in its sibling, if that is a stream, those that wait included."""
    senior: Unit | None = None
    """That stream, if this one is to wait only where it is not enough that the other does."""
    fanout: float = 0.0
    """Composites that an entry makes with its sibling."""
    counted_up_to: tuple[int, int] = (0, 0)
    """The next row, and the rows in the window, when these were last counted."""
    counted: tuple[int, int, int] = (0, 0, 0)
    """Entries that came, those that could be found, and composites that were made of them, when it was last seen."""
    row: NDArray[np.int64] = field(factory=lambda: np.zeros(layout.UNIT, np.int64), init=False, repr=False)
    """What kernels know of it."""
    addresses: NDArray[np.int64] = field(factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    """Those of the rows of its edges."""
    woken: Rows = field(init=False, repr=False)
    """Room for what was woken."""
    entries: Ring = field(factory=lambda: Ring(1, hashed=False), init=False, repr=False)
    """Of a stream: those of its rows that are on their way back."""
    _leaves: tuple[int, NDArray[np.int64]] = field(factory=lambda: (-1, np.empty(0, np.int64)), init=False)

    arrived = _counter(layout.ARRIVED, "Entries so far that came.")
    suspended = _counter(layout.SUSPENDED, "Those that were suspended.")
    resumed = _counter(layout.RESUMED, "Those of them that came back.")
    made = _counter(layout.MADE, "Of composites: how many were stored.")

    @property
    def weight(self) -> float:
        """Of composites: what one takes, where an event takes 1."""
        return float(self.row[layout.WEIGHT]) / MILLION

    @weight.setter
    def weight(self, weight: float) -> None:
        self.row[layout.WEIGHT] = round(MILLION * weight)

    def __attrs_post_init__(self) -> None:
        self.row[layout.COMPONENTS] = len(self.streams)
        self.woken = np.empty((0, len(self.streams)), np.int32)
        if self.state is not None:
            self.row[layout.STREAM], self.row[layout.SOURCE] = self.streams[0], self.state.base.address
        elif self.stair is not None:
            self.row[layout.STAIR] = self.stair.address

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The addresses of a stream's leaves. Plans make and drop leaves."""
        assert self.state is not None
        if self._leaves[0] != self.state.version:
            leaves = np.array([leaf.address for leaf in self.state.stairs.values()], np.int64)
            self._leaves = self.state.version, leaves
            self.row[layout.LEAVES_AT], self.row[layout.LEAVES] = leaves.ctypes.data, len(leaves)
        return self._leaves[1]

    def tell(self) -> None:
        """Let kernels know of its edges."""
        self.addresses = np.array([edge.row.ctypes.data for edge in self.edges], np.int64)
        self.row[layout.EDGES_AT], self.row[layout.EDGES] = self.addresses.ctypes.data, len(self.edges)

    def make_place(self, count: int) -> None:
        """Have room for so many entries that are woken; those that are there already stay."""
        there = int(self.row[layout.WOKEN])
        grown = np.empty((power_of_two(count), len(self.streams)), np.int32)
        grown[:there] = self.woken[:there]
        self.woken = grown
        self.row[layout.WOKEN_AT], self.row[layout.WOKEN_ROOM] = grown.ctypes.data, len(grown)

    def worth(self, price: float) -> float:
        """Seconds that an entry takes which can be found, where an event takes so many."""
        own = ROW if self.state is not None else self.weight * self.dearness
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
