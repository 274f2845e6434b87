"""Streams of NATS JetStream: a message is a row, and a position is its sequence number in the stream."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.connect.address import Address
from eddy.connect.nats import AWAY, OPTIONS, Connection, connected, once, stream_state
from eddy.connect.patience import Patience, check
from eddy.connect.pulling import Pull, Taken
from eddy.errors import EddyError
from eddy.sources.base import BATCH, Bad, Piece, Source
from eddy.sources.brokers import SAMPLE, arrow_types, format_of, inferred, numbered, payloads
from eddy.sources.messages import decoded

EXAMPLE = "nats://localhost:4222/stream"
WAIT = 0.005
"""Seconds to wait for a message before the source says that there is none."""

SILENT = 200
"""Times that there was none, after which the server is asked whether any are left."""


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Source:
    """The source that an address is; of the subject that the option ``subject`` names, or of all."""
    check(address, OPTIONS)
    stream = address.needs_path("stream", EXAMPLE)
    return JetStream(address, stream, format_of(address, format), follow, schema, time)


@frozen(eq=False)
class JetStream(Source):
    """The messages of one stream, up to the last one that it has when a run begins, or on and on."""

    address: Address
    stream: str
    format: str
    follow: bool
    given: Any = None
    time: str | None = None
    columns: dict[str, pa.DataType] | None = None
    batch: int = BATCH
    ends: tuple[int, int] | None = None
    """The numbers of the first and the last message, where they are known."""
    schema: Any = field(init=False)

    @schema.default
    def _schema(self) -> Any:
        if self.given is not None:
            return self.given
        first: list[bytes] = []
        with connected(self.address) as connection, once(self.address):
            connection.run(stream_state(connection, self.stream))
            pull = connection.run(self._begun(connection, 0, SAMPLE))
            while len(first) < SAMPLE:
                taken = connection.run(pull.take(1.0))
                first += taken.payloads
                if not taken.left:
                    break
        return inferred(self.format, self.address, first)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.follow

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.address)

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        ends = self.ends or (None if self.follow else self._ends())
        return evolve(self, columns=dict(columns), batch=batch or self.batch, given=dict(columns), ends=ends)

    def read(self, position: Any) -> Iterator[Piece]:
        end = None if self.follow else (self.ends or self._ends())[1]
        at = position or 0
        reader = payloads(self.format, self.columns or arrow_types(self.schema))
        with connected(self.address) as connection:
            with once(self.address):
                gone = connection.run(self._gone(connection, at))
            if gone is not None:
                yield gone
            with contextlib.closing(self._taken(connection, at, end)) as found:
                for taken in found:
                    if taken is None or not taken.numbers:
                        yield Piece(None, at)
                    else:
                        at = taken.numbers[-1]
                        yield numbered(decoded(reader, taken.payloads, 0), at, self.name, taken.numbers)

    def _taken(self, connection: Connection, at: int, end: int | None) -> Generator[Taken | None, None, None]:
        """What comes behind a message, up to another; None while the server is away."""
        patience, pull, silent = Patience(self.address), None, 0
        try:
            while end is None or at < end:
                if not patience.due():
                    yield None
                    continue
                try:
                    if pull is None:
                        pull = connection.run(self._begun(connection, at, self.batch))
                    taken = connection.run(pull.take(WAIT))
                    silent = 0 if taken.numbers else silent + 1
                    if end is not None and silent == SILENT:
                        connection.run(pull.count())
                        silent = 0
                except AWAY as error:
                    pull = None
                    patience.failed(error)
                    continue
                patience.fine()
                at = taken.numbers[-1] if taken.numbers else at
                yield _up_to(taken, end)
                if end is not None and not taken.left:
                    return
        finally:
            if pull is not None:
                with contextlib.suppress(*AWAY, EddyError):
                    connection.run(pull.end())

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        from eddy.sources.progress import worst

        return worst(self.read(None), column, kind)

    def size(self) -> int | None:
        return None if self.ends is None else self.ends[1] - self.ends[0] + 1

    def reached(self, position: Any) -> int | None:
        return 0 if self.ends is None or position is None else position - self.ends[0] + 1

    async def _begun(self, connection: Connection, after: int, batch: int) -> Pull:
        if not connection.is_open:
            await connection.open()
        pull = Pull(connection, self.stream, self.address.options.get("subject"), batch)
        await pull.begin(after)
        return pull

    async def _gone(self, connection: Connection, at: int) -> Piece | None:
        """The messages behind a position that the stream does not have any more, as something bad."""
        state = (await stream_state(connection, self.stream)).state
        missing = state.first_seq - at - 1
        if not at or missing <= 0 or "subject" in self.address.options:
            return None
        reason = (
            f"messages {at + 1} to {state.first_seq - 1} are gone from the stream, and nobody has read them"
        )
        return Piece(None, at, (Bad(reason, rows=missing),), self.name)

    def _ends(self) -> tuple[int, int]:
        with connected(self.address) as connection, once(self.address):
            state = connection.run(stream_state(connection, self.stream)).state
        return state.first_seq, state.last_seq


def _up_to(taken: Taken, end: int | None) -> Taken:
    """Those of the messages that are not behind the end."""
    if end is None or not taken.numbers or taken.numbers[-1] <= end:
        return taken
    count = bisect_right(taken.numbers, end)
    return Taken(taken.payloads[:count], taken.numbers[:count], taken.left)
