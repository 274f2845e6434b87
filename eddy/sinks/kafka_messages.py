"""Results as messages: each row a value of JSON or Avro, and maybe a key."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
from attrs import frozen

from eddy.connect.avro import AvroSchema
from eddy.errors import EddyError
from eddy.sinks.formats import json_bytes

COLUMNS = pa.schema({"key": pa.binary(), "value": pa.binary()})


@frozen(eq=False)
class Encoder:
    """Makes messages of the rows of tables."""

    name: str
    """Of the sink."""
    avro: AvroSchema | None
    key: str | None

    def check(self, schema: pa.Schema) -> None:
        """EddyError unless tables of this schema can be written."""
        if self.key is not None and self.key not in schema.names:
            raise EddyError(
                f"{self.name}: results have no column {self.key} for keys, but {', '.join(schema.names)}"
            )
        if self.avro is None:
            return
        fields = self.avro.columns.names
        if set(fields) != set(schema.names):
            one = min(set(fields) ^ set(schema.names))
            raise EddyError(
                f"{self.name}: {one} is a column of the results or a field of the Avro schema, and not of the other: "
                "give both the same names, by AS in the query"
            )

    def encoded(self, table: pa.Table) -> pa.RecordBatch:
        """The keys and values of the messages."""
        values = json_bytes(table).split(b"\n")[:-1] if self.avro is None else self._avro(self.avro, table)
        if self.key is None:
            keys = pa.nulls(table.num_rows, pa.binary())
        else:
            keys = table.column(self.key).cast(pa.string()).cast(pa.binary()).combine_chunks()
            keys = keys.chunk(0) if isinstance(keys, pa.ChunkedArray) else keys
        return pa.RecordBatch.from_arrays([keys, pa.array(values, pa.binary())], schema=COLUMNS)

    def _avro(self, schema: AvroSchema, table: pa.Table) -> list[bytes]:
        from fastavro import parse_schema, schemaless_writer

        columns: dict[str, Any] = {}
        try:
            for field in schema.columns:
                column = table.column(field.name).cast(field.type)
                columns[field.name] = column.cast(_number(field.type))
            parsed, found = parse_schema(schema.text), []
            for row in pa.table(columns).to_pylist():
                file = io.BytesIO()
                schemaless_writer(file, parsed, row)
                found.append(file.getvalue())
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise EddyError(
                f"{self.name}: a result does not fit the Avro schema: {str(error)[:200]}"
            ) from error
        return found


def _number(kind: pa.DataType) -> pa.DataType:
    """What times are in Avro: schemas are without their logical types here."""
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()
