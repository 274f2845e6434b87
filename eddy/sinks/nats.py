"""Subjects of NATS JetStream as sinks: a result is a message, and the server has stored it before a commit."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import Any

import pyarrow as pa
from nats.errors import ConnectionClosedError
from nats.js.errors import NotFoundError

from eddy.connect.address import Address
from eddy.connect.nats import AWAY, OPTIONS, Connection, once, stream_state
from eddy.connect.patience import CONNECT, Patience, check
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.payloads import check_json, json_payloads

EXAMPLE = "nats://localhost:4222/stream?subject=results"
CHUNK = 500
"""Messages that are on their way at a time."""


def open(address: Address, *, format: str | None) -> Sink:
    """The sink that an address is: a stream, and a subject of it."""
    check(address, OPTIONS)
    check_json(address, format)
    return JetStream(address, address.needs_path("stream", EXAMPLE))


class JetStream(Sink):
    """Publishes to one subject, as JSON: each result at least once.

    Every message has an id, so what is published again since the connection broke is stored once, if the server is back
    within the time for which the stream remembers ids (two minutes, as a rule). A restart repeats what was written
    since the last commit, with ids of its own: results need not come in the same order again.
    """

    def __init__(self, address: Address, stream: str) -> None:
        self.address, self.stream = address, stream
        self.subject = address.options.get("subject", "")
        self._patience = Patience(address)
        self._connection: Any = None
        self._run = uuid.uuid4().hex
        self._rows = 0

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._connection = Connection(self.address)
        try:
            with once(self.address):
                self._connection.run(self._connection.open())
                self._connection.run(self._find())
        except BaseException:
            self.abandon(False)
            raise

    def write(self, table: pa.Table) -> None:
        """All messages were stored when it returns."""
        payloads = json_payloads(table)
        for start in range(0, len(payloads), CHUNK):
            some = payloads[start : start + CHUNK]
            while not self._sent(some):
                self._patience.wait()
            self._rows += len(some)

    def close(self) -> None:
        self.abandon(False)

    def abandon(self, kept: bool) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __str__(self) -> str:
        # as it was asked for: a restart compares it before it is open
        given = self.address.options.get("subject")
        return f"{self.address}" if given is None else f"{self.address}?subject={given}"

    async def _find(self) -> None:
        """EddyError unless the stream stores the subject."""
        subjects = (await stream_state(self._connection, self.stream)).config.subjects or []
        if not self.subject:
            if len(subjects) != 1 or "*" in subjects[0] or ">" in subjects[0]:
                raise EddyError(
                    f"{self.address}: say which subject of {', '.join(subjects)} results go to: {EXAMPLE}"
                )
            (self.subject,) = subjects
        try:
            found = await self._connection.jetstream.find_stream_name_by_subject(self.subject)
        except NotFoundError:
            found = "no stream"
        if found != self.stream:
            raise EddyError(
                f"{self.address} stores {', '.join(subjects)}, but {found} the subject {self.subject}"
            )

    def _sent(self, payloads: list[bytes]) -> bool:
        """Whether the server has stored them; else it is away."""
        try:
            self._connection.run(self._publish(payloads))
        except AWAY as error:
            self._patience.failed(error)
            return False
        self._patience.fine()
        return True

    async def _publish(self, payloads: list[bytes]) -> None:
        connection: Connection = self._connection
        if not connection.is_open:
            await connection.open()
        stream = connection.jetstream
        answers = []
        for number, payload in enumerate(payloads, self._rows):
            headers = {"Nats-Msg-Id": f"{self._run}-{number}"}
            answers.append(
                await stream.publish_async(self.subject, payload, stream=self.stream, headers=headers)
            )
        stored = asyncio.gather(*answers)
        for _ in range(int(CONNECT * 10)):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(stored), 0.1)
                return
            if not connection.is_open:
                break
        stored.cancel()
        raise ConnectionClosedError
