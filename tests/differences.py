"""A chain of set differences and its definition, side by side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from attrs import define, field

from eddy.difference.difference import Difference
from eddy.difference.rows import KeyedRows
from eddy.intake.lowwater import LowWater

UNBOUNDED, ROWS, RANGE, TUMBLING_ROWS, TUMBLING_TIME = range(5)

Event = tuple[int, int, tuple[int | None, ...], bool]
"""Stream, time since the event before, keys (None is NULL), whether a filter keeps the row."""


@define
class Naive:
    """The definition, from scratch at each event."""

    conditions: list[tuple[int, ...]]
    rows: list[list[tuple[tuple[int | None, ...], bool]]] = field(init=False)
    lows: list[int] = field(init=False)
    result: set[int] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.rows = [[] for _ in range(len(self.conditions) + 1)]
        self.lows = [0] * len(self.rows)

    def blocks(self, s: int, row: int) -> bool:
        """Whether stream s has a live match for a base row."""
        wanted = tuple(self.rows[0][row][0][key] for key in self.conditions[s - 1])
        return None not in wanted and (wanted, True) in self.rows[s][self.lows[s] :]

    def event(
        self, s: int, keys: tuple[int | None, ...], kept: bool, lows: list[int]
    ) -> list[tuple[int, int]]:
        """Count a row; what changes, as (row, sign)."""
        self.rows[s].append((keys, kept))
        self.lows = lows
        before, inner = self.result, range(1, len(self.rows))
        self.result = {
            row
            for row in range(lows[0], len(self.rows[0]))
            if self.rows[0][row][1] and not any(self.blocks(i, row) for i in inner)
        }
        gone, new = sorted(before - self.result), sorted(self.result - before)
        return [(row, -1) for row in gone] + [(row, 1) for row in new]


class Chain:
    """A difference that is checked against its definition at every event."""

    def __init__(
        self,
        conditions: list[tuple[int, ...]],
        windows: list[tuple[int, int]],
        first_row: int = 0,
        **options: object,
    ) -> None:
        self.conditions, self.first_row = conditions, first_row
        self.difference = Difference(len(conditions), conditions, first_row=first_row, **options)
        self.naive = Naive(conditions)
        kinds, params = (np.array(x, np.int64) for x in zip(*windows, strict=True))
        self.water = LowWater(kinds, params, first_row=first_row)
        self.now = 0

    def push(self, events: list[Event]) -> list[tuple[int, int, int]]:
        """A batch of events; the changes, as (event, row, sign), are those of the definition."""
        streams = np.array([s for s, _, _, _ in events], np.int32)
        times = self.now + np.cumsum([step for _, step, _, _ in events], dtype=np.int64)
        self.now = int(times[-1]) if len(times) else self.now
        expected = []
        lows = self.water.lows.copy()
        marks, _, _ = self.water.advance(streams, times)
        for i, (s, _, keys, kept) in enumerate(events):
            lows += (marks[i] - lows.astype(np.int32)).astype(np.int32)
            changed = self.naive.event(s, keys, kept, (lows - self.first_row).tolist())
            expected += [(i, row, sign) for row, sign in changed]
        given = {s: rows_of([e[2:] for e in events if e[0] == s], width) for s, width in self.widths()}
        rows, signs, at = self.difference.step(streams, marks, given)
        assert (rows.dtype, signs.dtype, at.dtype) == (np.int64, np.int8, np.int32)
        found = list(zip(at.tolist(), (rows - self.first_row).tolist(), signs.tolist(), strict=True))
        assert found == expected
        self.check()
        return found

    def widths(self) -> list[tuple[int, int]]:
        """The number of keys of each stream."""
        base = 1 + max(key for condition in self.conditions for key in condition)
        return [(0, base), *((s + 1, len(c)) for s, c in enumerate(self.conditions))]

    def check(self) -> None:
        """What the difference says of itself is true."""
        difference, naive = self.difference, self.naive
        assert (difference.results() - self.first_row).tolist() == sorted(naive.result)
        rows, blockers, free = difference.known()
        live = range(naive.lows[0], len(naive.rows[0]))
        assert (rows - self.first_row).tolist() == [row for row in live if naive.rows[0][row][1]]
        states = list(itertools.accumulate(difference.order, lambda s, i: s | {i}, initial=frozenset()))[1:]
        holes, unknown = 0, [0] * len(states)
        for row, blocker, of_row in zip(
            (rows - self.first_row).tolist(), blockers.tolist(), free, strict=True
        ):
            known_free = {i + 1 for i in np.flatnonzero(of_row).tolist()}
            assert not any(naive.blocks(s, row) for s in known_free)
            assert naive.blocks(blocker, row) if blocker else row in naive.result
            first = next((s for s in difference.order if naive.blocks(s, row)), 0)
            before = set(difference.order[: difference.order.index(blocker)] if blocker else difference.order)
            holes += known_free != before
            assert known_free != before or blocker == first
            for j, state in enumerate(states):
                unknown[j] += blocker not in state and not state <= known_free
        assert difference.holes == holes
        shares = [1 - count / max(1, len(rows)) for count in unknown]
        assert difference.complete == pytest.approx(shares)
        assert difference.complete[-1] == 1.0

    def reload(self) -> None:
        """What a snapshot comes to: another difference that is given the live rows."""
        lows, counts = self.water.lows.tolist(), self.water.counts.tolist()
        live = {s: rows_of(self.naive.rows[s][self.naive.lows[s] :], width) for s, width in self.widths()}
        old = self.difference
        self.difference = Difference(
            len(self.conditions), self.conditions, order=old.order, background=old.background
        )
        self.difference.restore(lows, counts, live)
        assert self.difference.holes == 0
        self.check()


def rows_of(rows: list[tuple[tuple[int | None, ...], bool]], width: int) -> KeyedRows:
    keys = np.array([[0 if k is None else k for k in keys] for keys, _ in rows], np.int64).reshape(-1, width)
    valid = np.array([[k is not None for k in keys] for keys, _ in rows], np.uint8).reshape(-1, width)
    return KeyedRows(list(keys.T), list(valid.T), np.array([kept for _, kept in rows], bool))


def base(*keys: int | None) -> list[Event]:
    return [(0, 0, (key,), True) for key in keys]


def inner(s: int, *keys: int | None) -> list[Event]:
    return [(s, 0, (key,), True) for key in keys]


A, B, C, D = range(4)
ONE_KEY = [(0,)] * 3
ELSE = 99
"""A key that no base row has: its row pushes another out of a window of one row, and does nothing more."""
