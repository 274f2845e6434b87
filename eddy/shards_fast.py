"""The shards of an engine as tables for the kernels that take a batch in without Python.

This works while every shard is in its ordinary state: one plan, no holes, nothing that waits, and a plan of probes
alone. Else, and for the odd batch that needs more room, shards go the long way (`Shard.process`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eddy import shards_layout as kernels
from eddy import shards_team_kernels as team
from eddy.intake import Part
from eddy.marks import ROW
from eddy.shards_deal_kernels import look_up
from eddy.tracks import RESULT_RINGS
from eddy.types import Array
from stairs.address import address_of, handle
from stairs.program_kernels import ASK, JOB, OPERATION, RESUMED

if TYPE_CHECKING:
    from eddy.shard import Shard
    from eddy.shards import Crew


def ordinary(shard: Shard) -> bool:
    """Whether a shard is in a state in which kernels alone can do a batch."""
    router, engine = shard.router, shard.engine
    track = router.tracks[0]
    return (
        router.suspension is None
        and len(router.tracks) == 1
        and track.hybrid is None
        and track.held is None
        and track.born is None
        and not shard.changes._changes
        and engine._budget is None
        and all(stair.complete for stair in track.every_stair)
        and all(
            not stream.indexes and all(len(key.classes) == 1 for key in stream.stairs)
            for stream in engine._streams
        )
        and all(list(stream.payload.columns) == [ROW] for stream in engine._streams)
        and not (track.program.table[:, OPERATION] == ASK).any()
    )


class Fast:
    """Tables of all shards, for batches of up to ``most`` events."""

    def __init__(self, crew: Crew, most: int) -> None:
        self.crew, self.most = crew, most
        query, shards = crew.query, crew.shards
        n, k = len(query.names), len(shards)
        self._classes = [[c.index for c in query.key_classes if name in c.members] for name in query.names]
        width = kernels.KEYS + max(map(len, self._classes))
        self.tables = np.zeros((RESULT_RINGS, k, kernels.FIELDS), np.int64)
        self.table = self.tables[0]
        """The shards; there is a table for each of the result rings, which differ in what depends on them."""
        self.streams = np.zeros((k, n, width), np.int64)
        portion = min(most, crew.portion)
        self._marks = np.empty((k, most, n), np.int32)
        self._flags = np.empty((k, portion + 16), np.uint8)
        self.lows, self._lows = np.empty((k, n), np.int64), np.empty((k, n), np.int64)
        """Low-water rows before a batch, and before a portion of it."""
        self._counts, self._floor = np.empty((k, n), np.int64), np.empty((k, n), np.int32)
        self._events = np.empty((k, n, portion + 1), np.int32)
        self._numbers = np.empty((k, n, portion + 1), np.int64)
        self._keys = np.empty((k, n, width - kernels.KEYS, portion + 1), np.int64)
        self._cuts = np.zeros((-(-most // portion) + 1, n), np.int64)
        self._ranks_held: list[Array] = []
        self._held: list[object] = []
        """What the tables name by address or handle."""
        self.parts = np.zeros((n, kernels.PART_KEYS + width - kernels.KEYS), np.int64)
        """The streams of a batch."""
        self._flat = self.parts.reshape(-1)
        self._dimensions = self._grid()
        self._blank = self._flat.tolist()
        """The streams of a batch without a row."""
        self._dirty = False
        for c, shard in enumerate(shards):
            self._enter(c, shard)
        box = crew.team.mailbox
        box[team.COUNT] = k
        self._at = [table.ctypes.data for table in self.tables]
        box[team.PARTS], box[team.PART] = self.parts.ctypes.data, self.parts.shape[1]
        box[team.DIMENSIONS], box[team.DIMENSION] = self._dimensions.ctypes.data, self._dimensions.shape[1]
        box[team.WIDTH], box[team.LENGTH], box[team.CUTS] = n, width, self._cuts.ctypes.data

    @property
    def nbytes(self) -> int:
        """Room for batches: what shards hold between them is their own."""
        rooms: list[NDArray[Any]] = [self._marks, self._events, self._numbers, self._keys, self._cuts]
        return sum(room.nbytes for room in (*rooms, *self._ranks_held))

    def _grid(self) -> Array:
        """The dimensions of each stream."""
        deal = self.crew.deal
        dimensions = np.zeros((len(self._classes), len(deal.shares), kernels.DIMENSION), np.int64)
        for s, classes in enumerate(self._classes):
            found = deal.dimensions(s)
            for place, (d, index) in enumerate(found):
                dimensions[s, place] = -1 if index is None else classes.index(index), d, d
            self.parts[s, [kernels.PART_DIMENSIONS, kernels.PART_CLASSES]] = len(found), len(classes)
        return dimensions

    def _enter(self, c: int, shard: Shard) -> None:
        """Write a shard's line."""
        engine, router, line = shard.engine, shard.router, np.zeros(kernels.FIELDS, np.int64)
        lowwater, program = engine._lowwater, router.tracks[0].program
        jobs = []
        for stream in engine._streams:
            s, own = stream.number, self.streams[c, stream.number]
            ring, events, ranks = stream.payload._rings[ROW], self._events[c, s], self._ranks(shard, s)
            own[kernels.EVENTS], own[kernels.NUMBERS] = events.ctypes.data, self._numbers[c, s].ctypes.data
            own[kernels.HELD], own[kernels.CAPACITY] = ring.ctypes.data, len(ring)
            own[kernels.NEXT_ROW], own[kernels.FIRST_KEPT] = stream.payload.next_row, stream.payload.low
            own[kernels.RANKS], own[kernels.RANK_SLOTS] = 0 if ranks is None else ranks.ctypes.data, 0
            own[kernels.RANK_SLOTS] = 0 if ranks is None else len(ranks)
            for place, index in enumerate(self._classes[s]):
                keys = self._keys[c, s, place]
                own[kernels.KEYS + place] = keys.ctypes.data
                for key, leaf in stream.stairs.items():
                    if key.classes == (index,):
                        jobs.append((leaf.address, handle(keys), handle(events), 0, 0, s))
                self._held += (keys, events)
            self._held += (ring, ranks, stream.stairs)
        leaves = np.array(jobs, np.int64).reshape(-1, JOB)
        beginning = [router._beginning(ring)[0] for ring in range(RESULT_RINGS)]
        self.lows[c] = lowwater.lows
        bounds = self.crew.deal.bounds(c)
        self._held += (leaves, beginning, program, lowwater._table, bounds)
        line[kernels.MARKS], line[kernels.FLAGS] = self._marks[c].ctypes.data, self._flags[c].ctypes.data
        line[kernels.LOWWATER], line[kernels.BOUNDS] = lowwater._table.ctypes.data, bounds.ctypes.data
        line[kernels.LOWS], line[kernels.BEFORE_PUSH] = self._lows[c].ctypes.data, self.lows[c].ctypes.data
        line[kernels.COUNTS] = self._counts[c].ctypes.data
        line[kernels.FLOOR], line[kernels.LINES] = self._floor[c].ctypes.data, len(beginning[0])
        line[kernels.PROGRAM], line[kernels.STOP] = program.table.ctypes.data, len(program.table)
        line[kernels.CURSOR], line[kernels.WAITING] = router._cursor.ctypes.data, router._waiting.ctypes.data
        line[kernels.BLOCK], line[kernels.WIDTH] = router._waiting.shape[1], self.streams.shape[2]
        line[kernels.JOBS], line[kernels.LEAVES] = leaves.ctypes.data, len(leaves)
        line[kernels.STREAMS] = self.streams[c].ctypes.data
        for turn, (table, results) in enumerate(zip(beginning, router.results, strict=True)):
            self.tables[turn, c] = line
            self.tables[turn, c, [kernels.BEGIN, kernels.RESULTS]] = table.ctypes.data, results.address

    def _ranks(self, shard: Shard, s: int) -> Array | None:
        """For every live row of a whole stream, and for the next, the row of the shard that is not before it."""
        if s not in self.crew.given:
            return None
        lows, counts = self.crew.begun
        low, stop = int(lows[s]), int(counts[s])
        slots = 1 << int(stop - low + self.most + 1).bit_length()
        base = shard.engine._lowwater
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
        flat = self._blank.copy()
        flat[kernels.PART_FIRST :: self.parts.shape[1]] = counts.tolist()
        for part in parts:
            at = part.stream * self.parts.shape[1]
            flat[at : at + kernels.PART_FIRST] = (
                len(part.events),
                handle(part.events),
                0 if part.kept is None else handle(part.kept),
            )
            at += kernels.PART_KEYS
            keys = [handle(part.keys[index]) for index in self._classes[part.stream]]
            flat[at : at + len(keys)] = keys
        self._flat[:] = flat
        look_up(self.parts)
        self.turn(ring)
        box = self.crew.team.mailbox
        box[team.MARKS : team.BASE + 1] = address_of(marks), len(marks), len(self.parts), address_of(lows)
        box[team.PORTIONS], box[team.PORTION] = 1, len(marks)
        self._cuts[0], self._cuts[1] = 0, self.parts[:, kernels.PART_ROWS]
        self.crew.team.announce()

    def turn(self, ring: int) -> None:
        """The next batch has its results in this ring of every shard."""
        self.table = self.tables[ring]
        self.crew.team.mailbox[team.SHARDS] = self._at[ring]
        self._dirty = True

    def finish(self, told: Array) -> tuple[int, list[int]]:
        """Have all shards done; returns how many results there are, and shards that have done nothing."""
        return self.complete(self.crew.team.lead(told), told)

    def complete(self, made: int, told: Array) -> tuple[int, list[int]]:
        """The same when all have done what kernels can do; ``made`` is what they say of it."""
        untouched = []
        if made < 0:
            portions = self.crew.team.mailbox[team.PORTIONS]
            for c, shard in enumerate(self.crew.shards):
                line = self.table[c]
                while line[kernels.PORTION] < portions and line[kernels.STATUS] != kernels.UNTOUCHED:
                    if line[kernels.STATUS] != kernels.FRESH:
                        self._assist(shard, c)
                    self.crew.team.go_on(c)
                if line[kernels.STATUS] == kernels.UNTOUCHED:
                    untouched.append(c)
            told[:, 0], told[:, 1] = self.table[:, kernels.COUNT], self.table[:, kernels.MADE]
            told[:, 2:] = self.streams[:, :, kernels.NEXT_ROW]
            made = int(told[:, 1].sum())
        return made, untouched

    def _assist(self, shard: Shard, c: int) -> None:
        """Do what stopped a shard."""
        router, line = shard.router, self.table[c]
        track, at = router.tracks[0], int(line[kernels.AT])
        if line[kernels.STATUS] == kernels.CRAMPED:
            self._make_room(shard, self.streams[c])
            return
        if line[kernels.STATUS] == kernels.BEGINNING:
            leaves = len(router.leaves.rings) + 1
            track.every_stair[at - leaves].make_room(self._floor[c])
            line[kernels.AT] += 1
            return
        halt, _, _ = track.program.sources[at]
        ring = next(r for r in router.results if r.address == line[kernels.RESULTS])
        out = ring if halt is track.halts[-1] else halt.out
        assert router._cursor[RESUMED], "a plan without holes stops only where a ring is full"
        out.grow()

    def _make_room(self, shard: Shard, lines: Array) -> None:
        """Let a shard have room for the rows of a portion that were dealt out to it."""
        for stream in shard.engine._streams:
            own, payload = lines[stream.number], stream.payload
            rows = int(own[kernels.ROWS])
            payload.next_row, payload.low = int(own[kernels.NEXT_ROW]), int(own[kernels.FIRST_KEPT])
            payload.make_room(rows)
            ring = payload.rings[ROW]
            own[kernels.HELD], own[kernels.CAPACITY] = ring.ctypes.data, len(ring)
            self._held.append(ring)
            for leaf in stream.stairs.values():
                leaf.reserve(rows)

    # -- keeping in step -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Tell the shards' own objects what kernels have done: before anything else than a batch is done to them."""
        if not self._dirty:
            return
        self._dirty = False
        for c, shard in enumerate(self.crew.shards):
            router, lowwater = shard.router, shard.engine._lowwater
            for stream in shard.engine._streams:
                own, payload = self.streams[c, stream.number], stream.payload
                payload.next_row, payload.low = int(own[kernels.NEXT_ROW]), int(own[kernels.FIRST_KEPT])
                payload._peak = max(payload._peak, payload.next_row - payload.low)
            lows, counts = lowwater.lows.tolist(), lowwater.counts.tolist()
            numbers = {s: shard.numbers(s, np.arange(lows[s], counts[s])) for s in self.crew.given}
            lowwater.restore(lows, counts, numbers)
            router.newest = lowwater.counts.copy()
            router.floor = lowwater.lows.astype(np.int32).reshape(1, -1)
            router.marks, router._batch, router._stacked = router.floor, None, None
