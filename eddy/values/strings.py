"""The string pool: a code for every string that the engine holds, so that joins and payloads see integers.

Codes are dense, and the code of a string that is in use never changes. Strings that no live row uses any more
stay until a sweep, which the engine runs when the pool asks for it; their codes are then given out again. So
memory follows the live strings, however many have passed. Strings that nobody compares are not interned but carried:
their codes are negative, and say where they are (`Carried`). Bytes are like strings; opaque values are always carried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.errors import StateError
from eddy.values.arrow import as_bytes
from eddy.values.carried import LONGEST, NOTHING, Carried, texts
from eddy.values.carried_kernels import LOWEST, mark
from eddy.values.dictionaries import Dictionaries
from eddy.values.string_kernels import LENGTH, LIVE, NEXT, USED, compact, gather, intern, lengthen, place
from eddy.values.types import STRING, Array, ColumnType
from stairs.lowlevel.address import address_of

FEW = 4096
"""A pool with no more strings than this, and no more bytes than 16 times this, is never worth a sweep."""
MOST_CODES = (1 << 32) - 2


@define(eq=False)
class StringPool:
    """Of interned strings equal codes if and only if equal strings. One pool serves a whole engine."""

    _table: Array = field(init=False, repr=False, factory=lambda: np.zeros(64, np.int64))
    _records: Array = field(init=False, repr=False, factory=lambda: np.empty((32, 3), np.int64))
    _arena: Array = field(init=False, repr=False, factory=lambda: np.empty(512, np.uint8))
    _state: Array = field(init=False, factory=lambda: np.array([-1, 0, 0, 0], np.int64))
    _sweep_at: tuple[int, int] = field(init=False, default=(FEW, 16 * FEW))
    """The numbers of strings and of bytes above which a sweep is due."""
    _carried: Carried = field(init=False, repr=False, factory=Carried)
    _dictionaries: Dictionaries = field(init=False, repr=False, factory=Dictionaries)

    def __len__(self) -> int:
        return int(self._state[LIVE])

    @property
    def nbytes(self) -> int:
        """The memory of the pool, slack included."""
        own = self._table.nbytes + self._records.nbytes + self._arena.nbytes
        return int(own + self._carried.nbytes + self._dictionaries.nbytes)

    @property
    def wants_sweep(self) -> bool:
        """Whether the pool has doubled since the last sweep, in strings or in bytes."""
        strings, size = self._sweep_at
        own = self._state[LIVE] > strings or self._state[USED] > size
        return bool(own or self._carried.wants_sweep)

    def carry(self, owner: Hashable, text: pa.Array, here: Array | None = None) -> Array:
        """Codes for strings that are only to be decoded again, never compared: see `Carried.carry`."""
        return self._carried.carry(owner, text, here)

    def encode(self, text: pa.Array, here: Array | None = None) -> Array:
        """The codes of these strings, or bytes, which are of type string, large_string or binary and never null.

        They may also be coded by a dictionary (`is_coded`), and null then, where a code means nothing. ``here`` are
        the places of those that somebody may ask for; None: all. The others need not be interned.
        """
        if isinstance(text, pa.DictionaryArray):
            return self._dictionaries.encode(text, self.encode)
        if here is not None:
            codes = np.full(len(text), NOTHING)
            codes[here] = self._interned(text, here)
            return codes
        return self._interned(text, None)

    def _interned(self, text: pa.Array, here: Array | None) -> Array:
        """The codes of the strings at these places; None: of all."""
        count = len(text) if here is None else len(here)
        codes = np.empty(count, np.int64)
        if not count:
            return codes
        large = pa.types.is_large_string(text.type)
        _, ends, body = text.buffers()
        offsets = np.frombuffer(ends, np.int64 if large else np.int32)
        offsets = offsets[text.offset : text.offset + len(text) + 1].astype(np.int64)
        starts, stops = offsets[:-1], offsets[1:]
        if here is not None:
            starts, stops = starts.take(here), stops.take(here)
        data = np.frombuffer(body if body is not None else b"", np.uint8)
        done = 0
        while True:
            pool = self._table, self._records, self._arena, self._state
            done = intern(done, starts, stops, data, *pool, codes)
            if done == count:
                return codes
            self._grow(int(stops[done] - starts[done]))

    def decode(self, codes: Array, kind: ColumnType = STRING) -> pa.Array | pa.ChunkedArray:
        """The strings, bytes or opaque values of these codes, all interned or all carried.

        They are in several chunks if they are too long for one plain Arrow array.
        """
        codes = np.ascontiguousarray(codes, np.int64)
        if kind.kind == "opaque":
            return self._carried.opened(codes, kind.inside)
        found = self._decoded(codes)
        return found if kind.kind == "string" else as_bytes(found)

    def _decoded(self, codes: Array) -> pa.Array | pa.ChunkedArray:
        if len(codes) and codes[0] < 0:
            return self._carried.decode(codes)

        def measure(some: Array, limit: int, offsets: Array) -> int:
            return int(lengthen(some, self._records, limit, offsets))

        def collect(some: Array, offsets: Array, out: int) -> None:
            gather(some, self._records, address_of(self._arena), offsets, out)

        return texts(codes, measure, collect)

    def sweep(self, in_use: Iterable[Array]) -> None:
        """Forget every string whose code is in none of these arrays. All other codes keep their meaning."""
        wanted = np.zeros(int(self._state[NEXT]), np.bool_)
        reach = np.full((self._carried.chunks, 2), -1)
        reach[:, LOWEST] = LONGEST
        for codes in (*in_use, *self._dictionaries.codes_in_use()):
            mark(np.ascontiguousarray(codes), wanted, reach)
        self._carried.sweep(reach)
        lengths = self._records[: len(wanted), LENGTH]
        size = int(lengths[wanted & (lengths > 0)].sum())
        fresh = np.empty(max(512, 2 * size), np.uint8)
        compact(wanted, self._arena, self._records, self._state, fresh)
        self._arena = fresh
        top = int(self._state[NEXT])
        if 4 * top < len(self._records):
            self._records = self._records[: max(32, 2 * top)].copy()
        self._rehash(max(64, 1 << (4 * len(self) - 1).bit_length()))
        self._sweep_at = (max(FEW, 2 * len(self)), max(16 * FEW, 2 * size))

    def _grow(self, length: int) -> None:
        """Make room for one more string of this length, at least, in whatever was too small."""
        if 2 * len(self) >= len(self._table):
            self._rehash(2 * len(self._table))
        used = int(self._state[USED])
        if used + length > len(self._arena):
            arena = np.empty(max(2 * len(self._arena), used + length), np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena
        top = int(self._state[NEXT])
        if top == len(self._records):
            if top >= MOST_CODES:
                raise StateError("more than four thousand million strings are live; use smaller windows")
            records = np.empty((2 * top, 3), np.int64)
            records[:top] = self._records
            self._records = records

    def _rehash(self, size: int) -> None:
        self._table = np.zeros(size, np.int64)
        place(self._records, self._state, self._table)
