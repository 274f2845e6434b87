"""Topics of MQTT: a message is a row, which comes once, as long as somebody listens. There is no way back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.connect import mqtt
from eddy.connect.address import Address
from eddy.connect.mqtt import Connection
from eddy.connect.patience import check
from eddy.errors import EddyError
from eddy.sources.base import BATCH, Piece, Source
from eddy.sources.brokers import arrow_types, format_of, payloads, placed
from eddy.sources.messages import Decoded, Raw, decoded

OPTIONS = (*mqtt.OPTIONS, "topic")
EXAMPLE = "mqtt://localhost:1883/sensors/+"
ROOM = 1 << 15
"""Messages that wait here; of those that are to be acknowledged the broker sends no more before some are."""


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Source:
    """The source that an address is; with a column of the topics, if the option ``topic`` names it."""
    check(address, OPTIONS)
    topic = address.needs_path("topic", EXAMPLE)
    format = format_of(address, format)
    if schema is None:
        if format != "raw":
            raise EddyError(
                f"{address} is read once, so nothing can be inferred from it: give its schema, as in "
                "schema={'ts': 'timestamp'}"
            )
        schema = {Raw.COLUMN: "string"}
    columns = arrow_types(schema)
    if "topic" in address.options:
        columns[address.options["topic"]] = pa.string()
    return Topic(address, topic, format, columns, time)


@frozen(eq=False)
class Topic(Source):
    """The messages of a topic, or of all that fit a pattern. It never ends."""

    address: Address
    topic: str
    format: str
    columns: dict[str, pa.DataType]
    time: str | None = None
    batch: int = BATCH
    bounded = False
    seekable = False
    schema: Any = field(init=False)

    @schema.default
    def _schema(self) -> Any:
        return self.columns

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.address)

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        return evolve(self, columns=dict(columns), batch=batch or self.batch)

    def read(self, position: Any) -> Iterator[Piece]:
        if position is not None:
            raise EddyError(f"{self} cannot go back to a position")
        box, at = Inbox(self.address, self.topic), 0
        start = f"{self.address.scheme}://{self.address.hosts}/"
        try:
            box.open()
            while True:
                taken = box.take(self.batch)
                if not taken:
                    box.check()
                    yield Piece(None, at)
                    continue
                at += len(taken)
                topics = [message.topic for message in taken]
                found = self._decoded([message.payload for message in taken], topics)
                yield placed(found, at, self.name, start, topics)
        finally:
            box.close()

    def _decoded(self, messages: list[bytes], topics: list[str]) -> Decoded:
        named = self.address.options.get("topic")
        columns = {name: kind for name, kind in self.columns.items() if name != named}
        if not columns and named is not None:  # nobody asks what is in them
            return Decoded(pa.table({named: pa.array(topics, pa.string())}), (), range(len(topics)))
        found = decoded(payloads(self.format, columns), messages, 0)
        if named not in self.columns or found.rows is None:
            return found
        column = pa.array([topics[row] for row in found.kept], pa.string())
        return evolve(found, rows=found.rows.append_column(named, column))


class Inbox(Connection):
    """Messages that have come. Each is acknowledged when it is taken, so the broker sends no more than has room."""

    def __init__(self, address: Address, topic: str) -> None:
        super().__init__(address, ROOM)
        self._topic = topic
        self._waiting: deque[tuple[Any, int]] = deque()
        self._changed = threading.Condition()
        self._connections = 0
        self._closed = False

    def take(self, most: int) -> list[Any]:
        """What has come."""
        with self._changed:
            count = min(most, len(self._waiting))
            taken = [self._waiting.popleft() for _ in range(count)]
            self._changed.notify_all()
            for message, connection in taken:
                if connection == self._connections:  # numbers of messages are those of a connection
                    self.client.ack(message.mid, message.qos)
        return [message for message, _ in taken]

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        super().close()

    def connected(self, again: bool, properties: Any) -> bool:
        with self._changed:
            self._connections += 1
            if again:  # what was not acknowledged comes again
                kept = [(message, at) for message, at in self._waiting if not message.qos]
                self._waiting = deque(kept)
        if not again:
            self.client.subscribe(self._topic, self.qos)
        return again

    def came(self, message: Any) -> None:
        with self._changed:
            # only messages that nobody acknowledges can be too many; then the network waits
            while len(self._waiting) >= ROOM and not message.qos and not self._closed:
                self._changed.wait()
            self._waiting.append((message, self._connections))
