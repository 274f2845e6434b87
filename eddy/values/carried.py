"""What is only carried, strings above all: no predicate, key or group reads them, so nobody asks whether two are equal.

They are not interned but kept in the Arrow buffers that they came in, *chunk* by chunk. The code of one says where it
is, so it never changes and no two rows share one. A chunk goes when a sweep finds that nobody needs any of its strings;
when few are needed, they are copied, and the rest goes. Values of opaque types are kept as Arrow has them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from eddy.values.carried_kernels import (
    CHUNK,
    DATA,
    ENDS,
    HIGHEST,
    INDEX,
    LOWEST,
    collect,
    is_run,
    measure,
)
from eddy.values.parcels import Chunk, Parcel, collected, packed
from eddy.values.types import Array
from stairs.lowlevel.address import address_of

SMALL = 1 << 14
"""Strings of fewer bytes than this are copied, together with others that came before and will come after them."""
BLOCK = 1 << 17
"""Bytes of the largest chunk to which small pushes are added."""
FIRST_BLOCK = 1 << 12
MINIMUM = 1 << 20
"""Fewer bytes than this are never worth a sweep."""
LONGEST = (1 << 31) - 1
"""Arrow's plain string arrays hold no more bytes than this."""
MANY = 64
"""It is worth a look whether so many strings are where they came."""
NOTHING = -1
"""The code of a string that nobody will ask for: it is empty."""


@define(eq=False)
class Block:
    """A chunk that is added to."""

    chunk: Chunk
    number: int
    count: int = 0

    def has_room(self, rows: int, size: int) -> bool:
        """Whether so many strings of so many bytes fit."""
        ends = self.chunk.ends
        return self.count + rows < len(ends) and int(ends[self.count]) + size <= len(self.chunk.data)

    def add(self, ends: Array, data: Array) -> int:
        """Copy strings in, of which there is one less than ``ends``; returns the index of the first."""
        first, n = self.count, len(ends) - 1
        own, at = self.chunk.ends, int(self.chunk.ends[self.count])
        np.add(ends[1:], at - int(ends[0]), out=own[first + 1 : first + n + 1])
        self.chunk.data[at : int(own[first + n])] = data[ends[0] : ends[n]]
        self.count += n
        return first


@define(eq=False)
class Carried:
    """All carried strings of an engine."""

    _chunks: list[Chunk | None] = field(init=False, factory=list)
    _table: Array = field(init=False, repr=False, factory=lambda: np.zeros((8, 2), np.int64))
    _free: list[int] = field(init=False, factory=list)
    """Numbers of chunks that are gone."""
    _blocks: dict[Hashable, Block] = field(init=False, factory=dict)
    """What small pushes are added to, for each owner: strings of one come and go together."""
    _held: int = field(init=False, default=0)
    _sweep_at: int = field(init=False, default=MINIMUM)

    def __attrs_post_init__(self) -> None:
        self._enter(Chunk(np.zeros(2, np.int32), np.zeros(1, np.uint8), 0))  # the empty string, for good

    @property
    def nbytes(self) -> int:
        """The bytes of all buffers that are kept alive, slack included."""
        return self._held

    @property
    def wants_sweep(self) -> bool:
        """Whether twice as many bytes are held as after the last sweep."""
        return self._held > self._sweep_at

    @property
    def chunks(self) -> int:
        """Numbers of chunks are below this."""
        return len(self._chunks)

    def carry(self, owner: Hashable, text: pa.Array, here: Array | None = None) -> Array:
        """The codes of these strings, which are of type string; ``owner`` is the column that they are of.

        ``here`` are the places of those that somebody may ask for, ascending; None: all. The others are not held, if
        that spares much.
        """
        n = len(text)
        if not n:
            return np.empty(0, np.int64)
        if not (pa.types.is_string(text.type) or pa.types.is_binary(text.type)):
            return self._packed(text, here)
        _, offsets, body = text.buffers()
        ends = np.frombuffer(offsets, np.int32, n + 1, 4 * text.offset)
        data = np.frombuffer(body if body is not None else b"", np.uint8)
        if here is None:
            return self._codes(owner, ends, data, (offsets, body))
        codes = np.full(n, NOTHING)
        if 2 * len(here) < n:
            codes[here] = self._codes(owner, *_chosen(ends, data, here))
        else:
            codes[here] = self._codes(owner, ends, data, (offsets, body))[here]
        return codes

    def decode(self, codes: Array) -> pa.Array | pa.ChunkedArray:
        """The strings of these codes; in several chunks if they are too long for one plain Arrow array.

        Where they are what came, one after the other, and most of it, they are not copied.
        """
        if len(codes) >= MANY and is_run(codes):
            found = self._run(int(~codes[0]), len(codes))
            if found is not None:
                return found

        def measured(some: Array, limit: int, offsets: Array) -> int:
            return int(measure(some, self._table, limit, offsets))

        def collected(some: Array, offsets: Array, out: int) -> None:
            collect(some, self._table, offsets, out)

        return texts(codes, measured, collected)

    def _packed(self, array: pa.Array, here: Array | None) -> Array:
        """The codes of values of any type; null has the code of nothing."""
        known = array.is_valid().to_numpy(zero_copy_only=False)
        if here is not None:
            wanted = np.zeros(len(array), np.bool_)
            wanted[here] = True
            known = known & wanted
        codes, places = np.full(len(array), NOTHING), np.flatnonzero(known)
        if not len(places):
            return codes
        first = self._enter(packed(array, places)) << CHUNK
        codes[places] = np.arange(~first, ~(first + len(places)), -1)
        return codes

    def opened(self, codes: Array, of: pa.DataType) -> pa.Array:
        """The values of these codes, which are of an opaque type; null for the code of nothing."""
        numbers, which = np.unique(~codes >> CHUNK, return_inverse=True)
        return collected(
            [self._chunks[number] for number in numbers], which, ~codes & INDEX, codes != NOTHING, of
        )

    def _run(self, place: int, count: int) -> pa.Array | None:
        """Strings that follow each other from a place on, where they are; None if that would hold much besides."""
        chunk = self._chunks[place >> CHUNK]
        assert chunk is not None
        first = (place & INDEX) - chunk.base
        ends = chunk.ends[first : first + count + 1]
        if 2 * (int(ends[-1]) - int(ends[0]) + ends.nbytes) < chunk.nbytes:
            return None
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(chunk.data)]
        return pa.Array.from_buffers(pa.string(), count, buffers)

    def sweep(self, reach: Array) -> None:
        """Forget what is out of reach: ``reach`` has the first and last index in use of each chunk, -1 last if none."""
        self._blocks = {
            owner: block
            for owner, block in self._blocks.items()
            if reach[block.number, HIGHEST] >= reach[block.number, LOWEST]
        }
        added_to = {block.number for block in self._blocks.values()}
        for number, chunk in enumerate(self._chunks):
            if number == 0 or chunk is None or number in added_to:
                continue
            first, last = reach[number].tolist()
            if last < first:
                self._chunks[number] = None
                self._free.append(number)
                self._held -= chunk.nbytes
            else:
                self._trim(number, chunk, first - chunk.base, last - chunk.base)
        self._sweep_at = max(MINIMUM, 2 * self._held)

    def _trim(self, number: int, chunk: Chunk, first: int, last: int) -> None:
        """Keep only the strings of a chunk from ``first`` to ``last``, if that spares much."""
        if isinstance(chunk, Parcel):
            smaller = packed(chunk.array, np.arange(first, last + 1))
            if 2 * smaller.nbytes < chunk.nbytes:
                self._held -= chunk.nbytes
                smaller.base = chunk.base + first
                self._place(number, smaller)
            return
        ends = chunk.ends[first : last + 2]
        if 2 * (int(ends[-1]) - int(ends[0]) + ends.nbytes) < chunk.nbytes:
            self._held -= chunk.nbytes
            self._place(number, _copy(ends, chunk.data, chunk.base + first))

    def _codes(self, owner: Hashable, ends: Array, data: Array, buffers: tuple[Any, ...] = ()) -> Array:
        """The codes of strings that are kept where they are, in ``buffers`` or in arrays of our own, or copied."""
        n = len(ends) - 1
        size = int(ends[n]) - int(ends[0])
        if size + ends.nbytes < SMALL:
            block = self._blocks.get(owner)
            if block is None or not block.has_room(n, size):
                block = self._blocks[owner] = self._opened(block, n, size)
            place = (block.number << CHUNK) + block.add(ends, data)
        else:
            held = _held_by(*buffers) or ends.nbytes + data.nbytes
            if held > 2 * (size + ends.nbytes):
                chunk = _copy(ends, data, 0)
            else:
                chunk = Chunk(ends, data, held)
            place = self._enter(chunk) << CHUNK
        return np.arange(~place, ~place - n, -1)

    def _opened(self, full: Block | None, rows: int, size: int) -> Block:
        """A new block, larger than the one before, with room for so many strings of so many bytes."""
        wide = FIRST_BLOCK if full is None else min(BLOCK, 2 * len(full.chunk.data))
        ends, data = (
            np.zeros(max(wide // 16, 2 * rows) + 1, np.int32),
            np.empty(max(wide, 2 * size), np.uint8),
        )
        chunk = Chunk(ends, data, ends.nbytes + data.nbytes)
        return Block(chunk, self._enter(chunk))

    def _enter(self, chunk: Chunk) -> int:
        """The number of a new chunk."""
        if self._free:
            number = self._free.pop()
        else:
            number = len(self._chunks)
            self._chunks.append(None)
            if number == len(self._table):
                self._table = np.concatenate((self._table, np.zeros_like(self._table)))
        self._place(number, chunk)
        return number

    def _place(self, number: int, chunk: Chunk) -> None:
        self._chunks[number] = chunk
        self._table[number, ENDS] = address_of(chunk.ends) - 4 * chunk.base
        self._table[number, DATA] = address_of(chunk.data)
        self._held += chunk.nbytes


def texts(
    codes: Array, measure: Callable[[Array, int, Array], int], collect: Callable[[Array, Array, int], None]
) -> pa.Array | pa.ChunkedArray:
    """The strings of these codes; in several chunks if they are too long for one plain Arrow array.

    ``measure`` tells where each ends, up to a limit; ``collect`` copies their bytes to an address.
    """
    chunks: list[pa.Array] = []
    while True:
        offsets = np.empty(len(codes) + 1, np.int32)
        total = measure(codes, LONGEST, offsets)
        here = len(codes) if total >= 0 else ~total
        data = np.empty(int(offsets[here]), np.uint8)
        collect(codes[:here], offsets, address_of(data))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        chunks.append(pa.Array.from_buffers(pa.string(), here, buffers))
        if total >= 0:
            return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, pa.string())
        codes = codes[here:]


def _copy(ends: Array, data: Array, base: int) -> Chunk:
    """A chunk of just these strings, in memory of its own."""
    ends, data = ends - ends[0], data[ends[0] : ends[-1]].copy()
    return Chunk(ends, data, ends.nbytes + data.nbytes, base)


def _chosen(ends: Array, data: Array, here: Array) -> tuple[Array, Array]:
    """Some of the strings, in memory of their own."""
    table = np.array([[address_of(ends), address_of(data)]])
    codes, chosen = ~here, np.empty(len(here) + 1, np.int32)
    out = np.empty(measure(codes, table, LONGEST, chosen), np.uint8)
    collect(codes, table, chosen, address_of(out))
    return chosen, out


def _held_by(*buffers: Any) -> int:
    """The bytes that stay alive with these buffers."""
    whole = {}
    for buffer in buffers:
        while buffer is not None and buffer.parent is not None:
            buffer = buffer.parent
        if buffer is not None:
            whole[buffer.address] = buffer.size
    return sum(whole.values())
