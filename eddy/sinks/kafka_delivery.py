"""A producer that is given many messages at once, and waits where its queue is full."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define
from confluent_kafka import KafkaError, KafkaException, Producer

from eddy.connect.kafka import AWAY, FATAL, QUEUE_FULL, Contact, seconds
from eddy.errors import EddyError

CHUNK, QUEUE = 10_000, 100_000
"""Messages that are handed over at a time, and that may wait to be sent."""
LARGEST = 1_000_000
"""Bytes of a message, as the client has it unless it is told otherwise."""


@define(eq=False)
class Delivery:
    """Writes messages to a topic. Keys choose partitions as in Kafka's own clients."""

    contact: Contact
    producer: Any
    _failed: Any = None

    @classmethod
    def begun(cls, contact: Contact, **more: Any) -> Delivery:
        """One with a producer of these settings."""
        found = cls(contact, None)
        found.producer = contact.made(
            Producer,
            **{
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "queue.buffering.max.messages": QUEUE,
                "delivery.report.only.error": True,
                "on_delivery": found.delivered,
                **more,
            },
        )
        return found

    def delivered(self, error: KafkaError | None, message: object) -> None:
        """What became of a message; the client tells of failures only."""
        if error is not None and self._failed is None:
            self._failed = error

    def put(self, messages: pa.RecordBatch) -> None:
        """Hand messages over; KafkaException if some before them could not be delivered."""
        keys, values = (column.to_pylist() for column in messages.columns)
        given = [{"key": key, "value": value} for key, value in zip(keys, values, strict=True)]
        start = 0
        while start < len(given):
            while len(self.producer) + CHUNK > QUEUE:
                self._serve(self.producer.poll, 0.05)
            some = given[start : start + CHUNK]
            done = self.producer.produce_batch(self.contact.address.path, some)
            if done < len(some):
                done = self._refused(some)
            start += done
            self._serve(self.producer.poll, 0)

    def _refused(self, some: list[dict[str, Any]]) -> int:
        """How many were taken before the first that was not: if the queue was full, the others are given again."""
        first = next(i for i, one in enumerate(some) if "_error" in one)
        if any("_error" not in one for one in some[first:]):
            raise KafkaException(some[first]["_error"])
        for one in some[first:]:
            error = one.pop("_error")
            if error.code() not in QUEUE_FULL:
                raise KafkaException(error)
        self._serve(self.producer.poll, 0.1)
        return first

    def flush(self) -> None:
        """Wait until all that was handed over is delivered; KafkaException if some of it could not be."""
        while self._serve(self.producer.flush, 1.0):
            pass

    def _serve(self, call: Any, seconds: float) -> Any:
        """Let the client call back; KafkaException if something could not be delivered."""
        try:
            found = call(seconds)
        except SystemError as error:  # the client raises a fatal error, and calls back all the same
            found = error.__cause__ or error.__context__
            raise (
                found if isinstance(found, KafkaException) else KafkaException(KafkaError(FATAL))
            ) from error
        if self._failed is not None:
            raise KafkaException(self._failed)
        return found

    def close(self) -> None:
        """Let go of what was not sent."""
        self.producer.purge()
        self.producer.flush(1.0)


def check_sizes(contact: Contact, messages: pa.RecordBatch) -> None:
    """EddyError if a message is larger than the client takes: before anything counts on it."""
    largest = int(contact.address.options.get("message.max.bytes", LARGEST))
    sizes = [pc.max(pc.binary_length(column)).as_py() or 0 for column in messages.columns]
    if sum(sizes) > largest - 512:
        raise EddyError(
            f"{contact.address}: a result has {sum(sizes)} bytes, and a message may have {largest}: raise it by "
            "?message.max.bytes= here and max.message.bytes of the topic"
        )


def patience(contact: Contact) -> float:
    """Seconds for which brokers may be away while something is to be written."""
    return seconds(contact.address, "retry", AWAY)
