"""MQTT: a client whose network runs in a thread of its own, and which connects again by itself."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from eddy.connect import tls
from eddy.connect.address import Address
from eddy.connect.patience import CONNECT, FIRST, MOST, Patience, unreachable
from eddy.errors import EddyError

OPTIONS = ("qos", "client", "version", "ca")
PORTS = {"mqtt": 1883, "mqtts": 8883}
VERSIONS = {"5": paho.MQTTv5, "3": paho.MQTTv311}
KEPT = 300
"""Seconds for which a broker keeps what comes for a client that has gone away, and has no name."""
KEPT_NAMED = 86_400
KEEPALIVE = 10


class Connection:
    """A connection to a broker. A subclass says what is done when it is there, and when something comes."""

    def __init__(self, address: Address, receive: int | None = None) -> None:
        """``receive``: how many messages the broker may send that nobody has acknowledged."""
        self.address = address
        self.qos = address.whole("qos", 1)
        if self.qos > 2:
            raise EddyError(f"{address}: qos is 0, 1 or 2, not {self.qos}")
        self.up = False
        """Whether the broker is there."""
        self._name = address.options.get("client")
        version = VERSIONS.get(address.options.get("version", "5"))
        if version is None:
            raise EddyError(f"{address}: version is 5 or 3, not {address.options['version']!r}")
        self._version, self._receive = version, receive
        self._patience = Patience(address)
        self._why: object = "no answer"
        self._refused: EddyError | None = None
        self._answered = threading.Event()
        self._ended = threading.Event()
        self._begun = False
        self.client = self._made()

    def open(self) -> None:
        """Open it; EddyError if the broker cannot be reached, or does not let us in."""
        try:
            self.client.connect(
                self.address.host,
                self.address.port(PORTS[self.address.scheme]),
                KEEPALIVE,
                **self._session(),
            )
        except OSError as error:
            raise unreachable(self.address, error) from error
        self.client.loop_start()
        self._begun = True
        self._answered.wait(CONNECT)
        try:
            if self._refused is not None:
                raise self._refused
            if not self.up:
                raise unreachable(self.address, self._why)
        except EddyError:
            self.close()
            raise

    def check(self) -> None:
        """EddyError if the broker has refused us, or has been away for too long."""
        if self._refused is not None:
            raise self._refused
        if self.up:
            self._patience.fine()
        elif self._patience.due():
            self._patience.failed(self._why)

    def refuse(self, reason: str) -> None:
        """The broker has said something that will not change."""
        self._refused = EddyError(f"{self.address} {reason}")
        self._answered.set()

    def close(self) -> None:
        """The connection, and its thread. The broker forgets a client that has no name."""
        properties: Any = None
        if not self._begun:
            return
        if self._version == paho.MQTTv5 and self._name is None:
            properties = Properties(PacketTypes.DISCONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 0
        self.client.disconnect(properties=properties)
        line: Any = self.client.socket()
        if self.up and not self._ended.wait(1.0) and line is not None:
            with contextlib.suppress(OSError):  # the thread would wait for it
                line.shutdown(socket.SHUT_RDWR)
        self.client.loop_stop()

    def connected(self, again: bool, properties: Any) -> bool:
        """The broker is there. ``again``: it still knows us. Whether that is all; else it is asked for messages, and
        answers. In the client's thread."""
        return True

    def came(self, message: Any) -> None:
        """A message has come. In the client's thread."""

    def published(self) -> None:
        """The broker has a message. In the client's thread."""

    def _made(self) -> Any:
        address, five = self.address, self._version == paho.MQTTv5
        made: Any = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._name or f"eddy-{uuid.uuid4().hex[:16]}",
            clean_session=None if five else self._name is None,
            protocol=self._version,
            manual_ack=self._receive is not None,
        )
        if address.user is not None:
            made.username_pw_set(address.user, address.password)
        if address.scheme == "mqtts":
            made.tls_set_context(tls.context(address))
        made.connect_timeout = CONNECT
        made.reconnect_delay_set(FIRST, MOST)
        made.on_connect, made.on_disconnect = self._on_connect, self._on_disconnect
        made.on_message = lambda client, data, message: self.came(message)
        made.on_publish = self._on_publish
        made.on_subscribe = self._on_subscribe
        return made

    def _session(self) -> dict[str, Any]:
        """How long the broker is to remember us."""
        if self._version != paho.MQTTv5:
            return {}
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = KEPT if self._name is None else KEPT_NAMED
        if self._receive is not None:
            properties.ReceiveMaximum = self._receive
        clean = paho.MQTT_CLEAN_START_FIRST_ONLY if self._name is None else False
        return {"clean_start": clean, "properties": properties}

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            if reason.value in _LATER:
                self._why = reason
            else:
                self.refuse(f"does not let us in: {reason}")
            return
        if self.connected(bool(flags.session_present), properties):
            self._is_up()

    def _is_up(self) -> None:
        self.up = True
        self._ended.clear()
        self._answered.set()

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.up, self._why = False, f"the connection has ended: {reason}"
        self._ended.set()

    def _on_publish(self, client: Any, data: Any, number: int, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.refuse(f"does not take what is published: {reason}")
        self.published()

    def _on_subscribe(self, client: Any, data: Any, number: int, reasons: Any, properties: Any) -> None:
        for reason in reasons:
            if reason.is_failure:
                self.refuse(f"may not be read: {reason}")
                return
        self._is_up()


_LATER = (0x88, 0x89, 0x97, 0x9F)
"""Reasons that pass: the server is unavailable or busy, a quota is exceeded, too many connect at once."""
