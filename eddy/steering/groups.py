"""Samples of the rows of a stream that have some values of a key, apart from all its others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.plan.compiler import Key
from eddy.steering.sampling import ALIKE, SAMPLE, WIDE, Sampler, Trail
from stairs.sample_kernels import count_alike

MOST = 64
"""Values that are told apart at the most."""
HALF = 0.5
"""The part of all matches that these must have."""
TIMES = 3.0
"""Times as many matches as a row with another value a row must have, on average."""
WRITABLE = re.compile(r"[^\s():|,]+")
"""Columns that a plan can name."""

Group = tuple[int, str, tuple[int, ...], bool]
"""A stream, one of its columns, values, and whether it is the rows that have one of these."""


class GroupSampler(Sampler):
    """A sampler that can tell rows apart by the values of a key."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._groups: dict[tuple[Group, tuple[int, ...]], Trail] = {}

    def heavy(self, start: str, target: str) -> tuple[str, tuple[int, ...]] | None:
        """Values of a key column of ``start`` whose rows find many matches in ``target``, and the column.

        None where no few values have most of the matches.
        """
        a, b = self._number(start), self._number(target)
        shared = self._compiler.shared((a,), (b,))
        if len(shared) != 1 or self._nested:
            return None
        columns = self._compiler.columns[start]
        column = next(name for name, c in columns.items() if c == shared[0])
        rows, linked = self._base(a)
        keys = self._keys(a, shared[0], rows[linked])
        if len(keys) == 0 or not WRITABLE.fullmatch(column):
            return None
        fans = np.empty(len(keys), np.int64)
        leaf = self._streams[b].stair(Key(shared))
        count_alike(leaf.state, keys, int(self._lows[b]), ALIKE, fans)
        many = fans > fans.mean()
        values, weights = np.unique(keys[many], return_inverse=True)
        if len(values) == 0:
            return None
        weight = np.bincount(weights, fans[many].astype(np.float64))
        values = values[np.argsort(-weight, kind="stable")[:MOST]]
        hot = np.isin(keys, values)
        if hot.all() or fans[hot].sum() < HALF * fans.sum():
            return None
        if fans[hot].mean() < TIMES * fans[~hot].mean():
            return None
        return column, tuple(sorted(values.tolist()))

    def share(self, start: str, column: str, values: tuple[int, ...]) -> float:
        """The part of the rows of a stream that have one of these values."""
        _, hot = self._members(self._number(start), column, values)
        return float(hot.mean()) if len(hot) else 0.0

    def sample_group(
        self, start: str, column: str, values: tuple[int, ...], inside: bool, path: Sequence[str]
    ) -> tuple[float, ...]:
        """As `sample`, of the rows that have one of the values, or, if not ``inside``, of all others."""
        numbers = tuple(map(self._number, (start, *path)))
        group = numbers[0], column, values, inside
        return tuple(self._group_trail(group, numbers[: i + 1]).mean for i in range(1, len(numbers)))

    def _members(self, stream: int, column: str, values: tuple[int, ...]) -> tuple[Any, Any]:
        """Rows of a stream, and which of them have one of the values."""
        rows, linked = self._base(stream, WIDE)
        c = self._compiler.columns[self._compiler.names[stream]][column]
        return rows[linked], np.isin(self._keys(stream, c, rows[linked]), np.array(values, np.int64))

    def _group_trail(self, group: Group, path: tuple[int, ...]) -> Trail:
        known = self._groups.get((group, path))
        if known is None:
            if len(path) > 1:
                known = self._step(self._group_trail(group, path[:-1]), path)
            else:
                stream, column, values, inside = group
                found, hot = self._members(stream, column, values)
                found = found[hot == inside][:SAMPLE]
                rows = np.zeros((len(found), len(self._streams)), np.int64)
                rows[:, stream] = found
                whole = float(self._shares[stream])
                known = Trail(rows, whole / max(1, len(found)), whole)
            self._groups[group, path] = known
        return known
