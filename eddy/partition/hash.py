"""Hashes of join keys that are the same in every process, whatever type equal values have.

A value is first brought to its class's canonical key, so that 3 as int8, uint64 and float64, or one instant in two
units, are one number; a text is hashed by its bytes. Rows that cannot match, as their key is NULL, NaN or not in the
range of the other members, are ruled out here, as the engine would do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import types

from eddy.query.keys import KeyClass
from eddy.values.conversion import convert
from eddy.values.types import Array, Column
from stairs.hashing import salted, share_of, stir, unstirred
from stairs.kernel import kernel

_EIGHT, _ONE = np.uint64(8), np.uint64(1)

_bytes = types.Array(types.uint8, 1, "C", readonly=True)
_longs = types.int64[::1]


@kernel(types.void(_longs, types.int64, types.int64, types.int64, _longs))
def add_coordinates(keys, salt, share, stride, cells):
    """Add to each row's cell what one dimension says of it."""
    for i in range(keys.shape[0]):
        cells[i] += share_of(salted(keys[i], salt), share) * stride


@kernel(types.void(_longs, types.Array(types.int64, 1, "C", readonly=True)))
def stir_into(hashes, words):
    """Take one more word of each row into its running hash."""
    for i in range(hashes.shape[0]):
        hashes[i] = np.int64(stir(hashes[i], words[i]))


@kernel(types.void(_longs, _bytes, _longs))
def hash_texts(offsets, data, out):
    """A number for each text, made of its bytes, eight at a time."""
    for i in range(out.shape[0]):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = unstirred(end - at)
        while at < end:
            word, n = np.uint64(0), np.uint64(0)
            while at < end and n < _EIGHT:
                word = (word << _EIGHT) | np.uint64(data[at])
                at += _ONE
                n += _ONE
            h = stir(h, word)
        out[i] = np.int64(h)


def text_keys(text: pa.Array | pa.ChunkedArray) -> Array:
    """Numbers for texts without NULLs, of type string or large_string: equal texts have equal ones."""
    if isinstance(text, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.int64), *(text_keys(chunk) for chunk in text.chunks)])
    _, ends, body = text.buffers()
    out = np.empty(len(text), np.int64)
    if len(out):
        width = np.int64 if pa.types.is_large_string(text.type) else np.int32
        offsets = np.frombuffer(ends, width)[text.offset : text.offset + len(text) + 1].astype(np.int64)
        data = np.frombuffer(body if body is not None else b"", np.uint8)
        data.flags.writeable = False
        hash_texts(offsets, data, out)
    return out


def key_of(key_class: KeyClass, stream: str, values: object) -> Column:
    """The keys of a member's values and, where some of them cannot match anything, a mask of the others.

    The keys of texts stand for them: others may, very rarely, have the same, which sends them to the same place.
    """
    kind = key_class.types[stream]
    found = values if isinstance(values, Column) else convert(f"stream {stream}, {key_class}", kind, values)
    if kind.is_coded:
        return Column(text_keys(found.values), found.valid)
    keys, valid = key_class.encode(stream, np.ascontiguousarray(found.values), found.valid)
    return Column(np.ascontiguousarray(keys), valid)
