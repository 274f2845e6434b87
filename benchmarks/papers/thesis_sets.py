"""The data sets of the thesis (6.1): star joins on one attribute, windows of rows, arrival rates that keep changing.

A tuple has 100 bytes: ID, TS and COM of 8 each, and OTHER, a string of 76 that nobody compares. TS is the moment of
arrival, by which the streams are merged: which stream a tuple comes from is scrambled within every time unit.

Whatever ranges are drawn are run. With some of them each tuple has thousands of partners; then a unit comes in slices,
so that no push makes more composites than fit into memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

import eddy

NAMES = "ABCDEF"
UNI_SET, PUNI_SET, ZIPF_SET, SIMILAR_SET = "Uni-Set", "pUni-Set", "Zipf-Set", "similar streams"
WIDEST = 500_000
"""The range of the first stream of Uni-Set, and of all streams of pUni-Set to begin with."""
UNI = (500, 1_000, 2_000, 10_000, 50_000, 100_000)
PUNI = (1_000, 2_000, 10_000, 50_000, 500_000)
ZIPF = {  # Table 6.2. skew: streams with a Zipf distribution, their ranges, ranges of the others
    0.2: (6, (10_000, 20_000, 100_000, 200_000), ()),
    0.4: (6, (100_000, 200_000, 300_000, 1_000_000), ()),
    0.6: (3, (1_000_000, 1_500_000), (10_000, 20_000, 50_000)),
    0.8: (2, (10_000_000, 20_000_000), (5_000, 10_000, 50_000)),
}
SIMILAR = (10_000, 11_000, 12_000, 13_000, 14_000, 15_000)
"""Not the thesis' own numbers: it names none (6.2.2)."""
CHANGED = 100_000
"""Tuples of a stream of pUni-Set after which its range is drawn again."""
UNIT = 1_000
"""Events of a time unit."""
RATES = 5
"""Time units after which arrival rates are drawn again."""
OTHER = 76
"""Bytes."""
TOGETHER = 2_000_000
"""Composites that the worst order of a push makes at one step, at the most and as far as ranges tell."""
HEADS = 1_000
"""Values whose probability by Zipf's law is summed up, not integrated."""
LETTERS = pa.py_buffer(np.random.default_rng(0).integers(97, 123, 2 * OTHER * UNIT, np.uint8).tobytes())

Batch = dict[str, dict[str, Any]]


@frozen(eq=False)
class DataSet:
    """One draw of a set. With a ``scale`` windows, ranges and the tuples between two changes of a range are so many
    times smaller than in the thesis: a tuple has as many partners as there."""

    name: str
    streams: int
    window: int
    """As in the thesis, where it is 5,000, 10,000 or 15,000."""
    seed: int
    skew: float = 0.0
    scale: int = 1
    ranges: tuple[int, ...] = field(init=False)
    """Of each stream, to begin with."""
    skews: tuple[float, ...] = field(init=False)
    _random: np.random.Generator = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        random = np.random.default_rng([self.seed, self.streams])
        ranges, skews = _drawn(self, random)
        object.__setattr__(self, "_random", random)
        object.__setattr__(self, "ranges", tuple(int(top) // self.scale for top in ranges))
        object.__setattr__(self, "skews", tuple(skews))

    @property
    def names(self) -> str:
        return NAMES[: self.streams]

    @property
    def rows(self) -> int:
        """Of each window."""
        return self.window // self.scale

    def query(self) -> eddy.Query:
        columns = {"id": "int64", "ts": "int64", "com": "int64", "other": "string"}
        streams = {name: eddy.Stream(columns, window=eddy.Rows(self.rows), time="ts") for name in self.names}
        first, *others = self.names
        return eddy.Query(streams, where=[f"{first}.com = {name}.com" for name in others])

    def slices(self, tuples: int) -> Iterator[Slice]:
        """What arrives, until there were so many ``tuples`` of each stream on average; to be asked for once."""
        feed = _Feed(self.ranges)
        weights = np.zeros(0)
        for unit in range(tuples * self.streams // UNIT):
            if unit % RATES == 0:
                weights = self._random.uniform(0.1, 1.0, self.streams)
            shares = self._random.multinomial(UNIT, weights / weights.sum())
            if self.name == PUNI_SET:
                feed = self._changed(feed, shares)
            whose = self._random.permutation(np.repeat(np.arange(self.streams), shares))
            values = [self._values(feed.ranges[s], self.skews[s], n) for s, n in enumerate(shares.tolist())]
            size = max(1, min(UNIT, int(TOGETHER / most_composites(feed.narrowest(self.rows), self.rows))))
            first = unit * UNIT
            for start in range(0, UNIT, size):
                yield Slice(self._batch(whose, values, first, start, min(start + size, UNIT)), feed.ranges)

    def _changed(self, feed: _Feed, shares: npt.NDArray[np.int64]) -> _Feed:
        """The feed after a unit, in which streams may have come to the end of a range."""
        every = CHANGED // self.scale
        ranges, former, since = list(feed.ranges), list(feed.former or feed.ranges), []
        for s, share in enumerate(shares.tolist()):
            count = feed.count[s] + share
            if count // every != feed.count[s] // every:
                former[s], ranges[s] = ranges[s], int(self._random.choice(PUNI)) // self.scale
            since.append(count)
        return _Feed(tuple(ranges), tuple(former), tuple(since), every)

    def _batch(
        self, whose: npt.NDArray[np.int64], values: Sequence[Any], first: int, start: int, stop: int
    ) -> Batch:
        batch: Batch = {}
        for s, name in enumerate(self.names):
            times = np.flatnonzero(whose == s)
            low, high = np.searchsorted(times, (start, stop)).tolist()
            moments = first + times[low:high]
            batch[name] = {"id": moments, "ts": moments, "com": values[s][low:high], "other": _texts(moments)}
        return batch

    def _values(self, top: int, skew: float, size: int) -> npt.NDArray[np.int64]:
        """Uniform over 1 to top, or by Zipf's law."""
        if skew == 0.0:
            return self._random.integers(1, top + 1, size)
        return _zipf(top, skew).values(self._random.random(size))


@frozen
class Slice:
    """Arrivals that are pushed together, and the ranges that they are from."""

    batch: Batch
    ranges: tuple[int, ...]


@frozen
class _Feed:
    """Where a draw stands: ranges, those before them, and how many tuples of each stream have come."""

    ranges: tuple[int, ...]
    former: tuple[int, ...] = ()
    count: tuple[int, ...] = (0,) * len(NAMES)
    every: int = 0

    def narrowest(self, rows: int) -> tuple[int, ...]:
        """The narrowest range of which windows of so many rows may still have tuples."""
        if not self.former:
            return self.ranges
        return tuple(
            min(now, before) if count % self.every < rows + UNIT else now
            for now, before, count in zip(self.ranges, self.former, self.count, strict=False)
        )


@frozen
class Zipf:
    """From 1 to ``top``, i with a probability as 1 / i**skew: the first ones summed up, the rest by the integral."""

    top: int
    skew: float
    heads: npt.NDArray[np.float64]
    """Sums of the weights of the first ones."""

    def values(self, chances: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Values for numbers that are drawn uniformly from 0 to 1."""
        left, most = 1.0 - self.skew, float(self.heads[-1])
        begin = (len(self.heads) + 0.5) ** left
        rest = ((self.top + 0.5) ** left - begin) / left
        at = chances * (most + rest)
        low = np.searchsorted(self.heads, at, "right") + 1
        high = np.rint((np.maximum(at - most, 0.0) * left + begin) ** (1.0 / left)).astype(np.int64)
        return np.where(at < most, low, np.minimum(high, self.top))


@cache
def _zipf(top: int, skew: float) -> Zipf:
    return Zipf(top, skew, np.cumsum(np.arange(1, min(top, HEADS) + 1, dtype=np.float64) ** -skew))


def most_composites(ranges: Sequence[int], rows: int) -> float:
    """The most composites that an event can make at one step, on average, whatever the order: of streams whose ranges
    contain each other, all but the narrowest find so many partners as there are rows for each value."""
    return math.prod(max(rows / top, 1.0) for top in sorted(ranges)[1:])


def results_of(ranges: Sequence[int], rows: int) -> float:
    """Results of an event, on average, of streams with uniform ranges."""
    return math.prod(rows / top for top in sorted(ranges)[1:])


def _drawn(made: DataSet, random: np.random.Generator) -> tuple[list[int], list[float]]:
    """Ranges and skews, as the thesis draws them."""
    if made.name == UNI_SET:
        return [WIDEST, *random.choice(UNI, made.streams - 1)], [0.0] * made.streams
    if made.name == PUNI_SET:
        return [WIDEST] * made.streams, [0.0] * made.streams
    if made.name == SIMILAR_SET:
        return list(random.permutation(SIMILAR)[: made.streams]), [0.0] * made.streams
    skewed, wide, narrow = ZIPF[made.skew]
    others = made.streams - skewed
    ranges = [*random.choice(wide, skewed), *(random.choice(narrow, others) if others else ())]
    return ranges, [made.skew] * skewed + [0.0] * others


def _texts(moments: npt.NDArray[np.int64]) -> pa.StringArray:
    """A string for each tuple, from some letters: they share a buffer, as those of a file would."""
    size = len(moments)
    ends = pa.py_buffer(np.arange(0, OTHER * (size + 1), OTHER, dtype=np.int32))
    start = int(moments[0]) % (OTHER * UNIT) if size else 0
    return pa.StringArray.from_buffers(size, ends, LETTERS.slice(start, OTHER * size))
