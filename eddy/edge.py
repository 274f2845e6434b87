"""What waits, and for what: the nodes of a plan whose entries may wait, and edges to what they wait for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.binding import Halt, Hop, Recipe
from eddy.blacklist import Blacklist, Rows
from eddy.itinerary import Streams
from eddy.leaf import StreamState
from eddy.payoff import MANY
from eddy.presence import Flags, Marks, Moments, Presence
from stairs import Stair

ROW = 0.05
"""What it takes to make a row known to others, where all else that is done for an event takes 1."""

SEEN = 4
"""A fan-out is seen only where one entry in so many can be found: that of the last few says little."""

FEW = 32
"""What waits is judged again, instead of looking for what has come, where that is so many times as much."""

UNUSUAL = 4
"""On a shared machine a thread may have to wait: no more than so many times what is usual counts."""

LACKING = 2
"""Flag of an entry for which something is missing, at the first edge; at the next one it is one more."""


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
    judged: int = 0
    failed: int = 0
    returned: int = 0
    looked: int = 0
    """Since the last review: entries judged, those suspended, those that came back, and keys looked up for that."""
    seconds: float = 0.0
    """Time since then for all this, and for bringing back."""
    usual: float = 0.0
    """About how long one thing takes."""
    period: int = 16
    """Batches after which it is reviewed."""
    worth: float = 0.0
    """Seconds that it spares to suspend one entry."""
    suspended: int = 0
    resumed: int = 0
    """Entries so far that began to wait here, and those that were woken."""

    @property
    def awake(self) -> bool:
        """Whether entries are judged: not while it rests, nor while what they wait for has holes."""
        return self.resting == 0 and self.presence.sure

    def rest(self, batches: int) -> None:
        """Judge nothing for so many batches."""
        self.resting = batches
        if batches:
            self.presence.forget()

    def judge(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags) -> int:
        """Suspend entries, of those with flag 1, for which nothing is there at their moments; how many."""
        failed = self.presence.find(rows, marks, moments, flags, LACKING)
        if failed:
            self.suspend(rows, flags, LACKING, failed)
        return failed

    def suspend(self, rows: Rows, flags: Flags, lacking: int, count: int) -> None:
        """Let the entries wait that are flagged as lacking something, so many, or drop them if that is in vain."""
        self.suspended += count
        if self.drop is None:
            self.blacklist.suspend(rows, self.presence.wanted, flags, lacking, count)
        else:
            self.drop(rows[flags == lacking])
            flags[flags == lacking] = 0

    def wake(self, revealed: NDArray[np.int32], marks: Marks) -> Rows:
        """Entries that wait for something which this batch has brought; they do not wait here any longer.

        ``marks``: those before the batch.
        """
        new = len(revealed) + len(self.presence.stair)
        if FEW * self.blacklist.waiting < new and self.presence.sure:
            found = self._ask_again(marks)
        elif new:
            self.looked += new
            found = self.presence.wake(self.blacklist, revealed, marks[0])
        else:
            return np.empty((0, len(self.streams)), np.int32)
        self.returned += len(found)
        self.resumed += len(found)
        return found

    def _ask_again(self, marks: Marks) -> Rows:
        """The same by judging what waits, where it is much less than what has come."""
        rows = np.ascontiguousarray(self.blacklist.wake_all(marks[0]))
        flags, moments = np.ones(len(rows), np.uint8), np.zeros(len(rows), np.int32)
        lacking = self.presence.find(rows, marks, moments, flags, LACKING)
        self.looked += len(rows)
        if lacking:
            self.blacklist.suspend(rows, self.presence.wanted, flags, LACKING, lacking)
        return rows[flags.view(np.bool_)]

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

    def charge(self, seconds: float) -> None:
        """Something that was done here took so long; much longer than usual, it was somebody else who did that."""
        self.seconds += min(seconds, UNUSUAL * self.usual) if self.usual else seconds
        self.usual += (seconds - self.usual) / 8 if self.usual else seconds

    def review(self) -> None:
        """What was counted has been seen to."""
        self.batches = self.judged = self.failed = self.returned = self.looked = 0
        self.seconds = 0.0


@define(eq=False)
class Tally:
    """Entries so far that came, those that were suspended, and those of them that came back."""

    arrived: int = 0
    suspended: int = 0
    resumed: int = 0

    def add(self, other: Tally) -> None:
        self.arrived += other.arrived
        self.suspended += other.suspended
        self.resumed += other.resumed


@define(eq=False)
class Unit(Tally):
    """A node whose entries may wait: a stream, or a STAIR."""

    streams: Streams = field(kw_only=True)
    halt: Halt = field(kw_only=True)
    """Where composites are made; of a stream, the stop of its first join."""
    state: StreamState | None = field(default=None, kw_only=True)
    """Of a stream."""
    stair: Stair | None = field(default=None, kw_only=True)
    """Of composites."""
    recipe: Recipe = field(default=None, kw_only=True)
    """How composites get their key."""
    edges: list[Edge] = field(factory=list)
    above: Unit | None = None
    """What it makes with its sibling."""
    path: list[tuple[Halt, Hop, NDArray[np.int64] | None]] = field(factory=list)
    """The STAIRs above, the hops by which its entries get there, and how they get their keys, if from leaves."""
    ways: list[list[tuple[Halt, Hop]]] = field(factory=list)
    """The same where a plan has no tree: for each STAIR that has the stream, the hops that lead there from its rows."""
    weight: float = 0.0
    """Of composites: what one takes, where an event takes 1."""
    dearness: float = 1.0
    """How many times as much it takes while it is stored."""
    made: int = 0
    """Of composites: how many were stored."""
    partners: Callable[[], float] | None = None
    """Counts the rows that a row meets in its sibling, if that is a stream."""
    fanout: float = 0.0
    """Composites that an entry makes with its sibling."""
    counted_up_to: int = 0
    """The next row when these were last counted."""
    counted: tuple[int, int, int] = (0, 0, 0)
    """Entries that came, those that could be found, and composites that were made of them, when it was last seen."""
    _leaves: tuple[int, NDArray[np.int64]] = field(factory=lambda: (-1, np.empty(0, np.int64)), init=False)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The addresses of a stream's leaves. Plans make and drop leaves."""
        assert self.state is not None
        if self._leaves[0] != self.state.version:
            addresses = np.array([leaf.address for leaf in self.state.stairs.values()], np.int64)
            self._leaves = self.state.version, addresses
        return self._leaves[1]

    def judge(self, rows: Rows, marks: Marks, moments: Moments, flags: Flags, left: int) -> int:
        """Suspend entries, of so many with flag 1, for which something is missing, and clear their flags; how many."""
        before = left
        for edge in self.edges:
            if left and edge.awake:
                failed = edge.judge(rows, marks, moments, flags)
                edge.judged += left
                edge.failed += failed
                left -= failed
        return before - left

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
    def _live(self) -> int:
        """Entries that are there, those that wait included if they are rows."""
        ring = self.stair if self.state is None else self.state.base
        assert ring is not None
        return ring.tail - ring.low

    def _is_old(self) -> bool:
        """Whether half of the rows in the window have come since their partners were counted."""
        assert self.state is not None
        base = self.state.base
        if 2 * (base.tail - self.counted_up_to) < base.tail - base.low:
            return False
        self.counted_up_to = base.tail
        return True

    def _see(self) -> None:
        """See how many composites an entry has made since the last time."""
        assert self.above is not None
        now = self.arrived, self.arrived - self.suspended + self.resumed, self.above.made
        came, found, composites = (new - old for new, old in zip(now, self.counted, strict=True))
        self.counted = now
        if found > 0 and SEEN * found >= came:
            self.fanout = composites / found
