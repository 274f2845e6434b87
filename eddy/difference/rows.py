"""The rows that a batch brings to a chain of set differences, checked and laid out for its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define
from numpy.typing import NDArray

from eddy.difference.layout import Int32s, Int64s
from eddy.errors import BatchError

Flags = NDArray[np.uint8] | NDArray[np.bool_]

LaidOut = tuple[Int32s, Int32s, Int64s, NDArray[np.uint8], Int64s, NDArray[np.uint8]]
"""The fields of a `Batch` for kernels, but for its buckets."""


@define(eq=False)
class KeyedRows:
    """The rows of one stream in a batch."""

    keys: Sequence[Int64s] = ()
    """One array for each key: of the base all that conditions name, of an inner stream those of its condition."""
    valid: Sequence[Flags | None] = ()
    """For each key 0 where it is NULL and matches nothing. Empty, or None for a key: it is never NULL."""
    kept: Flags | None = None
    """0 for rows that a filter rejects: they are never results, and block nothing. None: it rejects none."""

    def usable(self, keys: Sequence[int]) -> Flags | None:
        """0 where one of these keys is NULL; None if that is nowhere."""
        found: Flags | None = None
        for valid in [self.valid[key] for key in keys] if self.valid else []:
            if valid is not None:
                found = valid if found is None else (found != 0) & (valid != 0)
        return found


class Conditions:
    """By which keys inner streams are matched. Those with the same condition share a *column*."""

    def __init__(self, of_streams: Sequence[Sequence[int]]) -> None:
        self.of_streams = [tuple(condition) for condition in of_streams]
        """For each inner stream the keys of the base that its own are compared with."""
        self.columns = list(dict.fromkeys(self.of_streams))
        self.base_keys = 1 + max((key for condition in self.columns for key in condition), default=-1)
        """How many keys a base row has."""
        self.width = max(1, *(len(condition) for condition in self.columns))
        """The most keys that a condition has, and at least 1."""

    def lay_out(
        self, streams: Int32s, marks: Int32s, rows: Mapping[int, KeyedRows]
    ) -> tuple[Int64s, LaidOut]:
        """How many rows each stream has, and the batch as kernels take it, but for its buckets.

        An event of stream -1 has no row: time goes on, and that is all.
        """
        arriving = self._counted(streams, rows)
        self._check(streams, marks, arriving, rows)
        base = rows.get(0, KeyedRows())
        base_keys = np.empty((arriving[0], max(1, self.base_keys)), np.int64)
        base_flags = np.ones((arriving[0], len(self.columns) + 1), np.uint8)
        if arriving[0]:
            for key, values in enumerate(base.keys):
                base_keys[:, key] = values
            for column, flags in enumerate([*map(base.usable, self.columns), base.kept]):
                if flags is not None:
                    base_flags[:, column] = flags
        keys = np.empty((int(arriving[1:].sum()), self.width), np.int64)
        kept = np.ones(len(keys), np.uint8)
        start = 0
        for s in range(1, len(arriving)):
            stop = start + int(arriving[s])
            if start < stop:
                for key, values in enumerate(rows[s].keys):
                    keys[start:stop, key] = values
                for flags in (rows[s].usable(range(len(rows[s].keys))), rows[s].kept):
                    if flags is not None:
                        kept[start:stop] &= flags != 0
            start = stop
        ready = np.ascontiguousarray(streams, np.int32), np.ascontiguousarray(marks)
        return arriving, (*ready, keys, kept, base_keys, base_flags)

    def _counted(self, streams: Int32s, rows: Mapping[int, KeyedRows]) -> Int64s:
        known = 1 + len(self.of_streams)
        strange = len(streams) and (streams.min() < -1 or streams.max() >= known)
        if strange or not set(rows) <= set(range(known)):
            raise BatchError(f"the batch has other streams than 0 to {known - 1}: number them like that")
        return np.bincount(streams[streams >= 0], minlength=known)

    def _check(self, streams: Int32s, marks: Int32s, arriving: Int64s, rows: Mapping[int, KeyedRows]) -> None:
        shape = len(streams), len(arriving)
        if marks.dtype != np.int32 or marks.shape != shape:
            raise BatchError(
                f"the marks are {marks.dtype} {marks.shape}: give int32 {shape}, a row for each event"
            )
        for s, count in enumerate(arriving.tolist()):
            given = rows.get(s, KeyedRows())
            wanted = len(self.of_streams[s - 1]) if s else self.base_keys
            if count and (len(given.keys) != wanted or len(given.valid) not in (0, wanted)):
                raise BatchError(
                    f"stream {s} has {len(given.keys)} keys: give {wanted}, and as many `valid` or none"
                )
            lengths = {len(array) for array in (*given.keys, *given.valid, given.kept) if array is not None}
            if not lengths <= {count}:
                raise BatchError(
                    f"stream {s} has {count} events but arrays of {min(lengths - {count})} rows: give a row for each"
                )
