"""The demo's independent count: what the results must be, from the feed alone, and whether they are that.

Nothing of the engine is used here. For every event the live rows of its customer in the other streams are
counted; their product is how many results the event must give. Every result is then looked at by itself: one
customer, all rows live at its latest event, that event in this very slice, no two results alike. So a slice
that passes is exactly the expected set of results, and no result of one slice can come again in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs
import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@attrs.frozen
class LastRows:
    """The window of the last ``rows`` rows."""

    rows: int


@attrs.frozen
class LastTime:
    """The window of the last ``width`` of time."""

    width: int


@attrs.define(eq=False)
class History:
    """Values of one stream by row number. Only rows from ``trim``'s on are kept, at an amortised cost."""

    _values: Integers = attrs.field(init=False, factory=lambda: np.empty(1024, np.int64))
    _shift: int = attrs.field(init=False, default=0)
    _first: int = attrs.field(init=False, default=0)
    end: int = attrs.field(init=False, default=0)

    def append(self, values: Integers) -> None:
        if self.end - self._shift + len(values) > len(self._values):
            kept = self._values[self._first - self._shift : self.end - self._shift]
            room = np.empty(2 * (len(kept) + len(values)), np.int64)
            room[: len(kept)] = kept
            self._values, self._shift = room, self._first
        self._values[self.end - self._shift : self.end - self._shift + len(values)] = values
        self.end += len(values)

    def trim(self, first: int) -> None:
        self._first = first

    def part(self, first: int, end: int) -> Integers:
        return self._values[first - self._shift : end - self._shift]

    def take(self, rows: Integers) -> Integers:
        return self._values[rows - self._shift]

    def search(self, values: Integers) -> Integers:
        """For rising histories: the first kept row whose value is not below each of ``values``."""
        return self._first + np.searchsorted(self.part(self._first, self.end), values)


@attrs.define(eq=False)
class Side:
    """One stream as the audit sees it: its rows so far, and how many live rows each customer has."""

    window: LastRows | LastTime
    keys: History = attrs.field(init=False, factory=History)
    times: History = attrs.field(init=False, factory=History)
    events: History = attrs.field(init=False, factory=History)
    count: int = attrs.field(init=False, default=0)
    low: int = attrs.field(init=False, default=0)
    live: Integers = attrs.field(init=False, factory=lambda: np.zeros(1, np.int64))

    def arrive(self, keys: Integers, times: Integers, events: Integers) -> None:
        self.keys.append(keys)
        self.times.append(times)
        self.events.append(events)
        if keys.size and keys.max() >= len(self.live):
            self.live = np.concatenate([self.live, np.zeros(keys.max() + 1, np.int64)])

    def counted(self, slots: Integers, events: Integers, start: int) -> Integers:
        """How many rows the stream has had at each event; ``slots`` are its own events within the slice."""
        return self.count + np.searchsorted(slots, events - start, side="right")

    def lows(self, counted: Integers, now: Integers) -> Integers:
        """The first live row at each event, given the rows so far and the event's time."""
        if isinstance(self.window, LastRows):
            return np.maximum(counted - self.window.rows, self.low)
        return self.times.search(now - self.window.width)

    def partners(self, keys: Integers, counted: Integers, lows: Integers) -> Integers:
        """How many live rows each key has at its event: those of before, plus arrived, minus expired."""
        return (
            self.live[np.minimum(keys, len(self.live) - 1)] * (keys < len(self.live))
            + self._of_key(self.count, int(counted.max(initial=self.count)), keys, counted)
            - self._of_key(self.low, int(lows.max(initial=self.low)), keys, lows)
        )

    def _of_key(self, first: int, end: int, keys: Integers, before: Integers) -> Integers:
        """How many rows from ``first`` to below each bound ``before`` have the key beside it."""
        span = end - first + 1
        rows = np.sort(self.keys.part(first, end) * span + np.arange(end - first))
        found: Integers = np.searchsorted(rows, keys * span + (before - first)) - np.searchsorted(
            rows, keys * span
        )
        return found

    def settle(self, count: int, low: int) -> None:
        """The slice is over: bring the live counts up to date and forget dead rows."""
        np.add.at(self.live, self.keys.part(self.count, count), 1)
        np.subtract.at(self.live, self.keys.part(self.low, low), 1)
        self.count, self.low = count, low
        for history in (self.keys, self.times, self.events):
            history.trim(low)


@attrs.define(eq=False)
class Audit:
    """Counts what must come and checks what came, slice by slice."""

    windows: Mapping[str, LastRows | LastTime]
    expected: int = attrs.field(init=False, default=0)
    seen: int = attrs.field(init=False, default=0)
    lost: int = attrs.field(init=False, default=0)
    repeated: int = attrs.field(init=False, default=0)
    wrong: int = attrs.field(init=False, default=0)
    _sides: dict[str, Side] = attrs.field(init=False)
    _events: int = attrs.field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._sides = {name: Side(window) for name, window in self.windows.items()}

    @property
    def clean(self) -> bool:
        """Nothing was lost, repeated or wrong."""
        return not (self.lost or self.repeated or self.wrong)

    def check(self, keys: Mapping[str, Integers], times: Mapping[str, Integers], results: Integers) -> None:
        """One slice: its join keys and times by stream, and the row numbers of the results it gave."""
        sides = self._sides
        now = np.concatenate([times[name] for name in sides])
        order = np.argsort(now, kind="stable")  # ties: streams as declared, then arrival
        now = now[order]
        start, size = self._events, len(now)
        slot = np.empty(size, np.int64)
        slot[order] = np.arange(size)
        slots = dict(
            zip(sides, np.split(slot, np.cumsum([len(times[name]) for name in sides])[:-1]), strict=True)
        )
        events = start + np.arange(size)

        for name, side in sides.items():
            side.arrive(keys[name], times[name], start + slots[name])
        counted = {name: side.counted(slots[name], events, start) for name, side in sides.items()}
        lows = {name: side.lows(counted[name], now) for name, side in sides.items()}

        must = np.ones(size, np.int64)
        for name in sides:
            at = slots[name]
            for other, side in sides.items():
                if other != name:
                    must[at] *= side.partners(keys[name], counted[other][at], lows[other][at])

        self._compare(results, start, must, lows)
        for name, side in sides.items():
            side.settle(side.count + len(times[name]), int(lows[name][-1]))
        self._events += size

    def _compare(self, results: Integers, start: int, must: Integers, lows: Mapping[str, Integers]) -> None:
        """Each result by itself, then the number of good ones for every event."""
        distinct = _distinct(results)
        columns = [np.ascontiguousarray(column) for column in distinct.T]
        sides = list(self._sides.values())
        kept = np.ones(len(distinct), bool)
        for column, side in zip(columns, sides, strict=True):
            kept &= (column >= side.low) & (column < side.events.end)
        columns = [column[kept] for column in columns]
        customers = [side.keys.take(column) for column, side in zip(columns, sides, strict=True)]
        latest = np.max(
            [side.events.take(column) for column, side in zip(columns, sides, strict=True)], axis=0
        )
        good = latest >= start
        at = np.where(good, latest - start, 0)
        for column, customer, low in zip(columns, customers, lows.values(), strict=True):
            good &= (customer == customers[0]) & (column >= low[at])
        came = np.bincount(at[good], minlength=len(must))

        self.seen += len(results)
        self.expected += int(must.sum())
        self.repeated += len(results) - len(distinct)
        self.wrong += len(distinct) - int(good.sum())
        self.lost += int((must - came).sum())


def _distinct(rows: Integers) -> Integers:
    """The rows without repetitions, packed into one integer each where they fit: that is quicker."""
    if len(rows) == 0:
        return rows
    least = rows.min(axis=0)
    spans = [int(span) for span in rows.max(axis=0) - least + 1]
    packed, room = np.zeros(len(rows), np.int64), 1
    for column, span in zip((rows - least).T, spans, strict=True):
        packed, room = packed * span + column, room * span
    if room >= 2**63:
        return cast(Integers, np.unique(rows, axis=0))
    return rows[np.unique(packed, return_index=True)[1]]
