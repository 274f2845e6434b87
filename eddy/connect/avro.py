"""Schemas of Avro: read from a file or a text, and as columns of Arrow."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from attrs import frozen

from eddy.errors import EddyError

PLAIN = {
    **{"null": pa.null(), "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64()},
    **{"float": pa.float32(), "double": pa.float64(), "bytes": pa.binary(), "string": pa.string()},
}
TIMES = {
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "timestamp-nanos": pa.timestamp("ns", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "date": pa.date32(),
}
"""Logical types that are numbers, which Arrow takes as they are."""


@frozen(eq=False)
class AvroSchema:
    """A record, and the columns that its fields are."""

    text: dict[str, Any]
    """As fastavro has it: without logical types that Arrow makes of numbers itself."""
    columns: pa.Schema


def avro_schema(given: str) -> AvroSchema:
    """The schema that a text is, or that is in the file of this name; EddyError if it is none of a record."""
    import fastavro

    where, text = "the Avro schema", given
    if not given.lstrip().startswith("{"):
        where = f"the Avro schema {given}"
        try:
            with open(given, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise EddyError(f"cannot read {where}: {reason}") from error
    try:
        read = json.loads(text)
        fastavro.parse_schema(read)
    except Exception as error:  # its errors have no common class
        raise EddyError(
            f"{where} is none: {str(error).splitlines()[0] if str(error) else error!r}"
        ) from error
    if not isinstance(read, dict) or read.get("type") != "record":
        raise EddyError(f"{where} is of no record: rows need its fields")
    named: dict[str, Any] = {}
    fields = [pa.field(one["name"], arrow_type(one["type"], named)) for one in read["fields"]]
    return AvroSchema(plain(read), pa.schema(fields))


def arrow_type(kind: Any, named: dict[str, Any]) -> pa.DataType:
    """The type of Arrow that holds a type of Avro; a union of several becomes bytes, which no query can use."""
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        return arrow_type(others[0], named) if len(others) == 1 else pa.binary()
    if isinstance(kind, str):
        return PLAIN[kind] if kind in PLAIN else named.get(kind, pa.binary())
    inner, logical = kind["type"], kind.get("logicalType")
    if logical in TIMES:
        return TIMES[logical]
    if logical == "decimal" and inner in ("bytes", "fixed"):
        return pa.decimal128(min(kind["precision"], 38), kind.get("scale", 0))
    if inner == "record":
        return pa.struct([pa.field(one["name"], arrow_type(one["type"], named)) for one in kind["fields"]])
    if inner == "array":
        return pa.list_(arrow_type(kind["items"], named))
    if inner == "map":
        return pa.map_(pa.string(), arrow_type(kind["values"], named))
    if inner in ("enum", "fixed"):
        named[kind["name"]] = pa.string() if inner == "enum" else pa.binary()
        return named[kind["name"]]
    return arrow_type(inner, named)


def plain(kind: Any) -> Any:
    """A type without its logical types, but for decimals: numbers of times need not become objects of Python."""
    if isinstance(kind, list):
        return [plain(one) for one in kind]
    if not isinstance(kind, dict):
        return kind
    kept = {
        name: plain(value) if name in ("type", "items", "values") else value
        for name, value in kind.items()
        if name != "logicalType" or value == "decimal"
    }
    if "fields" in kept:
        kept["fields"] = [{**one, "type": plain(one["type"])} for one in kept["fields"]]
    return kept
