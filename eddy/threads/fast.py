"""The fast path of an engine whose rows are dealt out to several shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.fast.layout import CRAMPED, CROWDED, REFUSED
from eddy.fast.tables import EARLIEST, LARGEST, NDARRAY, SEGMENT, PushTables
from eddy.threads import fast_kernels as kernels
from eddy.threads.crew import Crew
from eddy.threads.tables import Fast

if TYPE_CHECKING:
    from eddy.state import EngineState


class CrewTables(PushTables):
    """The arrays of an engine with shards, as long as these are in step with their tables."""

    shared = True

    def __init__(self, state: EngineState, crew: Crew, fast: Fast) -> None:
        super().__init__(state)
        self._crew, self._fast = crew, fast
        self._widen(fast.most)
        self._key_columns = np.zeros((len(self._keys), max(map(len, self._keys))), np.int64)
        for s, keys in enumerate(self._keys):
            self._key_columns[s, : len(keys)] = list(keys.values())

    def fits(self) -> bool:
        return self._crew.fast is self._fast and super().fits()

    def review(self) -> None:
        """Tables are made anew, with room for what is usual, by the crew."""

    def rouse(self) -> None:
        self._crew.rouse()

    def _crowded(self) -> bool:
        """Too many events, or rows that are live with them. Tables with more room make these tables fit no more."""
        events: int = self._push.events
        if events <= LARGEST:
            self._crew.widen(events)
        return False

    def begin(self, handles: list[int], columns: list[Any], now: int | None, ring: int) -> bool:
        """Check a batch and let the helpers begin with it; False, and nothing has changed, if kernels cannot take it.

        After this nobody else may use what shards use, until `finish`, or `give_up`.
        """
        if self._may_be_asked(sum(len(values[0]) for values in columns)):
            return False
        crew, fast, push = self._crew, self._fast, self._address
        self._given[:], self._kept = handles, columns
        self._push.now = EARLIEST if now is None else now
        self._watch_windows()
        fast.turn(ring)
        at = crew.team.address
        m = kernels.begin(push, NDARRAY, at, self._key_columns, crew.kept, fast.lows)
        if m == CROWDED:
            return self._crowded()
        if m == REFUSED:
            return False
        crew.turned(self.before)
        while m == CRAMPED:
            self._give_windows_room()
            m = kernels.go_on(push, at)
        self.events = m
        return True

    def _may_be_asked(self, events: int) -> bool:
        """Whether the routing policy may be due in the middle of a push of so many events, with which shards would not
        stop: the long way takes it in by segments."""
        state = self._state
        if events <= SEGMENT or state.steering.frozen:
            return False
        return state.options.routing.work is not None or state.steering.due_after(events - 1)

    def _give_windows_room(self) -> None:
        self._lowwater.resize()
        self._watch_windows()

    def begun(self) -> tuple[list[int], list[int]]:
        lows, counts = self.before.tolist()
        return lows, counts

    def finish(self, ring: int) -> bool:
        """Have the batch done that was begun: all portions, as helpers are at work on them.

        If there are several, results that were handed out before can be read meanwhile.
        """
        crew, marks, access = self._crew, self._marks[: self.events], self._state.access
        told = crew.questions()
        made = CRAMPED
        while made == CRAMPED:
            if self.portions(self.events) > 1:
                with access.open_to_results():
                    made = kernels.finish(self._address, crew.team.address, told)
            else:
                made = kernels.finish(self._address, crew.team.address, told)
            if made == CRAMPED:
                self._give_windows_room()
        crew.taken(made, told, marks, ring, lambda: self.rest().parts)
        return True

    def give_up(self) -> None:
        """After an error: nobody may be at work on arrays that are given up."""
        self._crew.team.call_off()
