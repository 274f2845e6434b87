"""Seeded feeds: the same events as batches for an engine and as plain arrays for the limits."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

ONE_KEY, CHAIN, STAR = 0, 1, 2
SHAPES = {"one key": ONE_KEY, "chain": CHAIN, "star": STAR}

Batch = dict[str, dict[str, npt.NDArray[np.int64]]]


@frozen(eq=False)
class Chunk:
    """Some events in arrival order: the stream of each, and its attributes, one array for each."""

    streams: npt.NDArray[np.int32]
    columns: tuple[npt.NDArray[np.int64], ...]
    first: int
    """The number of the first event; an event's number is its time."""

    def __len__(self) -> int:
        return len(self.streams)


@frozen(eq=False)
class Workload:
    """n streams that arrive in random turns, with keys uniform over `keys` values.

    `one key`: A.x = B.x = C.x = ...; `chain`: A.x1 = B.x0, B.x1 = C.x0, ...; `star`: A.x0 = B.x0,
    A.x1 = C.x0, ...: the shapes that `limit.cpp` has compiled in.
    """

    streams: int
    window: int
    keys: int
    shape: str = "one key"
    seed: int = 0
    _random: np.random.Generator = field(init=False, repr=False)
    _events: list[int] = field(init=False, repr=False, factory=lambda: [0])

    @_random.default
    def _seeded(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def names(self) -> str:
        return string.ascii_uppercase[: self.streams]

    @property
    def plan(self) -> str:
        """Left-deep, in the order of the streams: "((A B) C) D"."""
        plan = self.names[0]
        for name in self.names[1:]:
            plan = f"({plan}) {name}" if len(plan) > 1 else f"{plan} {name}"
        return plan

    @property
    def attributes(self) -> int:
        """The most attributes that a stream has."""
        return {ONE_KEY: 1, CHAIN: 2, STAR: self.streams - 1}[SHAPES[self.shape]]

    def columns(self, stream: int) -> tuple[str, ...]:
        """The names of the stream's attributes; a leaf of a star has one."""
        width = 1 if self.shape == "star" and stream else self.attributes
        return tuple(f"x{i}" for i in range(width))

    def where(self) -> list[str]:
        a, names = self.names[0], self.names
        if self.shape == "chain":
            return [f"{left}.x1 = {right}.x0" for left, right in itertools.pairwise(names)]
        if self.shape == "star":
            return [f"{a}.x{i} = {name}.x0" for i, name in enumerate(names[1:])]
        return [f"{a}.x0 = {name}.x0" for name in names[1:]]

    def query(self, window: Any = None) -> Any:
        """The query for an `Eddy`, over windows of rows unless another is given."""
        import eddy

        window = eddy.Rows(self.window) if window is None else window
        streams = {
            name: eddy.Stream({"ts": "int64"} | dict.fromkeys(self.columns(s), "int64"), window=window)
            for s, name in enumerate(self.names)
        }
        return eddy.Query(streams, where=self.where())

    def chunk(self, events: int) -> Chunk:
        """The next so many events."""
        first = self._events[0]
        self._events[0] += events
        streams = self._random.integers(0, self.streams, events, dtype=np.int32)
        columns = tuple(self._random.integers(0, self.keys, events) for _ in range(self.attributes))
        return Chunk(streams, columns, first)

    def batches(self, chunk: Chunk, size: int = 4096) -> list[Batch]:
        """The chunk as batches of `size` events for `push_all`: numpy columns by stream, `ts` among them."""
        return [self._batch(chunk, i, min(i + size, len(chunk))) for i in range(0, len(chunk), size)]

    def _batch(self, chunk: Chunk, start: int, end: int) -> Batch:
        batch: Batch = {}
        for s, name in enumerate(self.names):
            own = np.flatnonzero(chunk.streams[start:end] == s) + start
            values = {f"x{i}": chunk.columns[i][own] for i in range(len(self.columns(s)))}
            batch[name] = {"ts": own + chunk.first} | values
        return batch

    def rows(self, chunk: Chunk) -> Iterator[tuple[str, dict[str, npt.NDArray[np.int64]]]]:
        """The chunk row by row, for `push`."""
        for i in range(len(chunk)):
            s = int(chunk.streams[i])
            values = {f"x{k}": chunk.columns[k][i : i + 1] for k in range(len(self.columns(s)))}
            yield self.names[s], {"ts": np.array([chunk.first + i])} | values

    @property
    def warm(self) -> int:
        """Events after which all windows are full, and composites have begun to expire."""
        return 2 * self.streams * self.window
