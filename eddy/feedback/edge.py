"""What waits, and for what: the nodes of a plan whose entries may wait, and edges to what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from eddy.feedback.blacklist import Blacklist, Rows
from eddy.feedback.presence import Presence
from eddy.plan.compiler import Streams
from stairs.feedback.judging_kernels import expect_at, is_ready_at, suspend_at
from stairs.feedback.visit_layout import EDGE
from stairs.lowlevel import struct

Marks = NDArray[np.int32]
Flags = NDArray[np.uint8]
Keys = NDArray[np.int64]

BLOCK = 128
"""Keys that are looked up together."""

NANO = 1e-9
"""Kernels count nanoseconds."""


def counter(name: str, text: str) -> property:
    """A number that kernels count, in the field ``name`` of what they know of an edge or of a unit."""

    def get(self: Any) -> int:
        return int(getattr(self.record, name))

    def set_(self: Any, value: int) -> None:
        setattr(self.record, name, value)

    return property(get, set_, doc=text)


@define(eq=False)
class Edge:
    """Entries of one node wait for entries of another, with which they meet higher up."""

    pairs: ClassVar[bool] = False
    """Whether it leaves out pairs, where others let entries wait."""
    streams: Streams
    opposite: Streams
    classes: tuple[int, ...]
    """Key classes that must be there together; none: any entry will do."""
    presence: Presence
    blacklist: Blacklist
    static: bool = False
    """What is waited for is made of static relations only."""
    drop: Callable[[Rows], None] | None = field(default=None, init=False)
    """Takes entries that need not wait, once those relations are loaded: their partners will never come."""
    resting: int = field(default=0, init=False)
    """Batches for which nothing is judged."""
    patience: int = field(default=0, init=False)
    """Batches for which it rested the last time."""
    batches: int = field(default=0, init=False)
    """Since the last review."""
    period: int = field(default=16, init=False)
    """Batches after which it is reviewed."""
    worth: float = field(default=0.0, init=False)
    """Seconds that it spares to suspend one entry."""
    record: Any = field(factory=lambda: struct.new(EDGE), init=False, repr=False)
    """What kernels know of it."""

    judged = counter("judged", "Since the last review: entries judged.")
    failed = counter("failed", "Those of them that were suspended.")
    returned = counter("returned", "Entries that came back.")
    looked = counter("looked", "Keys that were looked up for that.")
    suspended = counter("suspended", "Entries so far that began to wait here.")
    resumed = counter("resumed", "Those that were woken.")

    def __attrs_post_init__(self) -> None:
        self.presence.describe(self.record)
        self.record.blacklist = self.blacklist.address
        self.record.waiting_streams = self.blacklist.streams.ctypes.data

    @property
    def address(self) -> int:
        """Where kernels find what they know of it."""
        return struct.address(self.record)

    @property
    def seconds(self) -> float:
        """Time since the last review for judging and waking, and for bringing back."""
        return NANO * float(self.record.nanoseconds)

    def rest(self, batches: int) -> None:
        """Judge nothing for as many ``batches``."""
        self.resting = batches
        if batches:
            self.record.awake = 0
            self.presence.forget()
            self.blacklist.give_back()

    def get_up(self) -> None:
        """It has rested."""
        self.resting = 0
        self.record.awake = self.record.sure
        self.count_anew()

    def prepare(self, whole: bool) -> None:
        """Entries are judged unless it rests, or what they wait for has holes. ``whole``: no STAIR has any."""
        sure = whole or self.presence.sure
        self.record.sure, self.record.awake = sure, sure and self.resting == 0

    @property
    def awake(self) -> bool:
        """Whether entries are judged."""
        return bool(self.record.awake)

    def renew(self) -> None:
        """Make anew what is kept beside the STAIR that is waited for."""
        self.presence.renew()
        expect_at(self.address)

    def make_ready(self) -> None:
        """Make anew what is kept beside the STAIR, if it cannot take all that the STAIR has."""
        if not is_ready_at(self.address):
            self.renew()

    def suspend(self, rows: Rows, keys: Keys, flags: Flags, count: int) -> None:
        """Let the ``count`` entries wait that are flagged as lacking something; their flags are cleared."""
        self.suspended += count
        self.blacklist.make_place(count)
        suspend_at(self.address, rows, keys, flags)

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

    def count_anew(self) -> None:
        """What was counted has been seen to."""
        self.batches = self.judged = self.failed = self.returned = self.looked = 0
        self.record.nanoseconds = 0
