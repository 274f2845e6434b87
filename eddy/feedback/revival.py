"""Coming back: what has waited is linked where it belongs and joined with all that is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eddy.feedback.blacklist import Rows
from eddy.feedback.edge import Marks
from eddy.feedback.host import Host
from eddy.feedback.unit import Unit
from eddy.tracks.binding import Halt, Hop
from eddy.tracks.prober import rekey
from stairs import Ring, Stair
from stairs.feedback.hiding_kernels import reveal
from stairs.feedback.recipe_kernels import rekey_by
from stairs.feedback.waiting_kernels import append_entries, copy_rows


class Revival:
    """Takes rows and composites along their itineraries, as older than every event of the batch.

    ``marks`` say what they meet (as in `Prober.hop` when it is filling). Nothing goes to the results: a result without
    an event of the batch would have had a partner all the time.
    """

    def __init__(self, router: Host, suppress: Callable[[Stair, int, Marks], None]) -> None:
        self._router, self._prober = router, router.prober
        self._suppress = suppress
        """Told of a STAIR, the first of its newest entries, and marks: those go that are of no use."""

    def rows(self, unit: Unit, rows: NDArray[np.int32], marks: Marks) -> None:
        """Rows of a stream can be found again."""
        unit.resumed += len(rows)
        rows = np.ascontiguousarray(rows)
        reveal(unit.leaves, rows)
        self._reopen(unit, rows)
        if unit.path:
            entries = self._entries(unit.path[0][1], rows)
            self._carry(unit, entries, entries.base, entries.tail, marks)
            self._prober.give(entries)
        for way in unit.ways:
            self._lead(way, rows, marks)

    def _entries(self, hop: Hop, rows: NDArray[np.int32]) -> Ring:
        """These rows, about to take their first step."""
        own = hop.source
        assert isinstance(own, Stair)
        entries = self._prober.take(1)
        entries.reserve(len(rows))
        copy_rows(own.state, rows, entries.state)
        return entries

    def _lead(self, way: list[tuple[Halt, Hop]], rows: NDArray[np.int32], marks: Marks) -> None:
        """Take rows to one STAIR, by way of rings of our own."""
        entries = self._entries(way[0][1], rows)
        for halt, hop in way:
            out = self._prober.take(halt.out.components) if halt is not way[-1][0] else halt.out
            first = out.tail
            self._prober.hop(hop, entries, entries.base, entries.tail, out, marks, filling=True)
            rekey(halt.recipe, out, first, out.tail)
            self._prober.give(entries)
            entries = out
        stair = way[-1][0].stair
        assert stair is not None
        stair.insert(first, stair.tail)

    def composites(self, unit: Unit, rows: Rows, marks: Marks) -> None:
        """Composites are stored now, and taken along."""
        stair = unit.stair
        assert stair is not None
        unit.resumed += len(rows)
        start = stair.tail
        stair.reserve(len(rows))
        append_entries(stair.state, np.ascontiguousarray(rows), np.zeros(len(rows), np.int64))
        rekey(unit.recipe, stair, start, stair.tail)
        stair.insert(start, stair.tail)
        self._carry(unit, stair, start, stair.tail, marks)

    def _reopen(self, unit: Unit, rows: NDArray[np.int32]) -> None:
        """Holes are known by the rows of a leaf: those that come back must be passed once more."""
        assert unit.state is not None
        newest = int(self._router.moment.newest[unit.streams[0]])
        behind = (np.int64(newest).astype(np.int32) - rows).astype(np.uint32).astype(np.int64)
        leaves = {id(leaf) for leaf in unit.state.stairs.values()}
        for stair in self._router.every_stair:
            if stair.holes is not None and id(stair.carrier) in leaves:
                stair.holes.reopen(newest - behind)

    def _carry(self, unit: Unit, source: Ring, start: int, stop: int, marks: Marks) -> None:
        """Take entries to the STAIRs above."""
        for halt, hop, recipe in unit.path:
            if start == stop:
                return
            start, stop = self.step(halt, hop, recipe, source, start, stop, marks)
            source = halt.out

    def step(
        self,
        halt: Halt,
        hop: Hop,
        recipe: NDArray[np.int64] | None,
        source: Ring,
        start: int,
        stop: int,
        marks: Marks,
    ) -> tuple[int, int]:
        """Take entries to the next STAIR; where they are there."""
        assert halt.stair is not None
        first = halt.out.tail
        self._prober.hop(hop, source, start, stop, halt.out, marks, filling=True)
        last = halt.out.tail
        if first < last:
            if recipe is None:
                rekey(halt.recipe, halt.out, first, last)
            else:
                rekey_by(recipe, halt.out.state, first, last)
            self._suppress(halt.stair, first, marks)
            last = halt.out.tail
            halt.stair.insert(first, last)
        return first, last
