"""Messages of Kafka as rows: what is in them, their keys and times, and what is no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from eddy.connect.avro import AvroSchema
from eddy.errors import EddyError
from eddy.sources.avro import Avro, usable
from eddy.sources.base import Bad
from eddy.sources.inferring import schema_of
from eddy.sources.isolating import isolated
from eddy.sources.lines import CONTENT
from eddy.sources.messages import Json, Payloads, Raw
from eddy.sources.text import JsonLines
from eddy.values import arrow
from eddy.values.types import Array

FORMATS = ("json", "avro", "confluent", "raw")
TOMBSTONE = "a tombstone: it has no value"


@frozen(eq=False)
class Form:
    """What is in the messages of a topic."""

    format: str
    avro: AvroSchema | None = None
    key: str | None = None
    """The column that the key is, if it is one."""
    timestamp: str | None = None
    """The column that the message's own time is."""
    tombstones: bool = True
    """Whether one is told of, as a bad row; else it is passed over."""

    def inferred(self, name: str, payloads: Sequence[bytes]) -> pa.Schema:
        """The columns of a topic that begins like this."""
        if self.avro is not None:
            found = usable(self.avro)
        elif self.format == "raw":
            found = pa.schema({Raw.COLUMN: pa.string()})
        else:
            lines = b"\n".join(one.replace(b"\n", b" ") for one in payloads)
            found = schema_of(name, JsonLines().inferred(name, lines))
        for column, kind in ((self.key, pa.string()), (self.timestamp, pa.timestamp("ms"))):
            if column is not None:
                if column in found.names:
                    raise EddyError(
                        f"{name} has a column {column} already: give its key or timestamp another name"
                    )
                found = found.append(pa.field(column, kind))
        return found

    @property
    def needs_sample(self) -> bool:
        """Whether columns can be known only from messages."""
        return self.format == "json"

    def payloads(self, columns: Mapping[str, pa.DataType]) -> Payloads:
        """What reads these columns of values."""
        if self.avro is not None:
            return Avro(self.avro, dict(columns), self.format == "confluent")
        return Json(dict(columns)) if self.format == "json" else Raw(dict(columns))


@frozen(eq=False)
class Chunk:
    """Messages of one partition that follow each other, as rows."""

    rows: Any
    """A table; None if there is no row among them."""
    offsets: Array
    """Of the rows."""
    keys: Array
    """By what rows of several partitions are put in order: times, none below the one before."""
    bad: tuple[Bad, ...]
    """Their `row` is an offset."""
    end: int
    """The offset behind them."""


@frozen(eq=False)
class Decoder:
    """Decodes the messages of a topic into columns of given types."""

    form: Form
    topic: str
    columns: Mapping[str, pa.DataType]
    order: str | None
    """The column of the time; None: messages are put in order by their own."""
    _payloads: Any = field(init=False)

    @_payloads.default
    def _make_payloads(self) -> Any:
        own = (self.form.key, self.form.timestamp)
        columns = {name: kind for name, kind in self.columns.items() if name not in own}
        return self.form.payloads(columns) if columns else None

    def decode(self, partition: int, messages: Sequence[Any], before: int) -> Chunk:
        """The rows of messages; ``before`` is the highest key of those that came before them."""
        end = messages[-1].offset() + 1
        values = [message.value() for message in messages]
        bad: list[Bad] = []
        place = self.place(partition)
        if self.form.format != "raw" and None in values:
            if self.form.tombstones:
                gone = (one.offset() for one in messages if one.value() is None)
                bad = [Bad(TOMBSTONE, "", offset, file=place) for offset in gone]
            messages = [message for message in messages if message.value() is not None]
            values = [message.value() for message in messages]
        if not messages:
            empty = np.empty(0, np.int64)
            return Chunk(None, empty, empty, tuple(bad), end)
        offsets = _offsets(messages)

        def some(start: int, stop: int) -> Any:
            found = self._batch(messages[start:stop], values[start:stop])
            return found if isinstance(found, Exception) else (found, start)

        good, failed = isolated(some, 0, len(messages))
        for i, error in failed:
            content = (values[i] or b"").decode("utf-8", "replace")[:CONTENT]
            bad.append(Bad(self._reason(error), content, int(offsets[i]), file=place))
        if failed:
            kept = [np.arange(start, start + found.num_rows) for found, start in good]
            where = np.concatenate(kept) if kept else np.empty(0, np.int64)
            offsets, messages = offsets[where], [messages[i] for i in where]
        rows = pa.Table.from_batches([found for found, _ in good]) if good else None
        bad.sort(key=lambda one: one.row or 0)
        return Chunk(rows, offsets, self._keys(rows, messages, before), tuple(bad), end)

    def place(self, partition: int) -> str:
        """What a partition is called where a row is bad."""
        return f"{self.topic}/{partition}"

    def _batch(self, messages: Sequence[Any], values: Sequence[Any]) -> Any:
        """The rows of messages; an error if one of them is none."""
        found: dict[str, Any] = {}
        if self._payloads is not None:
            read = self._payloads.read(values)
            if isinstance(read, Exception):
                return read
            found = dict(zip(read.schema.names, read.columns, strict=True))
        try:
            columns = [
                found[name] if name in found else self._own(name, kind, messages)
                for name, kind in self.columns.items()
            ]
        except pa.ArrowException as error:
            return _KeyError(str(error).splitlines()[0])
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(self.columns.items())))

    def _own(self, name: str, kind: pa.DataType, messages: Sequence[Any]) -> Any:
        """A column that is no part of values."""
        if name == self.form.key:
            keys = pa.array([message.key() for message in messages], pa.binary())
            return keys.cast(pa.string()).cast(kind)
        return pa.array(_stamps(messages), pa.timestamp("ms"), mask=_stamps(messages) < 0).cast(kind)

    def _reason(self, error: Exception) -> str:
        if isinstance(error, _KeyError):
            return f"its key: {error}"
        return str(self._payloads.reason(error))

    def _keys(self, rows: Any, messages: Sequence[Any], before: int) -> Array:
        """What rows are put in order by: their times, or those of the messages."""
        if rows is None:
            return np.empty(0, np.int64)
        times = None
        if self.order in rows.schema.names:
            column = rows.column(self.order).combine_chunks()
            try:
                column = column.cast(pa.int64()).fill_null(before)
                times = arrow.to_numpy(column, np.dtype(np.int64))
            except pa.ArrowException:
                times = None
        times = _stamps(messages) if times is None else times
        return np.maximum.accumulate(np.maximum(times, before))


class _KeyError(Exception):
    """What is wrong with a message's key."""


def _offsets(messages: Sequence[Any]) -> Array:
    """They grow; where none is missing, the first and the last say all of them."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:
        return np.arange(first, last + 1)
    return np.fromiter((message.offset() for message in messages), np.int64, len(messages))


def _stamps(messages: Sequence[Any]) -> Array:
    """When messages were written, in milliseconds; -1 where nobody knows."""
    return np.fromiter((message.timestamp()[1] for message in messages), np.int64, len(messages))
