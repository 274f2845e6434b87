"""The sequence of a batch in kernels: begin, store and run, in one call, while a router is in its ordinary state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eddy.intake.batch import Batch
from eddy.tracks.moment import Marks
from eddy.tracks.tracks import RESULT_RINGS
from stairs import sequence as layout
from stairs.lowlevel import struct
from stairs.lowlevel.address import address_of
from stairs.program_kernels import ASK, JOB, OPERATION, copy_columns
from stairs.sequence_kernels import take_in

if TYPE_CHECKING:
    from eddy.router.router import Router

MARGIN, FURTHEST = 1.1, 15.0
"""Room is made for a tenth more results than a push is likely to have, but at once for no more than 15 times as many as
there are."""


def can_run_in_kernels(router: Router) -> bool:
    """Whether kernels alone can begin, store and run batches of this router as things are now.

    Then one plan makes all results; it consists of probes, which kernels do to the end; there are no holes, nothing
    that waits, and no measures. What the caller asks of rows and results besides is its own matter.
    """
    if not router.alone or not router.at_ease:
        return False
    (track,) = router.tracks
    return (
        all(stair.complete for stair in track.every_stair)
        and not any(stream.measures for stream in router.streams)
        and not (track.program.table[:, OPERATION] == ASK).any()
    )


class KernelSequence:
    """A router's leaves, rings and program as one struct, for as long as they are the same (`fits`).

    Whoever uses it prepares a block of events - ``sources`` and the keys of ``leaves``, the marks, and what is live
    before it (``before``, ``floor``) - and calls `run`.
    """

    def __init__(self, router: Router, portion: int = layout.FIRST) -> None:
        """``portion``: events that are taken in together, to begin with."""
        n = len(router.streams)
        self._router, self._track = router, router.tracks[0]
        self._program, prober = self._track.program, router.prober
        self._versions = [stream.version for stream in router.streams]
        self.leaves = [(s, key) for s, stream in enumerate(router.streams) for key in stream.stairs]
        """The stream and the key of each leaf."""
        self._stairs = [router.streams[s].stairs[key] for s, key in self.leaves]
        self._leaf_table = np.zeros(len(self.leaves), layout.LEAF)
        self.leaf_lines = struct.lines(self._leaf_table)
        for line, leaf, (s, _) in zip(self.leaf_lines, self._stairs, self.leaves, strict=True):
            line.ring, line.stream = leaf.address, s
        self._source_table = np.zeros(n, layout.SOURCE)
        self.sources = struct.lines(self._source_table)
        self.before, self.floor = np.zeros((2, n), np.int64), np.zeros(n, np.int32)
        """Low-water rows and next rows before a portion, and the former in 32 bits."""
        self._before = self.before[0].ctypes.data, self.before[1].ctypes.data
        self._begin = [router.beginning.table(ring)[0] for ring in range(RESULT_RINGS)]
        self._leading = router.beginning.table(0)[1]
        self._results = [
            (ring.address, begin.ctypes.data) for ring, begin in zip(router.results, self._begin, strict=True)
        ]
        """For each of the rings for results, where it is and where the rings are that begin with it."""
        self.struct = line = struct.new(layout.SEQUENCE)
        self.address = struct.address(line)
        line.width, line.portion = n, portion
        line.sources, line.leaves = self._source_table.ctypes.data, self._leaf_table.ctypes.data
        line.lows, line.counts = self._before
        line.floor, line.leaf_count = self.floor.ctypes.data, len(self.leaves)
        line.program, line.program_length = self._program.table.ctypes.data, len(self._program.table)
        line.beginning_count = len(self._begin[0])
        line.cursor, line.waiting = prober.cursor.ctypes.data, prober.waiting.ctypes.data
        line.waiting_slots = prober.waiting.shape[1]
        self.aim(0)

    def fits(self) -> bool:
        """Whether the router has the same leaves, rings and program, and nothing to do with feedback."""
        router = self._router
        tracks = router.tracks
        return (
            router.at_ease
            and len(tracks) == 1
            and tracks[0] is self._track
            and self._track.program is self._program
            and [stream.version for stream in router.streams] == self._versions
        )

    @property
    def portion(self) -> int:
        """Events that are taken in together, as was found best."""
        found: int = self.struct.portion
        return found

    @property
    def whole(self) -> bool:
        """Whether no STAIR has a hole."""
        return all(stair.complete for stair in self._track.every_stair)

    def aim(self, ring: int) -> None:
        """Results go to this ring."""
        self.struct.results, self.struct.beginning = self._results[ring]

    def take_in(self, batch: Batch, ring: int) -> None:
        """Begin, store and run a batch, as `Executor.take_in` does; its results go to ring number ``ring``."""
        router, line = self._router, self.struct
        jobs: list[int] = []
        keys = {}
        self._source_table[:] = 0
        for part in batch.parts:
            stream, n = router.streams[part.stream], len(part.events)
            source, first = self.sources[part.stream], stream.payload.next_row
            source.rows, source.events = n, address_of(part.events)
            source.kept = 0 if part.kept is None else address_of(part.kept)
            jobs += stream.payload.reserve(part.columns, n)
            for key in stream.stairs:
                keys[part.stream, key] = stream.keys(key, part.keys, first, n)
        for leaf, place in zip(self.leaf_lines, self.leaves, strict=True):
            found = keys.get(place)
            leaf.keys = 0 if found is None else address_of(found)
        copy_columns(np.array(jobs, np.int64).reshape(-1, JOB))
        self.before[0], self.before[1], self.floor[:] = batch.lows, batch.counts, batch.floor
        line.lows, line.counts = self._before
        line.marks, line.events = address_of(batch.marks), len(batch.marks)
        line.start, line.stop, line.fresh, line.stage = 0, len(batch.marks), 1, layout.CUTTING
        self.aim(ring)
        self.run(ring, batch.marks)
        router.taken(batch.floor.reshape(1, -1), batch.marks, batch.newest, 1)

    def run(self, ring: int, marks: Marks) -> None:
        """Take the block in that was prepared; room is made where it is needed. ``marks`` are those of its batch."""
        while take_in(self.address) != layout.DONE:
            self.assist(ring, marks)

    def assist(self, ring: int, marks: Marks) -> None:
        """Do what stopped a block, whose results go to ring number ``ring``."""
        line, router = self.struct, self._router
        stage, at = line.stage, line.at
        if stage == layout.BEGINNING:
            self._track.every_stair[at - self._leading].make_room(self.floor)
            line.at += 1
        elif stage == layout.STORING:
            self._stairs[at].reserve(self.sources[self.leaves[at][0]].here)
        else:
            # A program of probes alone stops only where a ring is full: marks are not asked for.
            line.at = router.runner.assist(self._track, at, router.results[ring], marks, self._ahead())

    def _ahead(self) -> float:
        """How many times as many results as there are so far are likely to come.

        Where a large push has many, room for all is made at once: memory that is not written to costs nothing, but what
        is copied to a larger place has to be written again, into memory that the system has to provide.
        """
        line = self.struct
        done, left = line.start - line.length // 2, line.events - line.start
        return min(max(1.0, MARGIN * left / max(done, 1)), FURTHEST) if line.events > layout.LONGEST else 1.0
