"""Results as messages of a topic: kafka://host:9092/topic, each a JSON object, or Avro.

With checkpoints each result is there exactly once (`eddy.sinks.kafka_transactions`). Without them results are sent as
they come; what was sent before a crash is there, and a new run gives it again.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaException

from eddy.connect.address import Address
from eddy.connect.avro import avro_schema
from eddy.connect.kafka import Contact, checked
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.kafka_delivery import Delivery, check_sizes, patience
from eddy.sinks.kafka_messages import Encoder
from eddy.sinks.kafka_transactions import Transactions

OPTIONS = ("format", "avro", "key")


def open(address: Address, *, format: str | None) -> Topic:
    """The sink that an address asks for."""
    options = checked(address, OPTIONS).options
    name, _, inline = (format or options.get("format") or "").partition(":")
    schema = inline or options.get("avro")
    name = {"": "avro" if schema else "json", "jsonl": "json"}.get(name, name)
    if name not in ("json", "avro"):
        raise EddyError(f"{address}: results are written as json or avro, not {name!r}")
    if (name == "avro") != bool(schema):
        what = "needs its schema" if not schema else "has no Avro schema"
        raise EddyError(f"{address}: the format {name} {what}: ?format=avro&avro=results.avsc")
    encoder = Encoder(str(address), avro_schema(schema) if schema else None, options.get("key"))
    return Topic(Contact(address), encoder)


class Topic(Sink):
    """Writes results to a topic."""

    exact = True

    def __init__(self, contact: Contact, encoder: Encoder) -> None:
        self.contact, self.encoder = contact, encoder
        self._exactly: Transactions | None = None
        self._delivery: Any = None

    def keep_in(self, folder: str) -> None:
        self._exactly = Transactions(self.contact, folder)

    def open(self, schema: pa.Schema, token: Any) -> None:
        self.encoder.check(schema)
        waits = int(patience(self.contact) * 1000)
        delivery = Delivery.begun(self.contact, **{"message.timeout.ms": waits})
        self.contact.partitions(delivery.producer)
        if self._exactly is None:
            self._delivery = delivery
        else:
            delivery.close()
            self._exactly.open(token)

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        messages = self.encoder.encoded(table)
        check_sizes(self.contact, messages)
        if self._exactly is not None:
            self._exactly.write(messages)
            return
        try:
            self._delivery.put(messages)
        except KafkaException as error:
            raise self._lost(error) from error

    def prepare(self) -> Any:
        if self._exactly is not None:
            return self._exactly.prepare()
        try:
            self._delivery.flush()
        except KafkaException as error:
            raise self._lost(error) from error
        return None

    def _lost(self, error: KafkaException) -> EddyError:
        return EddyError(f"{self.contact.wrong(error)} Not all results could be delivered")

    def commit(self, token: Any) -> None:
        if self._exactly is not None:
            self._exactly.commit(token["number"])

    def close(self) -> None:
        self.prepare()
        self.abandon(True)

    def abandon(self, kept: bool) -> None:
        if self._exactly is not None:
            self._exactly.close()
        if self._delivery is not None:
            self._delivery.close()
            self._delivery = None

    def __str__(self) -> str:
        return str(self.contact.address)
