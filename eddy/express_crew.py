"""The express lane of an engine whose rows are dealt out to several shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eddy import express_crew_kernels as kernels
from eddy.express_kernels import CRAMPED, CROWDED, EVENTS, NOW, REFUSED
from eddy.express_lane import EARLIEST, LARGEST, NDARRAY, Lane
from eddy.intake import Part
from eddy.shards_fast import Fast
from eddy.types import Column

if TYPE_CHECKING:
    from eddy.engine import Eddy


class CrewLane(Lane):
    """The arrays of an engine with shards, as long as these are in step with their tables."""

    def __init__(self, engine: Eddy, fast: Fast) -> None:
        super().__init__(engine)
        self._fast = fast
        self._widen(fast.most)
        self._key_columns = np.zeros((len(self._keys), max(map(len, self._keys))), np.int64)
        for s, keys in enumerate(self._keys):
            self._key_columns[s, : len(keys)] = list(keys.values())

    def fits(self) -> bool:
        return self._router.fast is self._fast and super().fits()

    def review(self) -> None:
        """Tables are made anew, with room for what is usual, by the crew."""

    def rouse(self) -> None:
        self._router.rouse()

    def _crowded(self) -> bool:
        """Too many events, or rows that are live with them. Tables with more room make this lane fit no more."""
        events = int(self._box[EVENTS])
        if events <= LARGEST:
            self._router.widen(events)
        return False

    def begin(self, handles: list[int], held: list[Any], now: int | None, ring: int) -> bool:
        """Check a batch and let the helpers begin with it; False, and nothing has changed, if kernels cannot take it.

        After this nobody else may use what shards use, until `finish`, or `give_up`.
        """
        crew, fast, box = self._router, self._fast, self._box
        self._given[:], self._held = handles, held
        box[NOW] = EARLIEST if now is None else now
        self._watch_windows()
        fast.turn(ring)
        at = crew.team.address
        m = kernels.begin(box, NDARRAY, at, fast.parts, self._key_columns, fast.streams, crew.kept, fast.lows)
        if m == CROWDED:
            return self._crowded()
        if m == REFUSED:
            return False
        crew.turned(ring, self.before)
        while m == CRAMPED:
            self._give_windows_room()
            m = kernels.go_on(box, at)
        self.events = m
        return True

    def _give_windows_room(self) -> None:
        self._lowwater.resize()
        self._watch_windows()

    def begun(self) -> tuple[list[int], list[int]]:
        lows, counts = self.before.tolist()
        return lows, counts

    def finish(self, ring: int) -> None:
        """Have the batch done that was begun."""
        crew, marks = self._router, self._marks[: self.events]
        told = crew.questions()
        made = kernels.finish(self._box, crew.team.address, told)
        while made == CRAMPED:
            self._give_windows_room()
            made = kernels.finish(self._box, crew.team.address, told)
        crew.taken(made, told, marks, ring, self._parts)
        self._held = []

    def give_up(self) -> None:
        """After an error: nobody may be at work on arrays that are given up."""
        self._router.team.call_off()

    def _parts(self) -> list[Part]:
        """The batch as the long way has it."""
        parts, held, start = [], iter(self._held), 0
        for s, stream in enumerate(self._engine.query.streams.values()):
            rows, first, *_ = self._streams[s].tolist()
            values = next(held) if self._given[first] else ()
            if rows:
                columns = {name: Column(column) for name, column in zip(stream.columns, values, strict=True)}
                keys = {c: values[place - first] for c, place in self._keys[s].items()}
                parts.append(Part(s, columns, keys, None, self._places[start : start + rows]))
                start += rows
        return parts
