"""Plain values between numpy and Arrow, by their buffers.

pyarrow's own `pa.array`, `pa.scalar` and `to_numpy` import pandas wherever it is installed, which costs a
process half a second and much memory that it may never need. These do not, and are quicker.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from eddy.values.types import Array, DType


def from_numpy(values: Array, valid: Array | None, kind: pa.DataType) -> pa.Array:
    """Numbers, bools and times as Arrow, NULL where not valid. Shares the memory of the values, but for decimals."""
    if values.dtype == np.bool_:
        body = bits(values)
    elif pa.types.is_decimal128(kind):
        body = pa.py_buffer(_widened(values))
    else:
        body = pa.py_buffer(np.ascontiguousarray(values).view(np.uint8))
    return pa.Array.from_buffers(kind, len(values), [None if valid is None else bits(valid), body])


def to_numpy(array: pa.Array, dtype: DType) -> Array:
    """The values of a fixed-width array, anything where it is null. Numbers share memory, read-only."""
    if not len(array):
        return np.empty(0, dtype)
    start, stop = array.offset, array.offset + len(array)
    body = array.buffers()[1]
    if pa.types.is_boolean(array.type):
        return _unpacked(body, start, stop)
    if pa.types.is_decimal128(array.type):  # of values that int64 holds the lower half is all
        return np.ascontiguousarray(np.frombuffer(body, np.int64, count=2 * stop)[2 * start :: 2])
    return np.frombuffer(body, dtype, count=stop)[start:]


def valid_of(array: pa.Array) -> Array | None:
    """Which values are not null; None if all are not."""
    if not array.null_count:
        return None
    bitmap = array.buffers()[0]
    if bitmap is None:
        return np.zeros(len(array), np.bool_)
    return _unpacked(bitmap, array.offset, array.offset + len(array))


def with_nulls(text: pa.Array | pa.ChunkedArray, valid: Array | None) -> pa.Array | pa.ChunkedArray:
    """Strings that are null where not valid, and nowhere else; the bytes are shared."""
    if isinstance(text, pa.ChunkedArray):
        ends = np.cumsum([0, *map(len, text.chunks)])
        masks = [None if valid is None else valid[a:b] for a, b in pairwise(ends)]
        chunks = [with_nulls(chunk, mask) for chunk, mask in zip(text.chunks, masks, strict=True)]
        return pa.chunked_array(chunks, text.type)
    if valid is None and not text.null_count:
        return text
    _, offsets, data = text.buffers()
    if text.offset:
        offsets = offsets.slice(4 * text.offset)
    return pa.Array.from_buffers(
        text.type, len(text), [None if valid is None else bits(valid), offsets, data]
    )


def as_bytes(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The bytes of strings, or what was kept as such; they are shared."""
    if isinstance(text, pa.ChunkedArray):
        return pa.chunked_array([as_bytes(chunk) for chunk in text.chunks], pa.binary())
    return pa.Array.from_buffers(pa.binary(), len(text), text.buffers(), offset=text.offset)


def bits(flags: Array) -> pa.Buffer:
    """Bools as Arrow's bitmap."""
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _widened(values: Array) -> Array:
    """int64 in 128 bits."""
    wide = np.empty((len(values), 2), np.int64)
    wide[:, 0] = values
    wide[:, 1] = wide[:, 0] >> 63
    return wide.view(np.uint8).reshape(-1)


def _unpacked(bitmap: pa.Buffer, start: int, stop: int) -> Array:
    part = np.frombuffer(bitmap, np.uint8)[start // 8 : (stop + 7) // 8]
    return np.unpackbits(part, bitorder="little")[start % 8 : start % 8 + stop - start].view(np.bool_)
