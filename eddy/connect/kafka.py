"""What sources and sinks of Kafka share: the client's settings, its errors in words, and the partitions of a topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define
from confluent_kafka import KafkaError, KafkaException

from eddy.connect.address import Address
from eddy.errors import EddyError, QueryError
from eddy.values.durations import nanoseconds

T = TypeVar("T")

TIMEOUT, AWAY = 10.0, 60.0
"""Seconds in which a broker has to answer, and for which it may be away while a run is under way."""
PERIOD = 1.0
"""Seconds between two attempts to reach one that is away."""
EXAMPLE = "kafka://localhost:9092/orders"
LOG = logging.getLogger("eddy.run")
CLIENT = logging.getLogger("eddy.kafka")
"""What the client itself logs."""
CLIENT.addHandler(logging.NullHandler())


def _own(*names: str) -> frozenset[int]:
    """Errors of the client itself; their names begin with an underscore."""
    return frozenset(int(getattr(KafkaError, f"_{name}")) for name in names)


ALL_AWAY = _own("ALL_BROKERS_DOWN")
OUT_OF_REACH = ALL_AWAY | _own("TRANSPORT", "TIMED_OUT", "MSG_TIMED_OUT", "RESOLVE")
REFUSED = _own("AUTHENTICATION", "SSL") | {KafkaError.SASL_AUTHENTICATION_FAILED}
MISSING = _own("UNKNOWN_TOPIC") | {KafkaError.UNKNOWN_TOPIC_OR_PART}
FENCED = _own("FENCED") | {KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
AT_END, DELETED, QUEUE_FULL = _own("PARTITION_EOF"), _own("AUTO_OFFSET_RESET"), _own("QUEUE_FULL")
(FATAL,) = _own("FATAL")


def checked(address: Address, known: tuple[str, ...]) -> Address:
    """The address; EddyError if it has no topic, or an option that is none of these. One with a dot is the client's."""
    address.needs_path("topic", EXAMPLE)
    ours = {name: value for name, value in address.options.items() if "." not in name}
    Address(address.scheme, address.hosts, address.path, options=ours).checked((*known, "timeout", "retry"))
    return address


def seconds(address: Address, option: str, usual: float) -> float:
    """An option of an address that is a length of time, or a number of seconds."""
    text = address.options.get(option)
    try:
        if text is None:
            return usual
        return float(text) if text.replace(".", "", 1).isdigit() else nanoseconds(text) / 1e9
    except QueryError as error:
        raise EddyError(f"{address}: {option}: {error}") from None


def settings(address: Address, **more: Any) -> dict[str, Any]:
    """The client's settings. A user means SASL over TLS, unless options say another way."""
    found: dict[str, Any] = {
        "bootstrap.servers": address.hosts or "localhost:9092",
        "client.id": "eddy",
        "logger": CLIENT,
        "log.connection.close": False,
        "reconnect.backoff.max.ms": 1000,
        **more,
    }
    if address.user is not None:
        found["security.protocol"], found["sasl.mechanism"] = "sasl_ssl", "PLAIN"
        found["sasl.username"], found["sasl.password"] = address.user, address.password or ""
    found.update({name: value for name, value in address.options.items() if "." in name})
    return found


@define(eq=False)
class Contact:
    """Whether brokers answer: the client tells it of errors, and it tells a person once."""

    address: Address
    reason: str = ""
    """Of the last error."""
    _since: float | None = None
    _asked: float = 0.0
    _refused: str = ""

    @property
    def timeout(self) -> float:
        """Seconds in which a broker has to answer."""
        return seconds(self.address, "timeout", TIMEOUT)

    def made(self, kind: Callable[[dict[str, Any]], T], **more: Any) -> T:
        """A client; EddyError if it refuses its settings."""
        try:
            return kind(settings(self.address, error_cb=self.heard, **more))
        except KafkaException as error:
            raise EddyError(f"{self.address}: {told(error)}") from error

    def heard(self, error: KafkaError) -> None:
        """An error that is no message's."""
        code = error.code()
        if code in REFUSED:
            self._refused = error.str()
        if code in ALL_AWAY:
            if self._since is None:
                self._since = time.monotonic()
                LOG.warning(
                    "%s cannot be reached (%s): waiting for it",
                    self.address,
                    self.reason or error.str(),
                    extra={"event": "server away", "server": str(self.address)},
                )
        elif code in OUT_OF_REACH:
            self.reason = error.str().partition(": ")[2] or error.str()

    def check(self, client: Any) -> bool:
        """Whether all is well, as far as one knows; EddyError if it has not been for too long."""
        if self._refused:
            raise EddyError(f"{self.address} refuses this client: {self._refused}")
        if self._since is None:
            return True
        now = time.monotonic()
        if now < self._asked + PERIOD:
            return False
        self._asked = now
        try:
            client.list_topics(self.address.path, timeout=0.5)
        except KafkaException:
            away = seconds(self.address, "retry", AWAY)
            if now - self._since > away:
                raise EddyError(
                    f"{self.address} cannot be reached for {away:g} s ({self.reason}): start again when it is back"
                ) from None
            return False
        LOG.info(
            "%s is back after %.1f s",
            self.address,
            now - self._since,
            extra={"event": "server back", "server": str(self.address)},
        )
        self._since = None
        return True

    def partitions(self, client: Any, timeout: float | None = None) -> list[int]:
        """The numbers of the topic's partitions; EddyError if there is no such topic, or nobody answers."""
        until = time.monotonic() + (timeout or self.timeout)
        while True:
            try:
                found = client.list_topics(self.address.path, timeout=max(0.1, until - time.monotonic()))
            except KafkaException as error:
                client.poll(0)  # errors are told in here
                raise self.wrong(error) from error
            topic = found.topics[self.address.path]
            if topic.error is None:
                return sorted(topic.partitions)
            being_made = topic.error.code() == KafkaError.LEADER_NOT_AVAILABLE
            if not being_made or time.monotonic() > until:
                raise self.wrong(KafkaException(topic.error))
            time.sleep(0.1)

    def wrong(self, error: Any) -> EddyError:
        """An error of the client in words."""
        found = error.args[0] if isinstance(error, KafkaException) else error
        if found.code() in MISSING:
            return EddyError(f"there is no topic {self.address.path} at {self.address.hosts}: make it first")
        if found.code() in OUT_OF_REACH:
            why = self._refused or self.reason or "no answer"
            return EddyError(f"{self.address} cannot be reached ({why}): is the broker running there?")
        return EddyError(f"{self.address}: {told(error)}")


def told(error: Any) -> str:
    """What the client says of an error."""
    found = error.args[0] if error.args and isinstance(error, Exception) else error
    return str(found.str() if isinstance(found, KafkaError) else found)
