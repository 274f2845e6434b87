"""Streams of Redis: an entry is a row, and a position is the id of an entry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from eddy.connect.address import Address
from eddy.connect.patience import Patience, check
from eddy.connect.redis import AWAY, EXAMPLE, OPTIONS, client, explained, once
from eddy.errors import EddyError
from eddy.sources import fields
from eddy.sources.base import BATCH, Piece, Source
from eddy.sources.brokers import (
    SAMPLE,
    arrow_types,
    format_of,
    inferred,
    payloads,
    placed,
    with_missing,
)
from eddy.sources.fields import Fields
from eddy.sources.messages import decoded


def open(address: Address, *, schema: Any, time: str | None, format: str | None, follow: bool) -> Source:
    """The source that an address is: a column a field, or JSON in the field that the option ``field`` names."""
    check(address, OPTIONS)
    key = address.needs_path("stream", EXAMPLE)
    if "field" not in address.options:
        if format is not None:
            raise EddyError(
                f"{address} has a column a field; to read {format} in one of them, name it: {EXAMPLE}?field=data"
            )
        return RedisStream(address, key, "fields", follow, schema, time)
    return RedisStream(address, key, format_of(address, format), follow, schema, time)


@frozen(eq=False)
class RedisStream(Source):
    """The entries of one stream, up to the last one that it has when a run begins, or on and on."""

    address: Address
    key: str
    format: str
    follow: bool
    given: Any = None
    time: str | None = None
    columns: dict[str, pa.DataType] | None = None
    batch: int = BATCH
    ends: tuple[str, str] | None = None
    """The ids of the first and the last entry, where they are known."""
    schema: Any = field(init=False)

    @schema.default
    def _schema(self) -> Any:
        if self.given is not None:
            return self.given
        with self._connected() as server, once(self.address):
            entries = server.xrange(self.key, count=SAMPLE)
        if self.format == "fields":
            return fields.inferred(self.address, (entry for _, entry in entries))
        name = self.address.options["field"].encode()
        first = (entry[name] for _, entry in entries if name in entry)
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
        end = "+" if self.follow else (self.ends or self._ends())[1]
        patience, at, piece = Patience(self.address), position, self._decoder()
        with self._connected() as server:
            while True:
                if not patience.due():
                    yield Piece(None, at)
                    continue
                try:
                    with explained(self.address):
                        entries = server.xrange(self.key, f"({at}" if at else "-", end, self.batch)
                except AWAY as error:
                    patience.failed(error)
                    continue
                patience.fine()
                if entries:
                    at = entries[-1][0].decode()
                    yield piece(entries, at)
                elif self.follow:
                    yield Piece(None, at)
                else:
                    return

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        from eddy.sources.progress import worst

        return worst(self.read(None), column, kind)

    def size(self) -> int | None:
        """Ids are times, in milliseconds."""
        return None if self.ends is None else _milliseconds(self.ends[1]) - _milliseconds(self.ends[0]) + 1

    def reached(self, position: Any) -> int | None:
        if self.ends is None or position is None:
            return 0
        return _milliseconds(position) - _milliseconds(self.ends[0]) + 1

    def _decoder(self) -> Any:
        """Makes a piece of entries, and the position behind them."""
        columns = self.columns or arrow_types(self.schema)
        start = f"{self.address}#"
        if self.format == "fields":
            rows = Fields(columns)

            def of_fields(entries: Sequence[Any], at: str) -> Piece:
                found = decoded(rows, [entry for _, entry in entries], 0, fields.shown)
                return placed(found, at, self.name, start, [id for id, _ in entries])

            return of_fields
        reader, field = payloads(self.format, columns), self.address.options["field"]
        name = field.encode()

        def of_payloads(entries: Sequence[Any], at: str) -> Piece:
            have = [row for row, (_, entry) in enumerate(entries) if name in entry]
            found = decoded(reader, [entries[row][1][name] for row in have], 0)
            found = with_missing(found, have, len(entries), f"there is no field {field}")
            return placed(found, at, self.name, start, [id for id, _ in entries])

        return of_payloads

    def _ends(self) -> tuple[str, str]:
        with self._connected() as server, once(self.address):
            first, last = server.xrange(self.key, count=1), server.xrevrange(self.key, count=1)
        if not last:
            return "0-0", "0-0"
        return first[0][0].decode(), last[0][0].decode()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """A client, while it is used; EddyError if there is no such stream."""
        server = client(self.address)
        try:
            with once(self.address):
                kind = server.type(self.key).decode()
            if kind == "none" and not (self.follow and self.given is not None):
                raise EddyError(
                    f"{self.address}: there is no stream {self.key}; one that is still to come needs its schema, and "
                    "to be followed"
                )
            if kind not in ("none", "stream"):
                raise EddyError(f"{self.address}: {self.key} is a {kind}, not a stream")
            yield server
        finally:
            server.close()


def _milliseconds(id: str) -> int:
    return int(id.partition("-")[0])
