"""Values that formats of lines write as texts, since they have no form of their own for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DIGITS = 32
"""Of a UUID, without dashes."""


def is_written(kind: pa.DataType) -> bool:
    """Whether values of a type are texts in JSON."""
    types = pa.types
    tests = (types.is_date, types.is_time, types.is_duration, types.is_fixed_size_binary)
    return isinstance(kind, pa.UuidType) or any(test(kind) for test in tests)


def with_values(
    found: pa.RecordBatch | Exception, written: Mapping[str, pa.DataType]
) -> pa.RecordBatch | Exception:
    """A batch whose texts have become values; ArrowInvalid if one of them is none."""
    if isinstance(found, Exception) or not written:
        return found
    columns = dict(zip(found.schema.names, found.columns, strict=True))
    for name, kind in written.items():
        texts = columns[name]
        try:
            columns[name] = from_texts(texts, kind)
        except pa.ArrowException as error:
            first = str(texts.drop_null()[0])[:100]
            raise pa.ArrowInvalid(f"column {name}: {first!r} does not fit {kind}") from error
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def from_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values: dates and times as ISO 8601 has them, durations as a number of their unit; ArrowInvalid if one
    of them is none."""
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, _uuids(texts))
    if pa.types.is_duration(kind):
        return texts.cast(pa.int64()).cast(kind)
    if pa.types.is_fixed_size_binary(kind):
        return texts.cast(pa.binary()).cast(kind)
    if pa.types.is_time(kind):  # there is no cast, but one of timestamps
        days = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return days.cast(pa.timestamp(kind.unit)).cast(kind)
    return texts.cast(kind)


def _uuids(texts: pa.Array) -> pa.Array:
    digits = pc.replace_substring(texts, "-", "")
    if pc.all(pc.match_substring_regex(digits, f"^[0-9a-fA-F]{{{DIGITS}}}$")).as_py() is False:
        raise pa.ArrowInvalid("no UUID")
    data = bytes.fromhex("".join(pc.fill_null(digits, "0" * DIGITS).to_pylist()))
    valid = np.asarray(digits.is_valid().to_numpy(zero_copy_only=False))
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(DIGITS // 2), len(digits), [bits, pa.py_buffer(data)])
