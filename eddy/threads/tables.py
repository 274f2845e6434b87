"""The shards of an engine as tables for the kernels that take a batch in without Python.

This works while every shard is in its ordinary state: one plan, no holes, nothing that waits, and a plan of probes
alone. Else, and for the odd batch that needs more room, shards go the long way (`Shard.process`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy.intake.intake import Part
from eddy.intake.travel import ROW
from eddy.router.sequence import KernelSequence, can_run_in_kernels
from eddy.threads import layout
from eddy.threads.deal_kernels import look_up
from eddy.tracks.tracks import RESULT_RINGS
from eddy.values.types import Array
from stairs.lowlevel import struct
from stairs.lowlevel.address import address_of, handle

if TYPE_CHECKING:
    from eddy.threads.crew import Crew
    from eddy.threads.shard import Shard


def ordinary(shard: Shard) -> bool:
    """Whether kernels alone can do the batches of a shard: nothing is told to what would see to it between two."""
    router, state = shard.router, shard.state
    return (
        router.suspension is None
        and not shard.changes.under_way
        and state.budget is None
        and all(list(stream.payload.columns) == [ROW] for stream in router.streams)
        and can_run_in_kernels(router)
        and all(len(key.classes) == 1 for stream in router.streams for key in stream.stairs)
    )


class Fast:
    """Tables of all shards, for batches of up to ``most`` events."""

    def __init__(self, crew: Crew, most: int) -> None:
        self.crew, self.most = crew, most
        query, shards = crew.query, crew.shards
        n, k = len(query.names), len(shards)
        self._classes = [[c.index for c in query.key_classes if name in c.members] for name in query.names]
        classes = max(map(len, self._classes))
        self.tables = np.zeros((RESULT_RINGS, k), layout.SHARD)
        self.table = self.tables[0]
        """The shards; there is a table for each of the result rings, which differ in what depends on them."""
        self.streams = np.zeros((k, n), layout.SHARD_STREAM)
        portion = min(most, crew.portion)
        self._marks = np.empty((k, most, n), np.int32)
        self._flags = np.empty((k, portion + 16), np.uint8)
        self.lows = np.empty((k, n), np.int64)
        """Low-water rows before a batch."""
        self._sequences: list[KernelSequence] = []
        self._ring = 0
        """Where results go."""
        self._events = np.empty((k, n, portion + 1), np.int32)
        self._numbers = np.empty((k, n, portion + 1), np.int64)
        self._keys = np.empty((k, n, classes, portion + 1), np.int64)
        self._cuts = np.zeros((-(-most // portion) + 1, n), np.int64)
        self._ranks_held: list[Array] = []
        self._held: list[object] = []
        """What the tables name by address or handle."""
        self.parts = np.zeros(n, layout.BATCH_PART)
        """The streams of a batch."""
        self._part_lines = struct.lines(self.parts)
        self._part_keys = np.zeros((n, classes), np.int64)
        """Where their keys are, by class."""
        self._key_places = np.zeros((k, n, classes), np.int64)
        """Where keys of shards' rows are, by class."""
        self._dimensions = self._grid()
        self._dirty = False
        for c, shard in enumerate(shards):
            self._enter(c, shard)
        self._at = [table.ctypes.data for table in self.tables]
        mailbox = crew.team.mailbox
        mailbox.count, mailbox.width = k, n
        self._parts_at = self.parts.ctypes.data
        mailbox.parts, mailbox.cuts = self._parts_at, self._cuts.ctypes.data

    @property
    def nbytes(self) -> int:
        """Room for batches: what shards hold between them is their own."""
        rooms: list[NDArray[Any]] = [self._marks, self._events, self._numbers, self._keys, self._cuts]
        return sum(room.nbytes for room in (*rooms, *self._ranks_held))

    def _grid(self) -> NDArray[Any]:
        """The dimensions of each stream, which are told to the parts."""
        deal = self.crew.deal
        dimensions = np.zeros((len(self._classes), len(deal.shares)), layout.DIMENSION)
        for s, (part, classes) in enumerate(zip(self._part_lines, self._classes, strict=True)):
            found = deal.dimensions(s)
            for line, (d, index) in zip(struct.lines(dimensions[s]), found, strict=False):
                line.key, line.salt, line.number = -1 if index is None else classes.index(index), d, d
            part.class_count, part.keys = len(classes), self._part_keys[s].ctypes.data
            part.dimension_count, part.dimensions = len(found), dimensions[s].ctypes.data
        return dimensions

    def _enter(self, c: int, shard: Shard) -> None:
        """Write a shard's line."""
        state, router, line = shard.state, shard.router, struct.new(layout.SHARD)
        lowwater, sequence = state.lowwater, router.kernels
        assert sequence is not None, "a shard has tables in its ordinary state only"
        self._sequences.append(sequence)
        for stream, own in zip(router.streams, struct.lines(self.streams[c]), strict=True):
            s = stream.number
            ring, events, ranks = stream.payload.rings[ROW], self._events[c, s], self._ranks(shard, s)
            own.events, own.numbers = events.ctypes.data, self._numbers[c, s].ctypes.data
            own.held, own.capacity = ring.ctypes.data, len(ring)
            own.next_row, own.first_kept = stream.payload.next_row, stream.payload.low
            if ranks is not None:
                own.ranks, own.rank_slots = ranks.ctypes.data, len(ranks)
            own.keys = self._key_places[c, s].ctypes.data
            for place in range(len(self._classes[s])):
                self._key_places[c, s, place] = self._keys[c, s, place].ctypes.data
            sequence.sources[s].events = own.events
            self._held += (ring, ranks)
        for leaf, (s, key) in zip(sequence.leaf_lines, sequence.leaves, strict=True):
            leaf.keys = self._key_places[c, s, self._classes[s].index(key.classes[0])]
        self.lows[c] = lowwater.lows
        bounds = self.crew.deal.bounds(c)
        self._held += (lowwater.table, bounds)
        line.streams, line.bounds = self.streams[c].ctypes.data, bounds.ctypes.data
        line.flags, line.marks = self._flags[c].ctypes.data, self._marks[c].ctypes.data
        line.windows, line.floor = lowwater.table.ctypes.data, sequence.floor.ctypes.data
        line.before_push, line.sequence = self.lows[c].ctypes.data, sequence.address
        for number, lines in enumerate(self.tables):
            sequence.aim(number)
            line.beginning, line.results = sequence.struct.beginning, sequence.struct.results
            lines[c : c + 1] = np.frombuffer(line, layout.SHARD)

    def _ranks(self, shard: Shard, s: int) -> Array | None:
        """For every live row of a whole stream, and for the next, the row of the shard that is not before it."""
        if s not in self.crew.given:
            return None
        lows, counts = self.crew.begun
        low, stop = int(lows[s]), int(counts[s])
        slots = 1 << int(stop - low + self.most + 1).bit_length()
        base = shard.state.lowwater
        rows = np.arange(base.lows[s], base.counts[s])
        numbers = shard.numbers(s, rows)
        whole = np.arange(low, stop + 1)
        ranks = np.empty(slots, np.int32)
        ranks[whole & (slots - 1)] = base.lows[s] + np.searchsorted(numbers, whole)
        self._ranks_held.append(ranks)
        return ranks

    # -- a batch ---------------------------------------------------------------------------------------------------

    def begin(self, parts: Sequence[Part], marks: NDArray[np.int32], ring: int) -> None:
        """Let the helpers begin with a batch."""
        lows, counts = self.crew.begun
        for line, first in zip(self._part_lines, counts.tolist(), strict=True):
            line.rows, line.first_row = 0, first
        for part in parts:
            line, s = self._part_lines[part.stream], part.stream
            line.rows, line.events = len(part.events), handle(part.events)
            line.kept = 0 if part.kept is None else handle(part.kept)
            keys = [handle(part.keys[index]) for index in self._classes[s]]
            self._part_keys[s, : len(keys)] = keys
        look_up(self._parts_at, len(self.parts))
        self.turn(ring)
        mailbox = self.crew.team.mailbox
        mailbox.marks, mailbox.events, mailbox.lows = address_of(marks), len(marks), address_of(lows)
        portion = max(1, min(len(marks), self.crew.portion))
        mailbox.portions, mailbox.portion = -(-len(marks) // portion), portion
        self._cuts[: mailbox.portions + 1] = 0
        ends = portion * np.arange(1, mailbox.portions + 1)
        for part in parts:
            self._cuts[1 : mailbox.portions + 1, part.stream] = np.searchsorted(part.events, ends)
        self.crew.team.announce()

    def turn(self, ring: int) -> None:
        """The next batch has its results in this ring of every shard."""
        self.table, self._ring = self.tables[ring], ring
        self.crew.team.mailbox.shards = self._at[ring]
        self._dirty = True

    def finish(self, told: Array) -> tuple[int, list[int]]:
        """Have all shards done; returns how many results there are, and shards that have done nothing."""
        return self.complete(self.crew.team.lead(told), told)

    def complete(self, made: int, told: Array) -> tuple[int, list[int]]:
        """The same when all have done what kernels can do; ``made`` is what they say of it."""
        untouched = []
        if made < 0:
            portions = self.crew.team.mailbox.portions
            for c, (shard, line) in enumerate(zip(self.crew.shards, struct.lines(self.table), strict=True)):
                while line.portion < portions and line.status != layout.UNTOUCHED:
                    if line.status != layout.FRESH:
                        self._assist(shard, c, line)
                    with self.crew.access.open_to_results() if portions > 1 else nullcontext():
                        self.crew.team.go_on(c)
                if line.status == layout.UNTOUCHED:
                    untouched.append(c)
            told[:, 0], told[:, 1] = self.table["events"], self.table["made"]
            told[:, 2:] = self.streams["next_row"]
            made = int(told[:, 1].sum())
        return made, untouched

    def _assist(self, shard: Shard, c: int, line: Any) -> None:
        """Do what stopped a shard, number ``c``, whose line this is."""
        if line.status == layout.CRAMPED:
            self._make_room(shard, struct.lines(self.streams[c]))
        else:
            self._sequences[c].assist(self._ring, self._marks[c])

    def _make_room(self, shard: Shard, lines: list[Any]) -> None:
        """Let a shard have room for the rows of a portion that were dealt out to it."""
        for stream, own in zip(shard.router.streams, lines, strict=True):
            payload = stream.payload
            payload.next_row, payload.low = own.next_row, own.first_kept
            payload.make_room(own.rows)
            ring = payload.rings[ROW]
            own.held, own.capacity = ring.ctypes.data, len(ring)
            self._held.append(ring)

    # -- keeping in step -------------------------------------------------------------------------------------------

    def write_back(self) -> None:
        """Tell the shards' own objects what kernels have done: before anything else than a batch is done to them."""
        if not self._dirty:
            return
        self._dirty = False
        for c, shard in enumerate(self.crew.shards):
            router, lowwater = shard.router, shard.state.lowwater
            for stream, own in zip(shard.state.streams, struct.lines(self.streams[c]), strict=True):
                stream.payload.moved_to(own.next_row, own.first_kept)
            lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
            numbers = {s: shard.numbers(s, np.arange(lows[s], counts[s])) for s in self.crew.given}
            lowwater.restore(lows, counts, numbers)
            router.moment.begin(lowwater.lows.astype(np.int32))
            router.moment.newest = lowwater.counts.copy()
