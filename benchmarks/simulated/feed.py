"""Poisson arrivals: exponential gaps, seeded; values uniform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from attrs import frozen

from benchmarks.workloads import Batch

Int64s = npt.NDArray[np.int64]
MS = 1_000
"""Units of time in a millisecond: times are whole microseconds."""


@frozen(eq=False)
class Feed:
    """Rows of several streams in the order of their times."""

    names: str
    streams: npt.NDArray[np.int32]
    """The stream of each row."""
    times: Int64s
    """In microseconds."""
    columns: Mapping[str, Int64s]
    """For each attribute a value a row; a stream uses those that it has."""
    attributes: Mapping[str, tuple[str, ...]]
    """Of each stream."""

    def __len__(self) -> int:
        return len(self.streams)

    def batch(self, start: int, end: int) -> Batch:
        """Some rows as a push."""
        made: Batch = {}
        for s, name in enumerate(self.names):
            own = np.flatnonzero(self.streams[start:end] == s) + start
            if len(own):
                values = {a: self.columns[a][own] for a in self.attributes[name]}
                made[name] = {"ts": self.times[own]} | values
        return made

    def batches(self, start: int, end: int, size: int) -> Iterator[Batch]:
        """Rows in pushes of so many."""
        for i in range(start, end, size):
            yield self.batch(i, min(i + size, end))

    def before(self, milliseconds: float) -> int:
        """How many rows come before this time."""
        return int(np.searchsorted(self.times, round(milliseconds * MS)))


def arrivals(
    gaps: Mapping[str, float], length: float, random: np.random.Generator
) -> tuple[npt.NDArray[np.int32], Int64s]:
    """Streams and times of the rows that come in so many milliseconds, by the mean gap of each stream.

    All streams together are one Poisson process, and each row is of a stream with a chance in proportion to its rate.
    """
    rates = np.array([1 / gap for gap in gaps.values()])
    total = rates.sum()
    drawn = np.empty(0)
    while not len(drawn) or drawn[-1] < length:
        more = random.exponential(1 / total, max(16, round(length * total / 4)))
        drawn = np.concatenate((drawn, (drawn[-1] if len(drawn) else 0.0) + np.cumsum(more)))
    times = drawn[drawn < length]
    streams = random.choice(len(rates), len(times), p=rates / total).astype(np.int32)
    return streams, np.floor(times * MS).astype(np.int64)
