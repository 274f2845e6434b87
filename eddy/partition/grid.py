"""Grids of cells: where a row goes by its keys, and where it is copied to.

A dimension is a key class, or the rows of one stream that has no key to cut by. Keys that are heavy have a grid of
their own, in which their class is no dimension any more. So the category of a result - for each class, which heavy key
it has, or that it has none - says which grid makes it, and its keys say in which cell of it: in exactly one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from eddy.errors import EddyError
from eddy.partition.hash import add_coordinates, key_of
from eddy.partition.shares import Dimension, Shares, allot, best, frontier
from eddy.query.keys import KeyClass
from eddy.values.types import Array, Column, Columns, Sample

HEAVY = 0.5
"""A key is heavy that puts more rows on its cells than this part of what a cell gets on average."""
SEEN = 8
"""Rows of a sample that must have a key before its share of the stream is estimated from them."""


@frozen
class HeavyKey:
    """A key that many rows have."""

    place: int
    """Its class, by its place in the partitioning."""
    key: int
    shown: str
    parts: dict[str, float]
    """Which part of each stream's rows has it, of those that have a key."""


@frozen
class Grid:
    """Cells from number ``start`` on, cut by shares of every dimension: the classes, then each stream's rows."""

    start: int
    category: tuple[int, ...]
    """For each class the number of its heavy key, from 1; 0: none of them."""
    shares: tuple[int, ...]
    load: float
    """Rows that a cell gets, estimated."""

    @property
    def cells(self) -> int:
        return int(np.prod(self.shares))

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(int(np.prod(self.shares[d + 1 :])) for d in range(len(self.shares)))


@define
class Weighed:
    """Streams and classes as the choice of shares sees them."""

    names: tuple[str, ...]
    classes: tuple[KeyClass, ...]
    sizes: dict[str, float]
    heavy: list[HeavyKey] = field(factory=list)
    whole: frozenset[int] = frozenset()
    """Classes, by their places, that are better not cut at all: their heavy keys have too much of the rows."""

    def dimensions(self, category: Sequence[int]) -> list[Dimension]:
        """What each dimension covers; a class whose key is given, or that is not cut, covers nothing."""
        of_classes = [
            frozenset() if fixed or place in self.whole else frozenset(c.members)
            for place, (c, fixed) in enumerate(zip(self.classes, category, strict=True))
        ]
        return of_classes + [frozenset((name,)) for name in self.names]

    def keys(self, place: int) -> list[HeavyKey]:
        """The heavy keys of a class, in order."""
        return sorted((heavy for heavy in self.heavy if heavy.place == place), key=lambda heavy: heavy.key)

    def categories(self) -> list[tuple[int, ...]]:
        choices = [range(len(self.keys(place)) + 1) for place in range(len(self.classes))]
        return list(itertools.product(*choices))

    def sizes_in(self, category: Sequence[int]) -> dict[str, float]:
        """Rows of each stream that a grid has to do with, as if classes had nothing to do with each other."""
        sizes = dict(self.sizes)
        for place, number in enumerate(category):
            keys = self.keys(place)
            for name in self.classes[place].members:
                if number:
                    sizes[name] *= keys[number - 1].parts.get(name, 0.0)
                else:
                    sizes[name] *= max(0.0, 1.0 - sum(heavy.parts.get(name, 0.0) for heavy in keys))
        return sizes

    def grids(self, cells: int) -> tuple[Grid, ...]:
        """The cells dealt out to the grids, so that the fullest cell has little."""
        categories = self.categories()
        ways = [
            frontier(self.sizes_in(category), self.dimensions(category), cells - len(categories) + 1)
            for category in categories
        ]
        found, start = [], 0
        for category, way in zip(categories, allot(ways, cells), strict=True):
            found.append(Grid(start, category, way.shares, way.load))
            start += way.cells
        return tuple(found)

    def plain(self, cells: int) -> Shares:
        """The shares if no key were heavy."""
        return best(self.sizes, self.dimensions([0] * len(self.classes)), cells)

    def leave_out(self, sample: Sample) -> None:
        """Take rows that are not sent off the sizes, by their share in a sample: one of their keys matches nothing."""
        for name in sample:
            keys = [key_of(c, name, sample[name][c.members[name]]) for c in self.classes if name in c.members]
            masks = [key.valid for key in keys if key.valid is not None and len(key.valid)]
            if masks:
                self.sizes[name] *= float(np.logical_and.reduce(masks).mean())

    def find_heavy(self, cells: int, sample: Sample) -> None:
        """Find the heavy keys in a sample, and keep those that are worth a grid of their own."""
        plain = self.plain(cells)
        dimensions = self.dimensions([0] * len(self.classes))
        found: list[tuple[float, HeavyKey]] = []
        for place, key_class in enumerate(self.classes):
            if plain.shares[place] > 1:
                for heavy in _frequent(place, key_class, sample):
                    weight = sum(
                        part * self.sizes[name] / _others(plain, dimensions, name, place)
                        for name, part in heavy.parts.items()
                    )
                    if weight > HEAVY * plain.load:
                        found.append((weight, heavy))
        found.sort(key=lambda item: -item[0])
        worst = plain.load + (found[0][0] if found else 0.0)
        for _, heavy in found:
            self.heavy.append(heavy)
            if len(self.categories()) > max(2, cells // 2):
                self.heavy.pop()
        if self.heavy and self._load(cells) > worst:
            self.heavy = []
        if self.heavy:
            self._cut_others(cells, sample)

    def _cut_others(self, cells: int, sample: Sample) -> None:
        """Cut other classes in the place of those with heavy keys, if there are such, and a cell then gets fewer rows.

        With few cells a heavy key fills one by itself, where rows are cut evenly by another class.
        """
        heavy, whole, load = self.heavy, self.whole, self._load(cells)
        self.heavy, self.whole = [], whole | {item.place for item in heavy}
        of_rows = self.plain(cells).shares[len(self.classes) :]
        if all(share == 1 for share in of_rows):
            self.find_heavy(cells, sample)
        if any(share > 1 for share in of_rows) or self._load(cells) >= load:
            self.heavy, self.whole = heavy, whole

    def _load(self, cells: int) -> float:
        """Rows that the fullest cell gets, estimated."""
        return max(grid.load for grid in self.grids(cells))


def _others(plain: Shares, dimensions: list[Dimension], name: str, place: int) -> int:
    return int(np.prod([s for d, s in enumerate(plain.shares) if name in dimensions[d] and d != place]))


def _frequent(place: int, key_class: KeyClass, sample: Sample) -> list[HeavyKey]:
    """The keys of a class that a sample has often enough to say something, with their parts of each stream."""
    counts: dict[int, dict[str, float]] = {}
    shown: dict[int, str] = {}
    for name, column in key_class.members.items():
        if name not in sample:
            continue
        found = key_of(key_class, name, sample[name][column])
        rows = np.flatnonzero(found.known)
        keys, first, often = np.unique(found.values[rows], return_index=True, return_counts=True)
        total = len(rows)
        for i in np.flatnonzero(often >= SEEN):
            counts.setdefault(int(keys[i]), {})[name] = float(often[i]) / total
            value = sample[name][column][int(rows[first[i]])]
            shown.setdefault(int(keys[i]), str(getattr(value, "as_py", lambda value=value: value)()))
    return [HeavyKey(place, key, shown[key], parts) for key, parts in counts.items()]


def deal(
    weighed: Weighed,
    grids: tuple[Grid, ...],
    stream: str,
    columns: Columns,
    numbers: Array | None,
) -> tuple[Array, Array]:
    """Rows, by their place in the batch, and the cells that each is sent to; rows that cannot match are not sent."""
    classes = [(p, c) for p, c in enumerate(weighed.classes) if stream in c.members]
    keys = {place: key_of(c, stream, columns[c.members[stream]]) for place, c in classes}
    n = len(next(iter(columns.values()))) if columns else len(numbers if numbers is not None else ())
    valid = np.ones(n, np.bool_)
    for found in keys.values():
        if found.valid is not None:
            valid &= found.valid
    categories = {place: _categories(weighed.keys(place), found.values) for place, found in keys.items()}
    own = len(weighed.classes) + weighed.names.index(stream)
    rows_out, cells_out = [], []
    for grid in grids:
        here = valid.copy()
        for place, category in categories.items():
            here &= category == grid.category[place]
        rows = np.flatnonzero(here)
        cells = np.full(len(rows), grid.start, np.int64)
        copies = np.zeros(1, np.int64)
        for d, (share, stride) in enumerate(zip(grid.shares, grid.strides, strict=True)):
            if share == 1:
                continue
            if d in keys or d == own:
                add_coordinates(_along(keys, d, rows, numbers), d, share, stride, cells)
            else:
                copies = (copies[:, None] + np.arange(share) * stride).ravel()
        rows_out.append(np.repeat(rows, len(copies)))
        cells_out.append((cells[:, None] + copies).ravel().astype(np.int32))
    return np.concatenate(rows_out), np.concatenate(cells_out)


def _along(keys: Mapping[int, Column], d: int, rows: Array, numbers: Array | None) -> Array:
    """What places the rows along a dimension: their keys, or their numbers."""
    if d in keys:
        along: Array = keys[d].values[rows]
        return along
    if numbers is None:
        raise EddyError(
            "these streams are dealt out by row number, since they have no key: pass numbers=, the number of each row"
        )
    return np.ascontiguousarray(np.asarray(numbers, np.int64)[rows])


def _categories(heavy: list[HeavyKey], keys: Array) -> Array:
    """For each key its number among the heavy ones, from 1, or 0."""
    if not heavy:
        return np.zeros(len(keys), np.int64)
    known = np.array([item.key for item in heavy], np.int64)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, at + 1, 0)
