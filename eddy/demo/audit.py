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
    _touched: npt.NDArray[np.bool_] = attrs.field(init=False, factory=lambda: np.zeros(1, bool))

    def arrive(self, keys: Integers, times: Integers, events: Integers, top: int) -> None:
        """Store the rows of a slice; ``top`` is the greatest key that the slice has in any stream."""
        self.keys.append(keys)
        self.times.append(times)
        self.events.append(events)
        if top >= len(self.live):
            self.live = np.concatenate([self.live, np.zeros(top + 1, np.int64)])
            self._touched = np.zeros(len(self.live), bool)

    def lows(self, counted: Integers, now: Integers) -> Integers:
        """The first live row at each event, given the rows so far and the event's time."""
        if isinstance(self.window, LastRows):
            return np.maximum(counted - self.window.rows, self.low)
        return self.times.search(now - self.window.width)

    def partners(self, keys: Integers, counted: Integers, lows: Integers) -> Integers:
        """How many live rows each key has at its event: those of before, plus arrived, minus expired."""
        return (
            self.live[keys]
            + self._of_key(self.count, int(counted.max(initial=self.count)), keys, counted)
            - self._of_key(self.low, int(lows.max(initial=self.low)), keys, lows)
        )

    def _of_key(self, first: int, end: int, keys: Integers, before: Integers) -> Integers:
        """How many rows from ``first`` to below each bound ``before`` have the key beside it; mostly none."""
        part, found = self.keys.part(first, end), np.zeros(len(keys), np.int64)
        self._touched[part] = True
        some = np.flatnonzero(self._touched[keys])
        self._touched[part] = False
        span = end - first + 1
        rows = np.sort(part * span + np.arange(end - first))
        least = keys[some] * span
        found[some] = np.searchsorted(rows, least + before[some] - first) - np.searchsorted(rows, least)
        return found

    def advance(self, count: int, low: int) -> None:
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

        key = np.concatenate([keys[name] for name in sides])[order]
        for name, side in sides.items():
            side.arrive(keys[name], times[name], start + slots[name], int(key.max(initial=0)))

        must, lows = np.ones(size, np.int64), {}
        for name, side in sides.items():
            own = np.zeros(size, np.int64)
            own[slots[name]] = 1
            counted = side.count + np.cumsum(own)
            lows[name] = side.lows(counted, now)
            must *= np.where(own == 1, 1, side.partners(key, counted, lows[name]))

        self._compare(results, start, must, lows)
        for name, side in sides.items():
            side.advance(side.count + len(times[name]), int(lows[name][-1]))
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
    """The rows without repetitions. If two hashes agree, the rows themselves decide."""
    hashes = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        hashes = (hashes + column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    hashes.sort()
    return cast(Integers, np.unique(rows, axis=0)) if (hashes[1:] == hashes[:-1]).any() else rows
