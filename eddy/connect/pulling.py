"""Messages of a stream of JetStream from one on, asked for in batches; what has come waits to be taken."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from attrs import define, field, frozen
from nats.errors import ConnectionClosedError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from eddy.connect.nats import Connection

FORGOTTEN = 600.0
"""Seconds after which the server forgets who has asked for nothing."""


@frozen
class Taken:
    """Messages, in their order."""

    payloads: list[bytes]
    numbers: list[int]
    """Their sequence numbers in the stream."""
    left: int
    """How many there were behind the last of them when it was sent."""


@define(eq=False)
class Pull:
    """A consumer that nobody has to acknowledge anything to: it counts what it sends, so a gap is seen.

    No more than ``batch`` messages are on their way or waiting here. All methods run in the connection's thread.
    """

    connection: Connection
    stream: str
    subject: str | None
    batch: int
    _consumer: str = ""
    _inbox: str = ""
    _asked: int = 0
    """Messages that were asked for, and may still come."""
    _requests: int = 0
    _counted: int = 0
    _left: int = 0
    _payloads: list[bytes] = field(factory=list)
    _numbers: list[int] = field(factory=list)
    _came: asyncio.Event = field(factory=asyncio.Event)
    _broken: bool = False

    async def begin(self, after: int) -> None:
        """With the first message behind a sequence number."""
        config = ConsumerConfig(
            ack_policy=AckPolicy.NONE,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE if after else DeliverPolicy.ALL,
            opt_start_seq=after + 1 if after else None,
            filter_subject=self.subject,
            inactive_threshold=FORGOTTEN,
            mem_storage=True,
            num_replicas=1,
        )
        info = await self.connection.jetstream.add_consumer(self.stream, config)
        self._consumer, self._left = info.name, info.num_pending
        self._inbox = self.connection.client.new_inbox()
        await self.connection.client.subscribe(
            f"{self._inbox}.*", cb=self._come, pending_msgs_limit=-1, pending_bytes_limit=-1
        )

    async def take(self, seconds: float) -> Taken:
        """What is there; if nothing is, what comes first within so many seconds."""
        self._check()
        if not self._payloads:
            if not self._asked:
                await self._ask()
            self._came.clear()
            try:
                await asyncio.wait_for(self._came.wait(), seconds)
            except asyncio.TimeoutError:
                self._check()
        taken = Taken(self._payloads, self._numbers, self._left)
        self._payloads, self._numbers = [], []
        if not self._asked and not self._broken:
            await self._ask()
        return taken

    async def count(self) -> None:
        """Ask how many messages are left, which may be fewer than when it began: messages can be deleted."""
        try:
            info = await self.connection.jetstream.consumer_info(self.stream, self._consumer)
        except NotFoundError:
            self._broken = True
            return
        if not self._payloads and info.delivered.consumer_seq == self._counted:
            self._left = info.num_pending

    async def end(self) -> None:
        """The server can forget the consumer."""
        await self.connection.jetstream.delete_consumer(self.stream, self._consumer)

    async def _ask(self) -> None:
        self._requests, self._asked = self._requests + 1, self.batch
        request = {"batch": self.batch, "expires": int(FORGOTTEN / 10 * 1e9)}
        await self.connection.client.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{self._consumer}",
            json.dumps(request).encode(),
            reply=f"{self._inbox}.{self._requests}",
        )

    async def _come(self, message: Any) -> None:
        """A message of the stream; or the server says that a request is over, or that there is no such consumer."""
        if message.reply.startswith("$JS.ACK."):
            parts = message.reply.split(".")
            number, counted, left = (5, 6, 8) if len(parts) == 9 else (7, 8, 10)
            self._counted += 1
            if int(parts[counted]) != self._counted:
                self._broken = True  # what comes now is behind a gap
            if not self._broken:
                self._payloads.append(message.data)
                self._numbers.append(int(parts[number]))
                self._left = int(parts[left])
                self._asked -= 1
        elif message.subject == f"{self._inbox}.{self._requests}":
            status = (message.headers or {}).get("Status", "")
            self._asked = 0
            self._broken = self._broken or status not in ("404", "408")
        self._came.set()

    def _check(self) -> None:
        """ConnectionClosedError if nothing will come any more, and what has come was taken."""
        if not self._payloads:
            if self._broken or not self.connection.is_open:
                raise ConnectionClosedError
