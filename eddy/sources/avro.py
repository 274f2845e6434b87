"""Messages in Avro: plain datums, or with the five bytes that Confluent's clients put before them."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa

from eddy.connect.avro import AvroSchema

PREFIX = 5
"""A zero, and the number of a schema in a registry."""


class Avro:
    """One datum a message. It has to end where the message does: one that was written by another schema may not.

    fastavro is called for each message: to have it read all of them as one block of a file takes twice as long.
    """

    def __init__(self, schema: AvroSchema, columns: dict[str, pa.DataType], prefixed: bool = False) -> None:
        from fastavro import parse_schema

        self.schema, self.columns, self.prefixed = parse_schema(schema.text), columns, prefixed
        have = [(one.name, one.type) for one in schema.columns if one.name in columns]
        self.read_as = pa.struct(have)

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | Exception:
        from fastavro import schemaless_reader

        start = PREFIX if self.prefixed else 0
        records = []
        try:
            for payload in payloads:
                if start and (payload[:1] != b"\0" or len(payload) < start):
                    return ValueError("it does not begin with the five bytes of a schema's number")
                file = io.BytesIO(payload)
                file.seek(start)
                records.append(schemaless_reader(file, self.schema, None))
                if file.tell() != len(payload):
                    return ValueError("it does not end where a row of the schema does")
            rows = pa.array(records, self.read_as)
            columns = [
                rows.field(name).cast(kind)
                if self.read_as.get_field_index(name) >= 0
                else pa.nulls(len(rows), kind)
                for name, kind in self.columns.items()
            ]
        except Exception as error:  # of bytes that are anything, so of any class
            return error
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(self.columns.items())))

    def reason(self, error: Exception) -> str:
        if isinstance(error, (EOFError, IndexError)):
            return "no row of the Avro schema: it is too short"
        text = (str(error).splitlines() or [""])[0]
        return f"no row of the Avro schema: {text or type(error).__name__}"


def usable(schema: AvroSchema) -> pa.Schema:
    """The columns of a schema; one that is always NULL is text."""
    return pa.schema(
        [
            pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type)
            for one in schema.columns
        ]
    )
