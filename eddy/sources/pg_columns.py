"""Columns of PostgreSQL as Arrow has them: what is asked of the server, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from psycopg import sql

from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.sources.isolating import isolated
from eddy.values.types import column_type

_NATIVE: dict[int, pa.DataType] = {
    16: pa.bool_(),
    17: pa.binary(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    26: pa.int64(),
    700: pa.float32(),
    701: pa.float64(),
    1082: pa.date32(),
    1083: pa.time64("us"),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
    2950: pa.uuid(),
}
"""Types by their numbers in the catalogue. A numeric with its digits is a decimal; all others are text."""
_NUMERIC = 1700
_OID = 26
_ENDLESS = (1082, 1114, 1184)
"""Types that have an infinity."""
_LAST = "290000-01-01"
"""Arrow's microseconds end a little before those of PostgreSQL."""


@frozen
class PgColumn:
    """A column of a table or of a query."""

    name: str
    oid: int
    """Of its type."""
    kind: pa.DataType
    """What it becomes."""
    as_text: bool
    """Whether the server is asked for its text, which is then converted."""

    @property
    def endless(self) -> bool:
        """Whether it may be infinite, which nothing in Arrow is."""
        return self.oid in _ENDLESS and not self.as_text

    @property
    def finite(self) -> sql.Composable:
        """The condition that it is not."""
        name = sql.Identifier(self.name)
        last = sql.SQL("") if self.oid == 1082 else sql.SQL(" AND {} < {}").format(name, sql.Literal(_LAST))
        return sql.SQL("(isfinite({}){})").format(name, last)

    def expression(self, ascii: bool) -> sql.Composable:
        """What the server is asked for. ``ascii``: nobody knows how its text is encoded, so bytes are asked for."""
        name = sql.Identifier(self.name)
        if self.as_text or pa.types.is_string(self.kind):
            form = "convert_to({}::text, 'SQL_ASCII')" if ascii else "{}::text"
        elif self.oid == 2950:
            form = "uuid_send({})"
        elif self.oid == _OID:
            form = "{}::bigint"
        elif self.endless:
            return sql.SQL("CASE WHEN {} THEN {} END").format(self.finite, name)
        else:
            form = "{}"
        return sql.SQL(form).format(name)

    def taken(self, values: Any) -> tuple[Any, dict[int, str]]:
        """What the server has given as the type of the column; and what is no value of it, with the reason."""
        if values.type == self.kind:
            return values, {}
        if isinstance(self.kind, pa.UuidType):
            return pa.ExtensionArray.from_storage(self.kind, values.cast(pa.binary(16))), {}
        if pa.types.is_string(self.kind) or self.as_text:
            return from_text(values, self.kind)
        return values.cast(self.kind), {}


def column_of(name: str, oid: int, digits: int | None, scale: int | None) -> PgColumn:
    """A column of a type of the catalogue."""
    if oid in _NATIVE:
        return PgColumn(name, oid, _NATIVE[oid], False)
    if oid == _NUMERIC and digits is not None and 0 <= (scale or 0) <= digits <= 38:
        return PgColumn(name, oid, pa.decimal128(digits, scale or 0), True)
    return PgColumn(name, oid, pa.string(), True)


def with_schema(what: object, columns: Sequence[PgColumn], schema: Any) -> tuple[PgColumn, ...]:
    """The columns that a schema names, where one is given. What is text may have another type there."""
    if schema is None:
        return tuple(columns)
    known = {column.name: column for column in columns}
    given: Mapping[str, Any] = (
        dict(zip(schema.names, schema.types, strict=True)) if isinstance(schema, pa.Schema) else schema
    )
    found = []
    for name, spec in given.items():
        if name not in known:
            raise EddyError(f"{what} has no column {name}: {nearest(name, known)}")
        kind = column_type(spec).arrow
        column = known[name]
        is_text, wants_text = pa.types.is_string(column.kind), pa.types.is_string(kind)
        found.append(evolve(column, kind=kind, as_text=True) if is_text or wants_text else column)
    return tuple(found)


def schema_of(columns: Sequence[PgColumn]) -> pa.Schema:
    """Names and types."""
    return pa.schema([pa.field(column.name, column.kind) for column in columns])


def from_text(texts: Any, kind: pa.DataType) -> tuple[Any, dict[int, str]]:
    """Texts as PostgreSQL writes values, as values of a type; those that are none are NULL, with the reason."""
    convert = _converter(kind)

    def some(start: int, stop: int) -> Any:
        part = texts.slice(start, stop - start)
        try:
            return convert(part)
        except (pa.ArrowException, ValueError) as error:
            return error

    whole = some(0, len(texts))
    if not isinstance(whole, Exception):
        return whole, {}
    good, failed = isolated(lambda a, b: _at(some(a, b), a), 0, len(texts))
    pieces = [*good, *((row, pa.nulls(1, kind)) for row, _ in failed)]
    parts = [part for _, part in sorted(pieces, key=lambda one: one[0])]
    reasons = {row: f"{_shown(texts[row])} does not fit {kind}" for row, _ in failed}
    return pa.chunked_array(parts, kind).combine_chunks(), reasons


def _at(found: Any, start: int) -> Any:
    return found if isinstance(found, Exception) else (start, found)


def _shown(text: Any) -> str:
    value = text.as_py()
    return repr(value[:100].decode("utf-8", "replace") if isinstance(value, bytes) else value[:100])


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_boolean(kind):
        return _booleans
    if pa.types.is_time(kind):
        return lambda texts: _times(texts).cast(kind)
    if isinstance(kind, pa.UuidType):
        return lambda texts: pa.ExtensionArray.from_storage(kind, _unhexed(texts, 0).cast(pa.binary(16)))
    if pa.types.is_binary(kind):
        return lambda texts: _unhexed(texts, 2)
    if pa.types.is_timestamp(kind):
        return lambda texts: _text(texts).cast(pa.timestamp("us", kind.tz)).cast(kind)
    return lambda texts: _text(texts).cast(kind)


def _text(texts: Any) -> Any:
    """Bytes that are text, checked."""
    return texts.cast(pa.string())


def _booleans(texts: Any) -> Any:
    texts = _text(texts)
    found = pc.is_in(texts, pa.array(["t", "true", "f", "false"]))
    if not pc.all(pc.or_(found, pc.is_null(texts))).as_py():
        raise ValueError("no truth value")
    values = pc.is_in(texts, pa.array(["t", "true"]))
    return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), values)


def _times(texts: Any) -> Any:
    stamps = pc.binary_join_element_wise("1970-01-01", _text(texts), " ").cast(pa.timestamp("us"))
    return stamps.cast(pa.time64("us"))


_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(b"0123456789", np.uint8)] = np.arange(10)
_DIGITS[np.frombuffer(b"abcdef", np.uint8)] = np.arange(10, 16)
_DIGITS[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


def _unhexed(texts: Any, skipped: int) -> Any:
    """Bytes from their hexadecimal digits; without the first few characters, and without dashes."""
    texts = pc.utf8_slice_codeunits(pc.replace_substring(_text(texts), "-", ""), skipped)
    lengths = np.asarray(pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False), np.int64)
    if np.any(lengths % 2):
        raise ValueError("half a byte")
    offsets = np.concatenate([[0], np.cumsum(lengths // 2)]).astype(np.int32)
    nibbles = _DIGITS[_bytes_of(texts)]
    if np.any(nibbles == 255):
        raise ValueError("no hexadecimal digit")
    packed = (nibbles[0::2] << 4) | nibbles[1::2]
    valid = np.asarray(pc.is_valid(texts).to_numpy(zero_copy_only=False))
    return binary_array(valid, offsets, packed)


def _bytes_of(texts: Any) -> Any:
    """All bytes of texts, one after the other; NULL has none."""
    whole = pc.fill_null(texts, "")
    start, stop = np.frombuffer(whole.buffers()[1], np.int32)[[whole.offset, whole.offset + len(whole)]]
    data = whole.buffers()[2]
    return np.frombuffer(data, np.uint8)[start:stop] if data is not None else np.empty(0, np.uint8)


def binary_array(valid: Any, offsets: Any, data: Any) -> Any:
    """A binary column from a mask of what is not NULL, offsets and bytes."""
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), len(valid), buffers)
