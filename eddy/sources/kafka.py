"""A topic of Kafka: kafka://host:9092/topic. There is no group of consumers: positions are offsets of our own.

Bounded unless it is followed: up to what was there when it was looked at first. Rows of several partitions are merged
by time (`eddy.sources.kafka_partitions`); where the format, the first offset, or what becomes of keys is another than
usual, options of the address say it.
"""

from __future__ import annotations

import copy
import time as clock
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field
from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition

from eddy.connect.address import Address
from eddy.connect.avro import avro_schema
from eddy.connect.kafka import AT_END, Contact, checked, seconds
from eddy.errors import EddyError, QueryError
from eddy.sources.base import BATCH, Piece, Source
from eddy.sources.kafka_messages import FORMATS, Decoder, Form
from eddy.sources.kafka_reading import Reading, consumer_of
from eddy.sources.looking import looked
from eddy.sources.progress import worst
from eddy.values.instants import parse_instant
from eddy.values.types import UNITS, column_type

OPTIONS = ("offset", "format", "avro", "key", "timestamp", "tombstones", "refresh", "registry")
REFRESH = 10.0
SAMPLE = 1 << 20
"""Bytes of values from which the types of columns are inferred, where none are given."""


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Topic:
    """The source that an address asks for."""
    contact = Contact(checked(address, OPTIONS))
    form = form_of(address, format)
    extent = Extent(contact, address.options.get("offset", "earliest"), follow)
    if schema is None:
        schema = form.inferred(str(address), sample(contact) if form.needs_sample else [])
    return Topic(contact, form, extent, schema, time)


def form_of(address: Address, format: str | None) -> Form:
    """What is in the messages; EddyError where options do not fit each other."""
    options = address.options
    if "registry" in options:
        raise EddyError(
            f"{address}: no schema registry is asked: give the schema itself, as in ?format=confluent&avro=order.avsc"
        )
    name, _, inline = (format or options.get("format") or "").partition(":")
    schema = inline or options.get("avro")
    name = {"": "avro" if schema else "json", "jsonl": "json"}.get(name, name)
    if name not in FORMATS:
        raise EddyError(f"{address}: messages are {', '.join(FORMATS)}, not {name!r}")
    if (name in ("avro", "confluent")) != bool(schema):
        what = "needs its schema" if not schema else "has no Avro schema"
        raise EddyError(f"{address}: the format {name} {what}: ?format=avro&avro=order.avsc")
    tombstones = options.get("tombstones", "bad")
    if tombstones not in ("bad", "skip"):
        raise EddyError(f"{address}: tombstones are bad rows, or skip passes over them, not {tombstones!r}")
    avro = avro_schema(schema) if schema else None
    return Form(name, avro, options.get("key"), options.get("timestamp"), tombstones == "bad")


@define(eq=False)
class Extent:
    """Where a topic is read from, and up to where: it is asked once for all readings."""

    contact: Contact
    offset: str
    follow: bool
    _found: Any = None

    def __attrs_post_init__(self) -> None:
        if self.offset == "latest" and not self.follow:
            raise EddyError(
                f"{self.contact.address}: behind the latest offset there is nothing, unless it is followed"
            )
        if self.offset not in ("earliest", "latest"):
            self._milliseconds()

    def found(self, consumer: Consumer | None = None) -> tuple[dict[int, int], dict[int, int] | None]:
        """The first offset of each partition; and the one behind the last, unless it is followed."""
        if self._found is None:
            own = consumer or consumer_of(self.contact)
            try:
                self._found = self._ask(own)
            except KafkaException as error:
                raise self.contact.wrong(error) from error
            finally:
                if consumer is None:
                    own.close()
        start, end = self._found
        return start, end

    def _ask(self, consumer: Consumer) -> tuple[dict[int, int], dict[int, int] | None]:
        topic, timeout = self.contact.address.path, self.contact.timeout
        numbers = self.contact.partitions(consumer)
        bounds = {
            n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=timeout) for n in numbers
        }
        ends = {number: int(found[1]) for number, found in bounds.items()}
        starts = {number: int(found[0]) for number, found in bounds.items()}
        if self.offset == "latest":
            starts = ends
        elif self.offset != "earliest":
            asked = [TopicPartition(topic, number, self._milliseconds()) for number in numbers]
            for one in consumer.offsets_for_times(asked, timeout=timeout):
                starts[one.partition] = ends[one.partition] if one.offset in (-1, OFFSET_END) else one.offset
        return starts, None if self.follow else ends

    def _milliseconds(self) -> int:
        """A time since 1970."""
        if self.offset.isdigit():
            return int(self.offset)
        try:
            value, unit = parse_instant(self.offset, "UTC")
        except QueryError as error:
            raise EddyError(
                f"{self.contact.address}: offset is earliest, latest or a time, and {error}"
            ) from None
        return value * 1000 // UNITS[unit]


@define(eq=False)
class Topic(Source):
    """The messages of a topic as rows."""

    contact: Contact
    form: Form
    extent: Extent
    schema: Any
    time: str | None
    batch: int = BATCH
    columns: Mapping[str, pa.DataType] | None = None
    name: str = field(init=False)

    @name.default
    def _name(self) -> str:
        return str(self.contact.address)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.extent.follow

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        narrow = copy.copy(self)
        narrow.columns, narrow.batch = dict(columns), batch or self.batch
        return narrow

    def read(self, position: Any) -> Iterator[Piece]:
        columns = self.columns or self._types()
        address = self.contact.address
        decoder = Decoder(self.form, address.path, columns, self._order(columns))
        refresh = seconds(address, "refresh", REFRESH) if self.extent.follow else None
        reading = Reading(Contact(address), decoder, self.batch, refresh, self.extent.found)
        return reading.pieces(position)

    def size(self) -> int | None:
        starts, ends = self.extent.found()
        return None if ends is None else sum(ends.values()) - sum(starts.values())

    def reached(self, position: Any) -> int | None:
        starts, _ = self.extent.found()
        return sum(at - starts.get(int(n), 0) for n, at in position["at"].items())

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        return worst(self.narrowed({column: kind}).read(None), column, kind) if self.bounded else None  # type: ignore[arg-type]

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        if not self.bounded:
            return None, self
        return looked(self, self.narrowed({column: kind}), column, kind, room)

    def _types(self) -> dict[str, pa.DataType]:
        if isinstance(self.schema, pa.Schema):
            return dict(zip(self.schema.names, self.schema.types, strict=True))
        return {name: column_type(spec).arrow for name, spec in self.schema.items()}

    def _order(self, columns: Mapping[str, pa.DataType]) -> str | None:
        """The column by which partitions are merged: that of the time."""
        times = [name for name, kind in columns.items() if pa.types.is_timestamp(kind)]
        usual = "ts" if "ts" in columns else times[0] if len(times) == 1 else None
        return self.time or usual


def sample(contact: Contact) -> list[bytes]:
    """Values of the first messages of a topic."""
    consumer = consumer_of(contact)
    try:
        numbers = contact.partitions(consumer)
        topic = contact.address.path
        low = {
            n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=contact.timeout)[0]
            for n in numbers
        }
        consumer.incremental_assign([TopicPartition(topic, n, offset) for n, offset in low.items()])
        found: list[bytes] = []
        left, size, until = set(numbers), 0, clock.monotonic() + contact.timeout
        while left and size < SAMPLE and clock.monotonic() < until:
            for message in consumer.consume(1000, 0.05):
                error, value = message.error(), message.value()
                if error is not None and error.code() in AT_END:
                    left.discard(message.partition())
                elif error is None and value is not None:
                    found.append(value)
                    size += len(value)
        return found
    except KafkaException as error:
        raise contact.wrong(error) from error
    finally:
        consumer.close()
