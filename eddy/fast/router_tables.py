"""What the kernels of the fast path are told of an engine with one router: the sequence of a batch in kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.fast import kernels, layout
from eddy.fast.tables import PushTables
from eddy.intake.lowwater_kernels import LOW, NEXT
from eddy.router.router import Router
from eddy.router.sequence import KernelSequence

if TYPE_CHECKING:
    from eddy.state import EngineState


class RouterTables(PushTables):
    """The arrays of an engine with one router: besides, the sequence of a batch in kernels."""

    def __init__(self, state: EngineState, router: Router, sequence: KernelSequence) -> None:
        super().__init__(state)
        self._router, self._sequence = router, sequence
        self._key_columns = np.array([self._keys[s][key.classes[0]] for s, key in sequence.leaves], np.int64)
        self._tell(key_columns=self._key_columns)
        self._push.sequence = sequence.address
        self._standing = self._lowwater.table[NEXT : LOW + 1]

    def fits(self) -> bool:
        return super().fits() and self._sequence.fits()

    def begin(self, handles: list[int], columns: list[Any], now: int | None, ring: int) -> bool:
        self.first = 0
        return self.admit(handles, columns, now)

    def begun(self) -> tuple[list[int], list[int]]:
        counts, lows = self._standing.tolist()  # it is counted by `finish`
        return lows, counts

    def finish(self, ring: int) -> bool:
        self._watch_windows()
        self._sequence.aim(ring)
        stage = kernels.process(self._address)
        while stage not in (layout.DONE, layout.COUNTING):
            if stage == layout.TIMING:
                self._lowwater.resize()
                self._watch_windows()
            else:
                self._sequence.assist(ring, self._marks)
            stage = kernels.process(self._address)
        if stage == layout.COUNTING:
            return False
        self._taken(self.events)
        return True

    def _taken(self, stop: int) -> None:
        """The router has taken in the events of the segment, up to ``stop``."""
        counts = self._standing[0].copy()
        self._router.taken(self._floor, self._marks[self.first : stop], counts, self.portions(stop))

    def cut(self) -> int:
        stop = self.done
        self._taken(stop)
        for line, stream in zip(self._lines, self._state.streams, strict=True):
            left = line.rows - line.behind - line.here  # there was room for all of them
            stream.payload.moved_to(stream.payload.next_row - left, stream.payload.low)
        return stop

    def go_on(self) -> None:
        for line, stream in zip(self._lines, self._state.streams, strict=True):
            stream.payload.reserve_plain(stream.payload.low, line.rows - line.behind - line.here)
