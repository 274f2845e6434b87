"""Topics of MQTT as sinks: a result is a message, and the broker has it before a commit."""

from __future__ import annotations

import threading
import time
from typing import Any

import pyarrow as pa
from paho.mqtt import client as paho

from eddy.connect import mqtt
from eddy.connect.address import Address
from eddy.connect.mqtt import Connection
from eddy.connect.patience import NAP, check
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.payloads import check_json, json_payloads

OPTIONS = (*mqtt.OPTIONS, "retain")
EXAMPLE = "mqtt://localhost:1883/results"
ROOM = 1000
"""Messages that the broker has not acknowledged yet, at most."""
FEW = 20
"""The same, for a broker that does not say how many it takes."""


def open(address: Address, *, format: str | None) -> Sink:
    """The sink that an address is."""
    check(address, OPTIONS)
    check_json(address, format)
    topic = address.needs_path("topic", EXAMPLE)
    if "+" in topic or "#" in topic:
        raise EddyError(f"{address}: results go to one topic, not to a pattern: write {EXAMPLE}")
    return Topic(address, topic)


class Topic(Sink):
    """Publishes to one topic, as JSON: each result at least once, unless QoS is 0.

    With QoS 1 or 2 the broker has acknowledged all results before a commit. What it has not is sent again when it is
    back. With QoS 0 nobody acknowledges anything: what was on its way when the connection broke is lost.
    """

    def __init__(self, address: Address, topic: str) -> None:
        self.address, self.topic = address, topic
        self._outbox: Outbox | None = None

    def open(self, schema: pa.Schema, token: Any) -> None:
        outbox = Outbox(self.address)
        outbox.open()
        self._outbox = outbox

    def write(self, table: pa.Table) -> None:
        assert self._outbox is not None, "it is open"
        for payload in json_payloads(table):
            self._outbox.send(self.topic, payload)

    def prepare(self) -> Any:
        assert self._outbox is not None, "it is open"
        self._outbox.wait(0)

    def close(self) -> None:
        self.abandon(False)

    def abandon(self, kept: bool) -> None:
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None

    def __str__(self) -> str:
        return str(self.address)


class Outbox(Connection):
    """Messages that are on their way."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._retain = address.options.get("retain") == "true"
        self._sent = 0
        self._taken = threading.Condition()
        self._room = FEW
        self.client.max_inflight_messages_set(ROOM)

    def send(self, topic: str, payload: bytes) -> None:
        """Send it, when there is room. With QoS 0 the client takes nothing while the broker is away."""
        while True:
            self.wait(self._room - 1)
            with self._taken:
                self._sent += 1
            told = self.client.publish(topic, payload, self.qos, self._retain)
            if self.qos or told.rc == paho.MQTT_ERR_SUCCESS:
                return
            self.published()
            time.sleep(NAP)

    def wait(self, most: int) -> None:
        """Until no more than so many are on their way; EddyError if the broker is away for too long."""
        while self._sent > most:
            self.check()
            with self._taken:
                self._taken.wait_for(lambda: self._sent <= most, 0.05)
        self.check()

    def connected(self, again: bool, properties: Any) -> bool:
        """As many may be on their way as the broker says; it breaks off where there are more."""
        self._room = min(getattr(properties, "ReceiveMaximum", ROOM), ROOM)
        if (
            not self.qos
        ):  # the client has forgotten what it had not sent when the connection broke, and tells nobody
            with self._taken:
                self._sent = 0
        return True

    def published(self) -> None:
        with self._taken:
            self._sent = max(0, self._sent - 1)
            self._taken.notify_all()
