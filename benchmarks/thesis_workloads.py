"""The data sets of the thesis (6.1): star joins on one attribute, windows of rows, arrival rates that keep changing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

import eddy

NAMES = "ABCDEF"
UNI = (500, 1_000, 2_000, 10_000, 50_000, 100_000)
FIRST = 500_000
PUNI = (1_000, 2_000, 10_000, 50_000, 500_000)
ZIPF = {  # skew: streams with a Zipf distribution, their ranges, ranges of the others
    0.2: (6, (10_000, 20_000, 100_000, 200_000), ()),
    0.4: (6, (100_000, 200_000, 300_000, 1_000_000), ()),
    0.6: (3, (1_000_000, 1_500_000), (10_000, 20_000, 50_000)),
    0.8: (2, (10_000_000, 20_000_000), (5_000, 10_000, 50_000)),
}
MOST_RESULTS, MOST_BETWEEN = 50.0, 2_000.0
"""Per event, results of a set that is run, and what its worst order makes on the way. With some draws of the ranges
that the thesis gives, each row has millions of partners; these are drawn again."""

Floats = npt.NDArray[np.float64]
Batch = dict[str, dict[str, npt.NDArray[np.int64]]]


@frozen(eq=False)
class DataSet:
    """One draw of a set: for each stream its ranges, and how skewed it is."""

    name: str
    streams: int
    window: int
    seed: int
    skew: float = 0.0
    _random: np.random.Generator = field(init=False, repr=False)
    _ranges: list[int] = field(init=False, repr=False)
    _skews: list[float] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_random", np.random.default_rng([self.seed, self.streams, self.window]))
        while True:
            ranges, skews = self._draw()
            object.__setattr__(self, "_ranges", ranges)
            object.__setattr__(self, "_skews", skews)
            if self._bearable(ranges):
                break
        # The order of declaration says nothing.
        order = self._random.permutation(self.streams)
        object.__setattr__(self, "_ranges", [ranges[i] for i in order])
        object.__setattr__(self, "_skews", [skews[i] for i in order])

    def _draw(self) -> tuple[list[int], list[float]]:
        pick = self._random.choice
        if self.name == "Uni-Set":
            return [FIRST, *pick(UNI, self.streams - 1).tolist()], [0.0] * self.streams
        if self.name == "pUni-Set":
            return pick(PUNI, self.streams).tolist(), [0.0] * self.streams
        skewed, wide, narrow = ZIPF[self.skew]
        others = self.streams - skewed
        ranges = [*pick(wide, skewed).tolist(), *(pick(narrow, others).tolist() if others else [])]
        return ranges, [self.skew] * skewed + [0.0] * others

    def _bearable(self, ranges: list[int]) -> bool:
        """By uniform keys, of which the smaller ranges are within the larger."""
        if self.name == "Zipf-Set":
            return True
        by_size = sorted(ranges)
        fans = [self.window / r for r in by_size]
        return np.prod(fans[1:]) <= MOST_RESULTS and np.prod([f for f in fans[:-1] if f > 1]) <= MOST_BETWEEN

    @property
    def names(self) -> str:
        return NAMES[: self.streams]

    def query(self) -> Any:
        window = eddy.Rows(self.window)
        streams = {n: eddy.Stream({"com": "int64", "other": "int64"}, window=window) for n in self.names}
        first, *others = self.names
        return eddy.Query(streams, where=[f"{first}.com = {name}.com" for name in others])

    def batches(self, rows: int, size: int) -> Iterator[Batch]:
        """Batches of ``size`` events, until there were ``rows`` for each stream on average.

        Every few thousand events rates are drawn again. Of pUni-Set a stream changes its range every 100,000 rows.
        """
        counts = np.zeros(self.streams, np.int64)
        ranges = list(self._ranges)
        weights = np.ones(self.streams) / self.streams
        for number in range(rows * self.streams // size):
            if number * size // 5_000 != (number - 1) * size // 5_000:
                weights = self._random.uniform(0.1, 1.0, self.streams)
                weights /= weights.sum()
            shares = self._random.multinomial(size, weights)
            batch: Batch = {}
            for s, name in enumerate(self.names):
                if self.name == "pUni-Set" and counts[s] // 100_000 != (counts[s] + shares[s]) // 100_000:
                    ranges[s] = self._changed(ranges, s)
                counts[s] += shares[s]
                values = self._values(ranges[s], self._skews[s], int(shares[s]))
                batch[name] = {"com": values, "other": values}
            yield batch

    def _changed(self, ranges: list[int], stream: int) -> int:
        while True:
            wanted = int(self._random.choice(PUNI))
            if self._bearable([*ranges[:stream], wanted, *ranges[stream + 1 :]]):
                return wanted

    def _values(self, top: int, skew: float, size: int) -> npt.NDArray[np.int64]:
        """Uniform over 1 to top, or i with a probability as 1 / i**skew (by the integral of that)."""
        if skew == 0.0:
            return self._random.integers(1, top + 1, size)
        left = 1.0 - skew
        found = (self._random.random(size) * (top**left - 1.0) + 1.0) ** (1.0 / left)
        return np.minimum(found, top).astype(np.int64)
